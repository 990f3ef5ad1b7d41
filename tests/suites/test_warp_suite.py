"""Chapter 10's suite: which settings and matrices, what a run holds, what its table tells; timing replaced."""

from types import SimpleNamespace

import pytest
import torch

from softmax_lib import kernels
from softmax_lib.cli.suite_table import print_warps
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.suites import timing
from softmax_lib.suites.peers import measure as suite
from softmax_lib.suites.timing import Timing
from softmax_lib.suites.warps import measure as warps
from softmax_lib.suites.warps.measure import NAME, SEEDS, Contender, WarpCell, cells, time_cell
from softmax_lib.suites.warps.record import times_of
from softmax_lib.worklog.registry import rungs


@pytest.fixture
def cpu(monkeypatch):
    """Let anything take 5 us, and a copy 3."""
    monkeypatch.setattr(timing, "sample", lambda case: torch.randn(case.shape))
    monkeypatch.setattr(
        timing,
        "time_device",
        lambda calls, inputs, replays: {
            case: Timing(*[3.0 if "copy" in case.provider else 5.0] * 3) for case in calls
        },
    )


def test_short_rows_meet_every_setting_once_and_every_kernel_with_a_block_a_row():
    short = [cell for cell in cells() if cell.part == "short"]
    assert SEEDS == (128, 96) == (short[0].rows, short[0].cols)
    for cell in short:
        assert len(set(cell.contenders)) == len(cell.contenders)
        assert all(one.takes(cell.cols) for one in cell.contenders)
    asked = {(one.who, one.lanes, one.block_size) for one in short[0].contenders}
    for lanes in kernels[NAME].choices:
        assert {(NAME, lanes, size) for size in (32, 256)} <= asked
    controls = {name for name, kernel in kernels.items() if kernel.of == NAME}
    assert controls < {who for who, *_ in asked}
    assert {"shuffle", "fusion", "unfused", "torch", "softmax()"} < {who for who, *_ in asked}


def test_the_plane_has_every_rung_where_its_block_takes_the_row():
    plane = {(cell.rows, cell.cols): cell for cell in cells() if cell.part == "plane"}
    for cell in plane.values():
        ladder = {kernel.name for kernel in rungs() if kernel.legal_block_sizes(cell.cols)}
        assert warps.PLANE_FLOATS[0] <= cell.rows * cell.cols <= warps.PLANE_FLOATS[1]
        who = {one.who for one in cell.contenders}
        assert ladder <= who
        assert ("warp" in who) == (cell.cols <= 4096)
        assert ("Triton, simple" in who) == (cell.cols <= 65536)
    assert {one.lanes for one in plane[2048, 1024].contenders if one.who == NAME} == {8, 32}
    assert {one.lanes for one in plane[2048, 2048].contenders if one.who == NAME} == {32}


def test_a_contender_computes_softmax_by_the_kernel_it_names():
    x = torch.randn(7, 77)
    for one in (
        Contender("warp", 64, 8, 4), Contender("warp_shared", 32, 32, 1), Contender("shuffle", 64), Contender("torch"),
    ):  # fmt: skip
        y = torch.empty_like(x)
        one.call(x, y)
        torch.testing.assert_close(y, x.softmax(-1))


def test_a_run_holds_what_a_reader_of_it_needs(cpu, monkeypatch):
    for name in ("busy", "slowed"):
        monkeypatch.setattr(suite, name, list)
    for name in ("gpu_facts", "versions"):
        monkeypatch.setattr(suite, name, dict)
    monkeypatch.setattr(warps, "check", lambda name, device: SimpleNamespace(ok=True))
    some = (Contender("warp", 64, 8, 2), Contender("torch"))
    monkeypatch.setattr(warps, "cells", lambda: iter([WarpCell("short", 100, 96, some)]))
    run = warps.run_warps(lambda *told: None)
    ours, torchs = times_of(run)
    assert (ours.us, ours.copy_us, ours.blocks) == (5, 3, 7)  # 2 times 8 rows a block
    assert (torchs.who, torchs.lanes, torchs.blocks) == ("torch", 0, 0)
    assert (
        run["digests"].items()
        >= {NAME: kernels[NAME].digest, "naive": kernels["naive"].digest}.items()
    )


def test_a_kernel_that_is_wrong_is_not_timed(monkeypatch):
    wrong = SimpleNamespace(ok=False, verdict="warp: 1 launch, wrong")
    monkeypatch.setattr(warps, "check", lambda name, device: wrong)
    with pytest.raises(NotAvailable, match="1 launch, wrong"):
        warps.run_warps(lambda *told: None)


FOUND = {
    "gpu": {"name": "Test GPU"}, "date": "2026-01-01", "software": {}, "protocol": "", "notes": ["it was warm"], "skipped": {},
    "rows": [{
        "part": "short", "rows": 128, "cols": 96, "copy_us": 2.0,
        "times": [
            {"who": "warp", "block_size": 64, "lanes": 16, "turns": 1, "us": 4.0},
            {"who": "warp", "block_size": 32, "lanes": 8, "turns": 1, "us": 5.0},
            {"who": "shuffle", "block_size": 32, "lanes": 0, "turns": 0, "us": 6.5},
        ],
    }, {"part": "plane", "rows": 256, "cols": 96, "copy_us": 2.0, "times": []}],
}  # fmt: skip


def test_the_table_tells_the_best_setting(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    print_warps(FOUND)
    said = capsys.readouterr().out
    for part in ("Test GPU", "128x96", " 16 ", " 64 ", "4.00", "50%", "6.50", "it was warm"):
        assert part in said
    assert "256x96" not in said


@pytest.mark.gpu
def test_a_matrix_is_timed_on_a_gpu():
    some = (Contender("warp", 64, 8, 2), Contender("fusion", 32), Contender("softmax()"))
    row = time_cell(WarpCell("short", 512, 96, some), {})
    assert [one["who"] for one in row["times"]] == ["warp", "fusion", "softmax()"]
