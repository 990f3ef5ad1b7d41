"""The suite of peers: which cells, who takes part, what a row holds, what is made of several runs; timing replaced."""

import math

import pytest
import torch

from softmax_lib.engine.errors import NotAvailable
from softmax_lib.suites.peers import measure as suite
from softmax_lib.suites.peers import providers
from softmax_lib.suites.peers.measure import OURS, Cell, cells, time_cell
from softmax_lib.suites.peers.record import contest_runs, contests, mean_gain


def gradient(y, grad, dx):
    return dx.copy_(torch._softmax_backward_data(grad, y, -1, y.dtype))


@pytest.fixture
def torch_alone(cpu, monkeypatch):
    """Let a cell be timed on the CPU: others than torch are missing."""
    cpu.us.update({OURS: 2.0, "torch": 3.0, "torch.compile": 2.5})
    monkeypatch.setattr(suite, "gradient_into", gradient)
    there = {
        "CALLS": lambda: lambda x, y: torch.softmax(x, -1),
        "BACKWARD": lambda: lambda x, y: gradient(x[0], x[1], y),
    }
    for table, make in there.items():
        missing = dict.fromkeys(getattr(providers, table), lambda: 1 / 0)
        monkeypatch.setattr(providers, table, {**missing, "torch": make})
    return cpu


@pytest.mark.parametrize(("direction", "inputs"), [("forward", 1), ("backward", 2)])
def test_a_row_has_our_time_the_copys_and_every_peers(torch_alone, direction, inputs):
    skipped = {}
    row = time_cell(Cell(4, 32, "float32", direction), skipped)
    assert row == {
        "rows": 4, "cols": 32, "dtype": "float32", "direction": direction, "ours_us": 2.0, "copy_us": 3.0,
        "peers": {"torch": 3.0},
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

    def refuse(x, y):
        raise ValueError("too long")

    monkeypatch.setitem(table, "quack", lambda: refuse)
    skipped = {}
    assert time_cell(cell, skipped)["peers"] == {}
    assert "wrong" in skipped[f"torch on {cell}"]
    assert "too long" in skipped[f"quack on {cell}"]
    monkeypatch.setattr(suite, "gradient_into", lambda y, grad, dx: dx.zero_())
    monkeypatch.setattr(suite, "call_of", lambda who: lambda x, y: y.zero_())
    with pytest.raises(NotAvailable, match=f"{OURS} gives a wrong result"):
        time_cell(cell, {})


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


@pytest.mark.gpu
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_cell_is_timed_on_a_gpu(direction):
    row = time_cell(Cell(512, 1000, "bfloat16", direction), {})
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
    shapes = [(cell.rows, cell.cols, cell.dtype, cell.direction) for cell in cells()]
    for run in contest_runs():
        assert [
            (row["rows"], row["cols"], row["dtype"], row["direction"]) for row in run["rows"]
        ] == shapes
        assert run["gpu"]["name"] == "NVIDIA H200"
        assert not run["notes"]


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


def test_runs_are_put_together_by_matrix(shelve):
    first, second = row(1.0, {"torch": 2.0}), {**row(1.0, {"torch": 3.0}), "cols": 64}
    found = shelve([first, second], [second])
    assert [(one.cols, one.gains) for one in found] == [(32, (2.0,)), (64, (3.0, 3.0))]
