"""The suite of `softmax_topk()`: which cells, who takes part, who is left out; without a GPU, timing replaced."""

import pytest
import torch

from softmax_lib import selections
from softmax_lib.cli import main
from softmax_lib.cli.suite_table import print_topk
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.suites import timing
from softmax_lib.suites.peers import measure as suite
from softmax_lib.suites.peers.measure import OURS
from softmax_lib.suites.timing import Timing
from softmax_lib.suites.topk import measure as topk
from softmax_lib.suites.topk.measure import PEERS, TopkCell, cells, time_cell
from softmax_lib.worklog.checking import Tally

CELL = TopkCell(70, 500, "float32", 5)
TIMES = {OURS: 2.0, "topk(softmax)": 8.0, "topk, logsumexp": 6.0, "torch copy": 3.0}


@pytest.fixture
def cpu(monkeypatch):
    """Let a cell be timed on the CPU, each contender in a given time."""
    monkeypatch.setattr(timing, "sample", lambda case: torch.randn(case.shape))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(
        timing,
        "time_device",
        lambda calls, inputs, replays: {
            case: Timing(*[TIMES.get(case.provider, 3.5)] * 3) for case in calls
        },
    )


def test_the_cells_are_the_papers_and_those_that_are_hard():
    found = list(cells())
    assert len(found) == len(set(found))
    assert TopkCell(4000, 25200, "float32", 5) in found
    assert TopkCell(10, 100_000, "float32", 30) in found
    assert TopkCell(16384, 256, "bfloat16", 8) in found
    assert {cell.data for cell in found} == {"normal", *topk.ADVERSE}


def test_a_row_has_our_time_the_copys_and_every_peers(cpu):
    skipped = {}
    assert time_cell(CELL, skipped) == {
        "rows": 70, "cols": 500, "dtype": "float32", "k": 5, "data": "normal", "ours_us": 2.0, "copy_us": 3.0,
        "peers": {"topk(softmax)": 8.0, "topk, logsumexp": 6.0}, "kernels": {},
    }  # fmt: skip
    assert "flashinfer cannot be had" in skipped["flashinfer.top_k"]


def test_the_papers_cells_have_the_kernels_of_its_experiment(cpu):
    row = time_cell(TopkCell(10, 63 * 64, "float32", 5), {})
    assert set(row["kernels"]) == {*topk.FORMS, *topk.SOFTMAXES}
    assert set(row["peers"]) == {"topk(softmax)", "topk, logsumexp"}
    for other in (
        TopkCell(10, 500, "float32", 5),
        TopkCell(10, 630, "bfloat16", 5),
        TopkCell(10, 630, "float32", 7),
    ):
        assert not time_cell(other, {})["kernels"]


def test_kernels_are_timed_at_several_block_sizes_in_one_run(cpu):
    lines = topk.time_sizes(TopkCell(70, 500, "float32", 5))
    sizes = {(line["kernel"], line["block_size"]) for line in lines}
    assert {("topk", size) for size in topk.SWEPT_SIZES} < sizes
    assert {name for name, _ in sizes} == {
        name for name, one in selections.kernels.items() if not one.suite
    }
    assert lines[0] == {
        "kernel": "topk_unfused", "block_size": 32, "rows": 70, "cols": 500, "k": 5, "copy_us": 3.0, "us": 3.5,
    }  # fmt: skip


def test_a_kernel_that_is_wrong_is_not_timed(monkeypatch):
    wrong = Tally("topk", 1, ("a row",))
    monkeypatch.setattr(selections, "check", lambda name, device: wrong)
    with pytest.raises(NotAvailable, match="1 wrong"):
        topk.run_topk(lambda *told: None)


