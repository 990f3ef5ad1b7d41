"""Runs of `softmax-lib bench`: what is made of them, and what is said of a GPU without one."""

import json
import math

import pytest

from softmax_lib.engine.errors import BadInput
from softmax_lib.suites.kept import gpus_with_runs
from softmax_lib.suites.peers.measure import cells
from softmax_lib.suites.peers.record import contest_runs, contests, mean_gain


def row(ours_us, peers, direction="forward"):
    found = {"rows": 4, "cols": 32, "dtype": "float32", "direction": direction}
    return {**found, "ours_us": ours_us, "copy_us": 1.0, "peers": peers}


RUN = {"gpu": {"name": "Tesla T4"}, "date": "2030-01-01", "software": {}}


@pytest.fixture
def shelve(tmp_path, monkeypatch):
    """Put runs on a reader's own shelf, under the name of a GPU that the book has none of."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "softmax_lib" / "measurements" / "peers"
    folder.mkdir(parents=True)

    def write(*runs):
        for number, rows in enumerate(runs, 1):
            (folder / f"tesla-t4-{number}.json").write_text(json.dumps({**RUN, "rows": rows}))
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


def test_runs_are_put_together_by_matrix(shelve):
    first, second = row(1.0, {"torch": 2.0}), {**row(1.0, {"torch": 3.0}), "cols": 64}
    found = shelve([first, second], [second])
    assert [(one.cols, one.gains) for one in found] == [(32, (2.0,)), (64, (3.0, 3.0))]


def test_a_gpu_without_a_run_is_told_how_to_make_one():
    with pytest.raises(BadInput, match="`softmax-lib bench --suite peers --keep`"):
        contests("No Such")


@pytest.mark.usefixtures("shelve")
def test_gpus_with_runs_are_found_but_damaged_ones(tmp_path):
    folder = tmp_path / "softmax_lib" / "measurements" / "peers"
    (folder / "tesla-t4-10.json").write_text(json.dumps({**RUN, "rows": [row(1.0, {})]}))
    (folder / "tesla-v100-old.json").write_text("no run")
    (folder / "nvidia-l4-1.json").write_text("{")
    with pytest.warns(
        UserWarning, match=r"The run .*nvidia-l4-1\.json is damaged: .*; it is left out"
    ):
        found = set(gpus_with_runs("peers"))
    assert {"Tesla T4", "NVIDIA H200"} <= found
    assert not any(name.lower().endswith(("v100", "l4")) for name in found)


def test_a_damaged_run_is_told_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "softmax_lib" / "measurements" / "peers"
    folder.mkdir(parents=True)
    for number, text in enumerate(("{", "[]", '{"rows": [{"rows": 1}]}')):
        (folder / f"gpu{number}-1.json").write_text(text)
        with pytest.raises(BadInput, match=rf"gpu{number}-1\.json is damaged"):
            contests(f"gpu{number}")
