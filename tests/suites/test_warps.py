"""Chapter 10's suite: which settings and matrices, what a run holds, what is read of it; timing replaced."""

import pytest
import torch

from softmax_lib import kernels
from softmax_lib.suites import warps
from softmax_lib.suites.cells import Matrix
from softmax_lib.suites.times import WARP, warp_times
from softmax_lib.suites.warps import NAME, SEEDS, Contender, cells, time_cell
from softmax_lib.worklog.registry import rungs


def test_times_are_found_by_their_fields_the_fastest_first():
    short = warp_times(part="short", cols=128, rows=131072)
    assert [one.us for one in short] == sorted(one.us for one in short)
    torch = next(one for one in short if one.who == "torch")
    assert (torch.blocks, torch.copy_share) == (0, torch.copy_us / torch.us)
    assert torch.gb_per_s == pytest.approx(2 * 131072 * 128 * 4 / torch.us / 1e3)
    assert {one.part for one in warp_times()} == {"short", "plane"}


def test_blocks_are_those_that_the_launch_has():
    for ours in warp_times(who="warp", part="short", cols=96):
        kernel = kernels["warp"].setting(LANES=ours.lanes, TURNS=ours.turns)
        assert ours.blocks == kernel.steps[0].blocks(ours.rows, ours.cols, ours.block_size) > 0


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
    monkeypatch.setattr(warps, "require_right", list)
    some = (Contender("warp", 64, 8, 2), Contender("torch"))
    monkeypatch.setattr(warps, "cells", lambda: iter([Matrix("short", 100, 96, some)]))
    run = warps.run_suite(lambda *told: None)
    ours, torchs = WARP.read(run)
    assert (ours.us, ours.copy_us, ours.blocks) == (5, 3, 7)  # 2 times 8 rows a block
    assert (torchs.who, torchs.lanes, torchs.blocks) == ("torch", 0, 0)
    assert (
        run["digests"].items()
        >= {NAME: kernels[NAME].digest, "naive": kernels["naive"].digest}.items()
    )


@pytest.mark.gpu
def test_a_matrix_is_timed_on_a_gpu():
    some = (Contender("warp", 64, 8, 2), Contender("fusion", 32), Contender("softmax()"))
    row = time_cell(Matrix("short", 512, 96, some), {})
    assert [one["who"] for one in row["times"]] == ["warp", "fusion", "softmax()"]
