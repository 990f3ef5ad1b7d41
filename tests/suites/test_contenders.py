"""The suites of chapters 09, 10 and 14: contenders compute softmax, what a run holds, what is read of it; timing replaced."""

import pytest
import torch

from softmax_lib import hopper, kernels
from softmax_lib.suites import clusters, warps
from softmax_lib.suites.cells import Matrix, time_contenders
from softmax_lib.suites.clusters import Contender as Cluster
from softmax_lib.suites.times import CLUSTER, WARP, warp_times
from softmax_lib.suites.unroll import Setting
from softmax_lib.suites.warps import NAME, Contender
from softmax_lib.worklog.registry import rungs

SHORT = Matrix("short", 100, 96, (Contender("warp", 64, 8, 2), Contender("fusion", 32), Contender("softmax()")))  # fmt: skip
FEW = Matrix("few", 16, 65536, (Cluster("tma", 256, 16), Cluster("softmax()")))


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


def test_every_kernel_is_timed_at_every_size_that_holds_the_row():
    longest = {one for cell in clusters.cells() for one in cell.contenders if cell.cols == 262144}
    assert {one.who for one in longest} >= {*hopper, "float4", "softmax()"}
    assert {one.cluster for one in longest if one.who == "cluster"} == {8, 16}


@pytest.mark.parametrize("one", [
    Contender("warp", 64, 8, 4), Contender("warp_shared", 32, 32, 1), Contender("shuffle", 64), Contender("torch"),
    Contender("softmax()"), Setting("unroll", 64, 8, 1), Setting("unroll_full", 32, 1, 8), Cluster("tma", 64, 2),
    Cluster("cluster_global", 32, 4), Cluster("unroll"), Cluster("softmax()"),
], ids=str)  # fmt: skip
def test_a_contender_computes_softmax(one):
    x = torch.randn(7, 260)
    y = torch.empty_like(x)
    one.call(x, y)
    torch.testing.assert_close(y, x.softmax(-1))


@pytest.mark.parametrize(("suite", "runs", "cell", "of"), [
    (warps, WARP, SHORT, {"lanes": 8, "blocks": 7}),  # 2 times 8 rows a block
    (clusters, CLUSTER, FEW, {"cluster": 16}),
])  # fmt: skip
def test_a_run_holds_what_a_reader_of_it_needs(cpu, monkeypatch, suite, runs, cell, of):
    monkeypatch.setattr(suite, "require_right", list)
    monkeypatch.setattr(suite, "cells", lambda: iter([cell]))
    run = suite.run_suite(lambda *told: None)
    ours, *others = runs.read(run)
    assert {name: getattr(ours, name) for name in of} == of
    assert {getattr(one, name) for one in others for name in of} == {0}
    assert (ours.us, ours.copy_us, ours.copy_share) == (5, 3, 3 / 5)
    timed = {NAME, "naive"} if suite is warps else {"tma", "unroll"}
    digests = {name: one.digest for name, one in (kernels | hopper).items() if name in timed}
    assert run["digests"].items() >= digests.items()


@pytest.mark.gpu
@pytest.mark.parametrize("cell", [SHORT, FEW], ids=str)
def test_a_matrix_is_timed_on_a_gpu(cell):
    row = time_contenders(cell, {})
    assert [one["who"] for one in row["times"]] == [one.who for one in cell.contenders]
