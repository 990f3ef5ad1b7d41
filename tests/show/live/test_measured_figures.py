"""Lies and chapter 09's map where there is a GPU: what is measured there and then is drawn; measuring replaced."""

import pytest
from rich.progress import Progress

from softmax_lib import catch_lie, search_unroll
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.show.live import measured_figures
from softmax_lib.suites.lies import measure as suite
from softmax_lib.suites.lies.record import lie_run
from softmax_lib.suites.times import UNROLL


@pytest.fixture
def asked(monkeypatch):
    """The lies that were measured, on a GPU that is not there."""
    names = []

    def run_suite(progress, chosen):
        names.extend(chosen)
        progress(chosen[0], 0, 1)
        return {**lie_run(), "gpu": {**lie_run()["gpu"], "name": "Test GPU"}}

    monkeypatch.setattr(measured_figures, "has_gpu", lambda: True)
    monkeypatch.setattr(suite, "run_suite", run_suite)
    return names


def test_what_is_measured_there_is_shown(asked):
    shown = catch_lie("warm cache")
    assert asked == ["warm cache"]
    assert "one run on Test GPU" in shown.text
    assert "<img" in shown.html


def test_a_lie_whose_matrices_do_not_fit_is_one_sentence(asked, monkeypatch):
    skipped = {"rows": [], "skipped": {"one shape": "the memory is too small"}}
    monkeypatch.setattr(suite, "run_suite", lambda progress, chosen: skipped)
    with pytest.raises(NotAvailable, match=r"^one shape: the memory is too small\.$"):
        catch_lie("one shape")


def test_a_search_tells_how_far_it_is_and_shows_what_it_found(monkeypatch):
    told = []

    def measured(rows, cols, progress):
        progress("compiling", 3, 80)
        found = UNROLL.newest()
        return {**found, "gpu": {**found["gpu"], "name": "Tesla T4"}}

    monkeypatch.setattr(measured_figures, "has_gpu", lambda: True)
    monkeypatch.setattr("softmax_lib.suites.unroll.search", measured)
    monkeypatch.setattr(Progress, "update", lambda self, task, **words: told.append(words))
    shown = search_unroll()
    assert told == [{"description": "compiling", "completed": 3, "total": 80}]
    assert "unroll on 1024 × 32768 floats, 1024 threads" in str(shown.leaves)
    assert "Tesla T4" in str(shown.leaves)
