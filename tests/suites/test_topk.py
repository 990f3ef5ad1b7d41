"""The suite of `softmax_topk()`: which cells, who takes part, what is read and drawn of a run; timing replaced."""

from unittest.mock import Mock

import pytest
import torch
from suites.conftest import book_run

from softmax_lib import selections
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.show.figures import topk_by_k
from softmax_lib.suites import timing, topk
from softmax_lib.suites.peers.measure import OURS
from softmax_lib.suites.times import topk_sizes, topk_times
from softmax_lib.suites.topk import PEERS, TopkCell, cells, time_cell


def test_cells_and_block_sizes_are_found_by_their_fields(keep):
    rows = book_run("topk")["rows"]
    for one, row in zip(topk_times(), rows, strict=True):
        assert vars(one) == row
        assert one.torch_us == min(us for name, us in row["peers"].items() if "topk" in name[:4])
        assert one.gain == min(row["peers"].values()) / row["ours_us"]
    assert {one.k for one in topk_times(k=5, cols=25200)} == {5}
    sizes = [one.block_size for one in topk_sizes(kernel="topk_early_exit", k=5)]
    assert len(set(sizes)) > 1
    assert topk_sizes(k=1000) == []


def test_a_peer_that_is_missing_at_one_k_has_no_curve(keep):
    run = book_run("topk")
    at = [row for row in run["rows"] if (row["rows"], row["cols"]) == (4000, 25200)]
    at[0]["peers"].pop("flashinfer.top_k")
    keep("topk", run)
    labels = [line.get_label() for line in topk_by_k(gpu="Tesla T4").axes[0].lines]
    assert "torch, its best form" in labels
    assert "flashinfer.top_k" not in labels


CELL = TopkCell(70, 500, "float32", 5)


@pytest.fixture
def times(cpu):
    cpu.us.update({OURS: 2.0, "topk(softmax)": 8.0, "topk, logsumexp": 6.0})


def test_a_row_has_our_time_the_copys_and_every_peers(times):
    skipped = {}
    assert time_cell(CELL, skipped) == {
        "rows": 70, "cols": 500, "dtype": "float32", "k": 5, "data": "normal", "ours_us": 2.0, "copy_us": 3.0,
        "peers": {"topk(softmax)": 8.0, "topk, logsumexp": 6.0}, "kernels": {},
    }  # fmt: skip
    assert "flashinfer.top_k cannot be had" in skipped["flashinfer.top_k"]


def test_the_papers_cells_have_the_kernels_of_its_experiment(times):
    row = time_cell(TopkCell(10, 63 * 64, "float32", 5), {})
    assert set(row["kernels"]) == {*topk.FORMS, *topk.SOFTMAXES}
    assert set(row["peers"]) == {"topk(softmax)", "topk, logsumexp"}
    for other in (
        TopkCell(10, 500, "float32", 5),
        TopkCell(10, 630, "bfloat16", 5),
        TopkCell(10, 630, "float32", 7),
    ):
        assert not time_cell(other, {})["kernels"]


def test_kernels_are_timed_at_several_block_sizes_in_one_run(times):
    lines = topk.time_sizes(TopkCell(70, 500, "float32", 5))
    sizes = {(line["kernel"], line["block_size"]) for line in lines}
    assert {("topk", size) for size in topk.SWEPT_SIZES} < sizes
    assert {name for name, _ in sizes} == {
        name for name, one in selections.kernels.items() if not one.suite
    }
    assert lines[0] == {
        "kernel": "topk_unfused", "block_size": 32, "rows": 70, "cols": 500, "k": 5, "copy_us": 3.0, "us": 5.0,
    }  # fmt: skip


def test_who_is_wrong_or_refuses_is_skipped_and_we_must_not_be(times, monkeypatch):
    refuse, too_large = (
        Mock(side_effect=of) for of in (ValueError("too long"), torch.OutOfMemoryError)
    )
    monkeypatch.setitem(PEERS, "topk(softmax)", lambda k: lambda x, y: torch.topk(x, k))
    monkeypatch.setitem(PEERS, "topk, logsumexp", lambda k: refuse)
    monkeypatch.setitem(PEERS, "flashinfer.top_k", lambda k: too_large)
    skipped = {}
    assert time_cell(CELL, skipped)["peers"] == {}
    assert "wrong" in skipped[f"topk(softmax) on {CELL}"]
    assert "too long" in skipped[f"topk, logsumexp on {CELL}"]
    assert "memory" in skipped[f"flashinfer.top_k on {CELL}"]

    def first_ones(x, y):
        places = torch.arange(5).expand(70, 5)
        return torch.topk(torch.softmax(x, -1), 5)[0], places

    for wrong in (lambda x, y: torch.topk(x, 5), first_ones):
        monkeypatch.setattr(topk, "_ours", lambda k, wrong=wrong: wrong)
        with pytest.raises(NotAvailable, match=f"{OURS} gives a wrong result"):
            time_cell(CELL, {})
    monkeypatch.setattr(topk, "_ours", lambda k: too_large)
    with pytest.raises(torch.OutOfMemoryError):  # which leaves the cell to the suite
        time_cell(CELL, {})


def test_a_run_has_every_cell_and_where_it_was_measured(here, monkeypatch):
    monkeypatch.setattr(topk, "time_cell", lambda cell, skipped: vars(cell))
    monkeypatch.setattr(topk, "time_sizes", lambda cell: [cell.k])
    monkeypatch.setattr(topk, "require_right", lambda *given: None)
    found = topk.run_suite(lambda *told: None)
    assert found["rows"] == [vars(cell) for cell in cells()]
    parts = "gpu date software protocol rows skipped notes sweep digests"
    assert set(found) == set(parts.split())
    assert found["sweep"] == [k for k in topk.PAPERS_K for _ in topk.PAPERS_LENGTHS]
    assert found["digests"]["topk"] == selections.kernels["topk"].digest


@pytest.mark.gpu
@pytest.mark.parametrize("data", ["normal", *topk.ADVERSE])
def test_a_cell_is_timed_on_a_gpu(data):
    row = time_cell(TopkCell(512, 5000, "float32", 5, data), {})
    assert row["ours_us"] > 0
    assert {"topk(softmax)", "topk, logsumexp"} <= set(row["peers"])


@pytest.mark.gpu
def test_each_kind_of_data_is_what_it_is_called():
    def sample(data):
        return timing.sample(TopkCell(3, 2000, "float32", 5, data).case)

    assert (sample("ascending").diff(dim=-1) >= 0).all()
    assert (sample("descending").diff(dim=-1) <= 0).all()
    assert (sample("equal") == 1).all()
    steps = sample("in steps")
    assert (steps[:, 512:1024].min() > steps[:, :512].max()).item()
    assert (steps[:, :512].diff(dim=-1) < 0).any()