def test_who_is_wrong_or_refuses_is_skipped_and_we_must_not_be(cpu, monkeypatch):
    def refuse(x, y):
        raise ValueError("too long")

    monkeypatch.setitem(PEERS, "topk(softmax)", lambda k: lambda x, y: torch.topk(x, k))
    monkeypatch.setitem(PEERS, "topk, logsumexp", lambda k: refuse)
    skipped = {}
    assert time_cell(CELL, skipped)["peers"] == {}
    assert "wrong" in skipped[f"topk(softmax) on {CELL}"]
    assert "too long" in skipped[f"topk, logsumexp on {CELL}"]

    def first_ones(x, y):
        places = torch.arange(5).expand(70, 5)
        return torch.topk(torch.softmax(x, -1), 5)[0], places

    for wrong in (lambda x, y: torch.topk(x, 5), first_ones):
        monkeypatch.setattr(topk, "_ours", lambda k, wrong=wrong: wrong)
        with pytest.raises(NotAvailable, match=f"{OURS} gives a wrong result"):
            time_cell(CELL, {})


def test_where_we_do_not_fit_the_cell_is_left_to_the_suite(cpu, monkeypatch):
    def too_large(x, y):
        raise torch.OutOfMemoryError

    monkeypatch.setitem(PEERS, "topk(softmax)", lambda k: too_large)
    skipped = {}
    assert "topk(softmax)" not in time_cell(CELL, skipped)["peers"]
    assert "memory" in skipped[f"topk(softmax) on {CELL}"]
    monkeypatch.setattr(topk, "_ours", lambda k: too_large)
    with pytest.raises(torch.OutOfMemoryError):
        time_cell(CELL, {})


FOUND = {
    "gpu": {"name": "Test GPU"}, "date": "2026-01-01", "software": {}, "protocol": "", "notes": ["it was warm"],
    "skipped": {"flashinfer.top_k": "flashinfer cannot be had"},
    "rows": [
        {"rows": 4000, "cols": 25200, "dtype": "float32", "k": 30, "data": "ascending", "ours_us": 200.0, "copy_us": 200.0, "peers": {"topk(softmax)": 3000.0}},
        {"rows": 4, "cols": 32, "dtype": "bfloat16", "k": 5, "data": "normal", "ours_us": 2.0, "copy_us": 1.0, "peers": {}},
    ],
}  # fmt: skip


def test_the_table_tells_rows_k_and_the_share_of_reading(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    print_topk(FOUND)
    said = capsys.readouterr().out
    for part in (
        "Test GPU",
        "ascending",
        "4000x25200 float32",
        "15.000",
        "50%",
        "none",
        "flashinfer",
        "it was warm",
    ):
        assert part in said


def test_the_command_shows_it_and_keeps_it(capsys, monkeypatch, tmp_path):
    from softmax_lib.gpu import presence
    from softmax_lib.suites import kept
    from softmax_lib.worklog import checking

    monkeypatch.setattr(checking, "choose_device", lambda device: device)
    monkeypatch.setattr(presence, "gpu_name", lambda: "Test GPU")
    monkeypatch.setattr(topk, "run_topk", lambda tell: FOUND)
    monkeypatch.setattr(kept, "folders", lambda: (tmp_path,))
    assert main(["bench", "--suite", "topk", "--keep"]) == 0
    assert "softmax_topk()" in capsys.readouterr().out
    assert kept.kept_runs("topk", "Test GPU", lambda run: run["rows"]) == [FOUND]


def test_a_run_has_every_cell_and_where_it_was_measured(monkeypatch):
    monkeypatch.setattr(topk, "time_cell", lambda cell, skipped: vars(cell))
    monkeypatch.setattr(topk, "time_sizes", lambda cell: [cell.k])
    monkeypatch.setattr(topk, "_check_kernels", lambda: None)
    for name in ("gpu_facts", "versions"):
        monkeypatch.setattr(suite, name, dict)
    for name in ("busy", "slowed"):
        monkeypatch.setattr(suite, name, list)
    found = topk.run_topk(lambda *told: None)
    assert found["rows"] == [vars(cell) for cell in cells()]
    assert set(found) == {
        "gpu",
        "date",
        "software",
        "protocol",
        "rows",
        "skipped",
        "notes",
        "sweep",
        "digests",
    }
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
