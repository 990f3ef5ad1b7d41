"""The suite of peers: which cells, who takes part, what a row holds, what is made of several runs; timing replaced."""

import math
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch

from softmax_lib.engine.errors import NotAvailable
from softmax_lib.suites import timing
from softmax_lib.suites.peers import c_functions, providers
from softmax_lib.suites.peers import measure as suite
from softmax_lib.suites.peers.measure import OURS, Cell, cells, time_cell
from softmax_lib.suites.peers.record import contest_of, contest_runs, contests, mean_gain


def compute(y, grad, dx, dim, log):
    dx.copy_(torch._softmax_backward_data(grad, y, dim, y.dtype))


@pytest.fixture
def torch_alone(cpu, monkeypatch):
    """Let a cell be timed on the CPU: others than torch are missing."""
    cpu.us.update({OURS: 2.0, "torch": 3.0, "torch.compile": 2.5})
    monkeypatch.setattr(suite, "compute", compute)
    for table in ("CALLS", "BACKWARD", "SCORES"):
        there = getattr(providers, table)
        missing = dict.fromkeys(there, lambda dim=-1: 1 / 0)
        monkeypatch.setattr(providers, table, {**missing, "torch": there["torch"]})
    return cpu


@pytest.mark.parametrize(("direction", "inputs"), [("forward", 1), ("backward", 2)])
def test_a_row_has_our_time_the_copys_and_every_peers(torch_alone, direction, inputs):
    skipped = {}
    row = time_cell(Cell(4, 32, "float32", direction), skipped)
    assert row == {
        "rows": 4, "cols": 32, "dtype": "float32", "direction": direction, "shape": (), "dim": 1, "masked": False,
        "ours_us": 2.0, "copy_us": 3.0, "peers": {"torch": 3.0},
    }  # fmt: skip
    ((calls, asked),) = torch_alone.asked
    assert asked == inputs
    x, y = torch.randn(*[2] * (inputs - 1), 4, 32), torch.empty(4, 32)
    calls["torch copy"](x, y)  # of one matrix, also where there are two
    assert torch.equal(y, x if inputs == 1 else x[0])
    assert "quack cannot be had: division by zero" in skipped["quack"]


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_who_is_wrong_or_refuses_is_skipped_and_we_must_not_be(torch_alone, monkeypatch, direction):
    cell = Cell(4, 32, "float32", direction)
    table = providers.BACKWARD if direction == "backward" else providers.CALLS
    monkeypatch.setitem(table, "torch", lambda: lambda x, y: y.zero_())
    refuse = Mock(side_effect=ValueError("too long"))
    monkeypatch.setitem(table, "quack", lambda: refuse)
    skipped = {}
    assert time_cell(cell, skipped)["peers"] == {}
    assert "wrong" in skipped[f"torch on {cell}"]
    assert "too long" in skipped[f"quack on {cell}"]
    monkeypatch.setattr(suite, "compute", lambda y, grad, dx, dim, log: dx.zero_())
    monkeypatch.setattr(suite, "softmax", lambda x, dim, out: out.zero_())
    with pytest.raises(NotAvailable, match=f"{OURS} gives a wrong result"):
        time_cell(cell, {})


TENSORS = [
    Cell(10, 3, "float32", "forward", (2, 3, 5), 1), Cell(15, 2, "float32", "forward", (2, 3, 5), 0),
    Cell(10, 3, "float32", "backward", (2, 3, 5), 1), Cell(24, 130, "bfloat16", "forward", (2, 3, 4, 130), 3, True),
]  # fmt: skip


@pytest.mark.parametrize("cell", TENSORS, ids=str)
def test_a_cell_may_be_along_any_dimension_or_of_masked_scores(torch_alone, monkeypatch, cell):
    made = timing.sample
    monkeypatch.setattr(timing, "sample", lambda case: made(case).to(getattr(torch, case.dtype)))
    table = providers.SCORES if cell.masked else providers.CALLS
    table = providers.BACKWARD if cell.direction == "backward" else table
    monkeypatch.setitem(table, "torch.compile", lambda *dim: lambda x, y: y.fill_(1 / cell.cols))
    skipped = {}
    row = time_cell(cell, skipped)
    assert (row["shape"], row["peers"]) == (cell.shape, {"torch": 3.0})
    assert "wrong" in skipped[f"torch.compile on {cell}"]
    assert ("transformer-engine" if cell.masked else "flaggems") in skipped
    assert "quack" not in skipped  # which takes rows alone
    ((calls, _),) = torch_alone.asked
    x = suite.sample(cell)
    ours = calls[OURS](x, torch.empty(cell.rows, cell.cols, dtype=x.dtype))
    assert ours.shape == cell.shape
    assert not cell.masked or torch.equal(ours > 0, (timing.mask_of(ours) == 0).expand_as(ours))


