"""Chapter 10's suite: which settings and matrices, what a run holds, what is read of it; timing replaced."""

import pytest
import torch

from softmax_lib import kernels
from softmax_lib.suites import warps
from softmax_lib.suites.cells import Matrix
from softmax_lib.suites.times import WARP, warp_times
from softmax_lib.suites.unroll import Setting
from softmax_lib.suites.warps import NAME, Contender, time_cell
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


def test_every_rung_takes_part_in_the_plane():
    assert {rung.name for rung in rungs()} <= set(warps.CONTEST)


@pytest.mark.parametrize("one", [
    Contender("warp", 64, 8, 4), Contender("warp_shared", 32, 32, 1), Contender("shuffle", 64), Contender("torch"),
    Contender("softmax()"), Setting("unroll", 64, 8, 1), Setting("unroll_full", 32, 1, 8),
], ids=str)  # fmt: skip
def test_a_contender_computes_softmax(one):
    x = torch.randn(7, 77)
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
