"""The suite of chapter 12's Triton kernels: which settings, what a run holds, what its table tells; timing replaced."""

import json
from types import SimpleNamespace

import pytest
import torch

from softmax_lib import tiles as tile_kernels
from softmax_lib.cli.suite_table import print_tiles
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.suites import timing
from softmax_lib.suites.peers import measure as suite
from softmax_lib.suites.peers.triton_softmax import tile_setting
from softmax_lib.suites.tiles import measure as tiles
from softmax_lib.suites.tiles.measure import Contender, TileCell, cells, codes, time_cell
from softmax_lib.suites.tiles.record import times_of
from softmax_lib.suites.timing import Timing
from softmax_lib.worklog.tiles.programs import settle


@pytest.fixture
def cpu(monkeypatch):
    """Let anything take 5 us, and a copy 3; Triton's kernels are replaced by torch, and 3 stages do not fit."""

    def launch(kernel, x, y, setting, programs=None):
        if setting.num_stages == 3:
            raise NotAvailable("does not fit")
        torch.softmax(x, -1, out=y)

    monkeypatch.setattr(tiles, "launch", launch)
    monkeypatch.setattr(timing, "sample", lambda case: torch.randn(case.shape))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    monkeypatch.setattr(
        timing,
        "time_device",
        lambda calls, inputs, replays: {
            case: Timing(*[3.0 if "copy" in case.provider else 5.0] * 3) for case in calls
        },
    )


def of_part(part):
    return [cell for cell in cells() if cell.part == part]


def test_every_warp_count_is_tried_with_every_number_of_stages():
    small = of_part("settings")[0]
    tried = [(one.setting.num_warps, one.setting.num_stages) for one in small.contenders
             if one.kernel == "persistent"]  # fmt: skip
    assert tried == [(warps, stages) for warps in (1, 2, 4, 8, 16, 32) for stages in (1, 2, 3, 4)]
    long = max(of_part("settings"), key=lambda cell: cell.cols)
    assert min(one.setting.num_warps for one in long.contenders) == 8
    for cell in cells():
        assert len(set(cell.contenders)) == len(cell.contenders)


def test_lengths_follow_the_seeds_rule_and_this_books():
    cell = next(cell for cell in of_part("lengths") if cell.cols == 32768)
    simple = [one.setting.num_warps for one in cell.contenders if one.kernel == "simple"]
    assert simple == [16, tile_setting(32768).num_warps] == [16, 32]
    assert {one.setting.num_warps for one in cell.contenders if one.kernel == "persistent"} == {8}


def test_the_control_of_powers_of_two_has_each_kind_of_length():
    lengths = [cell.cols for cell in of_part("sixteen")]
    assert {1024, 1008, 1000, 1023, 1025} < set(lengths)
    (exact,) = (cell for cell in of_part("sixteen") if cell.cols == 1024)
    assert {(one.kernel, one.setting.tile) for one in exact.contenders} == {
        ("simple", 1024), ("simple_no_hint", 1024), ("simple", 2048), ("simple_no_mask", 1024),
    }  # fmt: skip
    (beyond,) = (cell for cell in of_part("sixteen") if cell.cols == 1025)
    assert {one.setting.tile for one in beyond.contenders} == {2048}


def test_a_matrix_has_a_time_for_each_contender_and_says_who_cannot(cpu):
    one, three = settle(96, None, 4, 1), settle(96, None, 4, 3)
    contenders = (Contender("simple", one), Contender("persistent", three))
    skipped = {}
    row = time_cell(TileCell("settings", 70, 96, contenders), skipped)
    none = {"tile": 0, "num_warps": 0, "num_stages": 0}
    assert row == {
        "part": "settings", "rows": 70, "cols": 96, "copy_us": 3.0,
        "times": [{"who": name, **none, "us": 5.0} for name in ("torch", "softmax()", "fusion")]
        + [{"who": "simple", "tile": 128, "num_warps": 4, "num_stages": 1, "us": 5.0}],
    }  # fmt: skip
    (told,) = skipped.items()
    assert told[0] == "persistent, tile 128, 4 warps, 3 stages on 70x96"
    assert "does not fit" in told[1]


def test_a_run_has_every_cell_its_machine_code_and_digests_and_reads_back(cpu, monkeypatch):
    some = (
        TileCell("settings", 70, 96, (Contender("simple", settle(96, None, 4, 1)),)),
        TileCell("sixteen", 32, 100, (Contender("persistent", settle(100, None, 4, 2)),)),
    )
    monkeypatch.setattr(tiles, "cells", lambda: iter(some))
    monkeypatch.setattr(tiles, "check", lambda name, device: SimpleNamespace(ok=True))
    for name in ("busy", "slowed"):
        monkeypatch.setattr(suite, name, list)
    for name in ("gpu_facts", "versions"):
        monkeypatch.setattr(suite, name, dict)
    run = json.loads(json.dumps(tiles.run_tiles(lambda *told: None)))
    assert run["digests"] == {n: k.digest for n, k in tile_kernels.kernels.items()}
    found = times_of(run)
    assert {one.who for one in found} == {"torch", "softmax()", "fusion", "simple", "persistent"}
    (triton,) = (one for one in found if one.who == "persistent")
    assert triton.registers > 0
    assert triton.shared_bytes >= 512
    assert {one.registers for one in found if one.who == "torch"} == {0}
    assert len(codes(list(some))) == 2


def test_a_kernel_that_is_wrong_is_not_timed(monkeypatch):
    wrong = SimpleNamespace(ok=False, verdict="simple: 1 launch, wrong")
    monkeypatch.setattr(tiles, "check", lambda name, device: wrong)
    with pytest.raises(NotAvailable, match="1 launch, wrong"):
        tiles.run_tiles(lambda *told: None)


FOUND = {
    "gpu": {"name": "Test GPU"}, "date": "2026-01-01", "software": {}, "protocol": "", "notes": ["it was warm"], "skipped": {},
    "rows": [{
        "part": "settings", "rows": 4096, "cols": 1024, "copy_us": 2.0,
        "times": [
            {"who": "torch", "tile": 0, "num_warps": 0, "num_stages": 0, "us": 3.25},
            {"who": "simple", "tile": 1024, "num_warps": 2, "num_stages": 1, "us": 5.0},
            {"who": "persistent", "tile": 1024, "num_warps": 8, "num_stages": 3, "us": 4.0},
        ],
    }],
}  # fmt: skip


def test_the_table_tells_the_best_setting(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    print_tiles(FOUND)
    said = capsys.readouterr().out
    for part in ("Test GPU", "4096x1024", "persistent", "4.00", "50%", "3.25", "it was warm"):
        assert part in said


@pytest.mark.gpu
def test_a_matrix_is_timed_on_a_gpu():
    contenders = (Contender("simple", settle(500)), Contender("persistent", settle(500)))
    row = time_cell(TileCell("settings", 512, 500, contenders), skipped := {})
    assert len(row["times"]) == 5
    assert not skipped