def test_a_cell_that_does_not_fit_is_skipped_and_the_others_are_timed(here, monkeypatch):
    def time_cell(cell, skipped):
        if cell.cols > 100_000:
            raise torch.OutOfMemoryError
        return {**vars(cell), "ours_us": 1.0, "copy_us": 1.0, "peers": {"torch": 2.0}}

    monkeypatch.setattr(suite, "time_cell", time_cell)
    heard = []
    found = suite.run_suite(lambda *told: heard.append(told))
    large = [cell for cell in cells() if cell.cols > 100_000]
    assert list(found["skipped"]) == [str(cell) for cell in large]
    assert len(found["rows"]) == len(list(cells())) - len(large)
    assert found["gain"] == {"forward": 2.0, "backward": 2.0}
    assert heard[-1] == ("done", len(list(cells())), len(list(cells())))


def test_flashinfer_is_compiled_from_its_headers(here, monkeypatch):
    def compile_it(command, **how):
        is_there = "-I/there/flashinfer/data/include" in command
        return SimpleNamespace(returncode=not is_there, stderr="no sampling.cuh")

    there, given = SimpleNamespace(locate_file=lambda name: f"/{folder}/{name}"), []
    monkeypatch.setattr(c_functions, "distribution", lambda name: there)
    monkeypatch.setattr(c_functions.subprocess, "run", compile_it)
    library = SimpleNamespace(softmax=lambda *of: given.extend(of))
    monkeypatch.setattr(c_functions, "CDLL", lambda path: library)
    monkeypatch.setitem(providers.CALLS, "flashinfer", c_functions.flashinfer.__wrapped__)
    folder = "elsewhere"
    with pytest.raises(NotAvailable, match="flashinfer cannot be had: no sampling"):
        providers.peer("flashinfer")
    folder = "there"
    call, x, y = providers.peer("flashinfer"), torch.randn(3, 70), torch.empty(3, 70)
    assert call(x, y) is y
    assert given[:4] == [x.data_ptr(), y.data_ptr(), 3, 70]
    with pytest.raises(NotAvailable, match="float32 alone"):
        providers.try_once("flashinfer", call, x.bfloat16())


def test_transformer_engine_is_told_of_scores_mask_and_scale(here, monkeypatch):
    told = []
    library = SimpleNamespace(
        nvte_create_tensor=lambda mode: 1, nvte_destroy_tensor=lambda named: None,
        nvte_set_tensor_param_v2=lambda named, what, basic, size: told.append(basic._obj),
        nvte_scaled_masked_softmax_forward=lambda *given: told.append(given[3].value),
    )  # fmt: skip
    there = SimpleNamespace(_TE_LIB_CTYPES=library)
    monkeypatch.setitem(sys.modules, "transformer_engine.common", there)
    call = providers.made("transformer-engine", providers.SCORES["transformer-engine"])
    x, y = (torch.randn(2, 3, 4, 130).bfloat16() for _ in range(2))
    assert call(x, y) is y
    *tensors, scale = told
    given = (x, timing.mask_of(x, torch.bool), y)
    assert [one.data for one in tensors] == [one.data_ptr() for one in given]
    assert [one.shape[: one.dims] for one in tensors] == [list(one.shape) for one in given]
    assert [*(one.dtype for one in tensors), scale] == [6, 0, 6, timing.SCALE]
    with pytest.raises(NotAvailable, match="129 to 16384 keys"):
        providers.try_once("transformer-engine", call, x[..., :128])


