"""The kept runs of the suite hardware: what is read of them, and what is said of one that is damaged."""

import json

import pytest

from softmax_lib import hardware
from softmax_lib.engine.errors import BadInput
from softmax_lib.suites.hardware.measure import digests

PLACE = {
    "blocks": 4, "threads": 1024, "registers": 12, "shared_bytes": 4, "stay_ns": 20000, "took_ns": 41000,
    "held": [[2, 1], [0, 1]],
}  # fmt: skip
RUN = {
    "gpu": {"name": "Tesla T4", "multiprocessors": 2, "l2_bytes": 1, "memory_bytes": 1},
    "date": "2030-01-01", "software": {}, "limits": {"WarpSize": 32}, "digests": {},
    "rows": [
        {"level": "registers", "cycles": 4.0, "ns": 2.0},
        {"level": "L2", "cycles": 200.0, "ns": 100.0, "gb_per_s": 1000.0},
    ],
    "latency": [{"kib": 4, "cycles": 40.0, "ns": 20.0}],
    "waits": [{"warps": 1, "cycles": 900, "turns": [[0, 0, 700], [0, 800, 900]]}],
    "places": [PLACE],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "softmax_lib" / "measurements" / "hardware"
    folder.mkdir(parents=True)
    (folder / "tesla-t4-1.json").write_text(json.dumps(RUN))
    return folder


def test_a_run_is_read_by_what_was_measured(folder):
    found = hardware("Tesla T4")
    assert found.multiprocessors == 2
    assert (found.levels["registers"].gb_per_s, found.levels["L2"].gb_per_s) == (None, 1000.0)
    assert found.latency == {4: 40.0}
    assert found.waits[1].turns == ((0, 0, 700), (0, 800, 900))
    placed = found.placed(4, 1024)
    assert (placed.most, placed.rounds) == (2, 2.05)
    assert found.source == "one run on Tesla T4, 2030-01-01"
    with pytest.raises(BadInput, match="5 blocks of 1024 threads were not placed on Tesla T4"):
        found.placed(5, 1024)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"limits": None}, "limits is None"),
        ({"rows": [{"level": "L1", "cycles": 1.0}]}, "it lacks 'ns'"),
        ({"rows": [{"level": "L1", "cycles": "1", "ns": 1.0}]}, "cycles is '1'"),
        ({"places": [{**PLACE, "held": None}]}, "NoneType"),
        ({"places": [{"blocks": 4}]}, "it lacks 'held'"),
        ({"waits": [{"warps": 1, "cycles": 9, "turns": [[1]]}]}, "not enough values"),
    ],
)
def test_a_damaged_run_is_told(folder, change, words):
    (folder / "tesla-t4-2.json").write_text(json.dumps({**RUN, **change}))
    with pytest.raises(BadInput, match=rf"tesla-t4-2\.json is damaged: .*{words}"):
        hardware("Tesla T4")


def test_a_gpu_without_a_run_is_told(folder):
    with pytest.raises(BadInput, match="bench --suite hardware --keep"):
        hardware("No Such")


# ---- the book's own


@pytest.mark.fresh
def test_no_probe_has_changed_since_it_ran():
    assert hardware().digests == digests(), (
        "A probe has changed: `softmax-lib bench --suite hardware --keep` on a GPU runs it anew."
    )
