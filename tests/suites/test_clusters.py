"""Chapter 14's suite: its contenders, what a run holds, and its time on a GPU."""

import pytest
import torch

from softmax_lib import hopper
from softmax_lib.suites import clusters
from softmax_lib.suites.cells import Matrix
from softmax_lib.suites.clusters import Contender, time_cell
from softmax_lib.suites.times import CLUSTER

SOME = (Contender("tma", 64, 2), Contender("unroll"), Contender("softmax()"))


@pytest.mark.parametrize("one", [*SOME, Contender("cluster_global", 32, 4)], ids=str)
def test_a_contender_computes_softmax(one):
    x = torch.randn(3, 260)
    y = torch.empty_like(x)
    one.call(x, y)
    torch.testing.assert_close(y, x.softmax(-1))


def test_every_kernel_is_timed_at_every_size_that_holds_the_row():
    longest = {one for cell in clusters.cells() for one in cell.contenders if cell.cols == 262144}
    assert {one.who for one in longest} >= {*hopper, "float4", "softmax()"}
    assert {one.cluster for one in longest if one.who == "cluster"} == {8, 16}


def test_a_run_holds_what_a_reader_of_it_needs(cpu, monkeypatch):
    monkeypatch.setattr(clusters, "require_right", list)
    monkeypatch.setattr(clusters, "cells", lambda: iter([Matrix("few", 10, 260, SOME)]))
    run = clusters.run_suite(lambda *told: None)
    ours, _, _ = CLUSTER.read(run)
    assert (ours.who, ours.cluster, ours.us, ours.copy_share) == ("tma", 2, 5, 3 / 5)
    assert run["digests"]["tma"] == hopper["tma"].digest


@pytest.mark.gpu
def test_a_matrix_is_timed_on_a_gpu():
    row = time_cell(Matrix("few", 16, 65536, (Contender("tma", 256, 16), *SOME[2:])), {})
    assert [one["who"] for one in row["times"]] == ["tma", "softmax()"]