ON_A_GPU = [
    Cell(512, 1000, "bfloat16", "backward"), TENSORS[-1],
    *(Cell(320, 90, "float32", way, (20, 90, 16), 1) for way in ("forward", "backward")),
    Cell(1440, 20, "float32", "forward", (20, 90, 16), 0),
]  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize("cell", ON_A_GPU, ids=str)
def test_a_cell_is_timed_on_a_gpu(cell):
    row = time_cell(cell, {})
    assert row["ours_us"] > 0
    assert row["copy_us"] > 0
    assert {"torch", "torch.compile"} <= row["peers"].keys()


def row(ours_us, peers, direction="forward"):
    found = {"rows": 4, "cols": 32, "dtype": "float32", "direction": direction}
    return {**found, "ours_us": ours_us, "copy_us": 1.0, "peers": peers}


RUN = {"gpu": {"name": "Tesla T4"}, "date": "2030-01-01", "software": {}}


@pytest.fixture
def shelve(keep):
    """Put runs on a reader's own shelf, and read them."""

    def write(*runs):
        for number, rows in enumerate(runs, 1):
            keep("peers", {**RUN, "rows": rows}, f"tesla-t4-{number}")
        return contests("Tesla T4")

    return write


def test_the_books_runs_have_every_cell_of_the_suite():
    times = {"ours_us": 1.0, "copy_us": 1.0, "peers": {}}
    every = [str(contest_of([{**vars(cell), **times}])) for cell in cells()]
    assert len({*every}) == 60
    for run in contest_runs():
        assert [str(contest_of([row])) for row in run["rows"]] == every
        assert (run["gpu"]["name"], run["notes"]) == ("NVIDIA H200", [])


def test_gains_and_shares_are_those_of_every_run(shelve):
    (one,) = shelve([row(2.0, {"torch": 3.0, "liger": 2.5})], [row(2.0, {"torch": 2.4})])
    assert (one.gains, one.gain, one.verdict) == ((1.25, 1.2), pytest.approx(1.225), "ahead")
    assert (one.shares, one.peer, one.peer_share) == ((0.5, 0.5), "liger", 0.4)
    assert str(one) == "4 × 32 float32"


@pytest.mark.parametrize(
    ("times", "verdict"), [((0.97, 0.98), "behind"), ((0.97, 0.995), "level"), ((1.5, 1.005), "level")]
)  # fmt: skip
def test_who_is_ahead_is_so_in_every_run(shelve, times, verdict):
    (one,) = shelve(*([row(1.0, {"torch": time})] for time in times))
    assert one.verdict == verdict


def test_a_gradient_moves_three_matrices(shelve):
    alone, other = shelve([row(2.0, {}, "backward"), row(1.0, {"torch": 2.0})])
    assert alone.shares == (0.75,)
    assert (alone.gains, alone.peer, alone.verdict) == ((), None, "alone")
    assert math.isnan(alone.gain)
    assert math.isnan(mean_gain([alone]))
    assert str(alone) == "4 × 32 float32, its gradient"
    assert mean_gain([alone, other]) == pytest.approx(2.0)


def test_the_mean_gain_is_geometric_and_over_the_best_peer_of_each_matrix(shelve):
    found = shelve([row(1.0, {"a": 2.0, "b": 4.0}), {**row(1.0, {"b": 8.0}), "cols": 64}])
    assert mean_gain(found) == pytest.approx(4.0)
    assert mean_gain(found, dedicated=2) == pytest.approx(2.0)
    (alone,) = shelve([row(1.0, {"a": 2.0, "torch": 4.0, "torch.compile": 4.0})])
    assert math.isnan(mean_gain([alone], dedicated=2))


def test_runs_are_put_together_by_matrix(shelve):
    first, second = row(1.0, {"torch": 2.0}), {**row(1.0, {"torch": 3.0}), "cols": 64}
    now = {**second, "shape": [], "dim": 1, "masked": False}
    along = {**now, "shape": [2, 64, 2]}
    found = shelve(
        [first, second], [now, along, {**along, "shape": [1, 4, 64], "dim": 2, "masked": True}]
    )
    assert [(str(one), one.gains) for one in found] == [
        ("4 × 32 float32", (2.0,)), ("4 × 64 float32", (3.0, 3.0)), ("2 × 64 × 2 along 1 float32", (3.0,)),
        ("1 × 4 × 64 masked float32", (3.0,)),
    ]  # fmt: skip
