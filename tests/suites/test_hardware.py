"""The suite of the GPU itself: what is made of clocks and places, what a run holds, what is read of it; launches replaced."""

import pytest

from softmax_lib import hardware as measured
from softmax_lib.cli.suite_table import print_run
from softmax_lib.engine.errors import BadInput
from softmax_lib.suites.hardware import measure as hardware


def test_moments_are_a_stay_apart_and_count_who_is_on_each_multiprocessor(monkeypatch):
    monkeypatch.setattr(hardware, "multiprocessors", lambda: 3)  # and the third has no block
    found = [[0, 100, 120], [1, 101, 121], [0, 120, 140], [1, 122, 142]]
    assert hardware.held(found, 20) == {"took_ns": 42, "held": [[1, 1, 0], [1, 1, 0]]}


def test_turns_are_kept_for_some_and_cycles_for_all():
    clock = [[[10 * turn, 10 * turn + 7] for turn in range(9)] for _ in range(2)]
    assert hardware._as_waits(2, clock) == {"warps": 2, "cycles": 87, "turns": []}
    eight = hardware._as_waits(8, clock)["turns"]
    assert (len(eight), eight[0], eight[8]) == (16, [0, 0, 7], [1, 0, 7])


def test_a_run_holds_what_a_reader_of_it_needs(here, keep, monkeypatch, capsys):
    monkeypatch.setattr(hardware, "multiprocessors", lambda: 2)
    monkeypatch.setattr(hardware, "_limits", lambda: {"WarpSize": 32})
    levels = [{"level": "registers", "cycles": 4.0, "ns": 2.0}, {"level": "L2", "cycles": 9.0, "ns": 5.0, "gb_per_s": 7.0}]  # fmt: skip
    place = {"blocks": 3, "threads": 32, "registers": 12, "shared_bytes": 4, "stay_ns": 10}
    latency = [{"kib": 4, "cycles": 40.0, "ns": 20.0}]
    found = {
        "memory": {"latency": latency, "rows": levels},
        "waits": {"waits": [hardware._as_waits(1, [[[0, 7]]])]},
        "places": {"places": [{**place, **hardware.held([[0, 0, 20]] * 3, 20)}]},
    }
    for part, what in found.items():
        monkeypatch.setattr(hardware, f"_{part}", lambda what=what: what)
    told = []
    run = hardware.run_suite(lambda *what: told.append(what))
    assert told[-1] == ("done", 3, 3)
    keep("hardware", run)
    read = measured("Tesla T4")
    assert (read.multiprocessors, read.latency, read.waits[1].turns) == (2, {4: 40.0}, ((0, 0, 7),))
    assert [level.gb_per_s for level in read.levels.values()] == [None, 7.0]
    assert (read.placed(3, 32).most, read.placed(3, 32).rounds) == (3, 2)
    with pytest.raises(BadInput, match="5 blocks of 1024 threads were not placed on Tesla T4"):
        read.placed(5, 1024)
    assert set(run["digests"]) == {"chain", "places", "stream", "waits"}
    print_run("hardware", run)
    out = capsys.readouterr().out
    assert "registers" in out
    assert "up to 3 each" in out


@pytest.mark.gpu
def test_nearer_memory_answers_sooner_and_hands_out_more():
    probed = [
        {"kib": kib, "cycles": 40.0 * at, "ns": 20.0}
        for at, kib in enumerate(hardware.LATENCY_KIB.values(), 1)
    ]
    levels = {row["level"]: row for row in hardware._levels(probed)}
    cycles = [row["cycles"] for row in levels.values()]
    assert cycles == sorted(cycles)
    assert levels["L1"]["gb_per_s"] > levels["L2"]["gb_per_s"] > levels["DRAM"]["gb_per_s"]


@pytest.mark.gpu
def test_no_block_is_lost():
    for one in hardware._places()["places"]:
        assert sum(one["held"][0]) <= one["blocks"]
        if one["blocks"] <= hardware.multiprocessors():
            assert sum(one["held"][0]) == one["blocks"]
