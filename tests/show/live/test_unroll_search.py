"""Chapter 09's map where there is a GPU: what is measured is drawn, and how far it is told meanwhile; timing replaced."""

from rich.progress import Progress

from softmax_lib.show.live import unroll_search
from softmax_lib.suites.unroll.record import unroll_run


def test_a_search_tells_how_far_it_is_and_shows_what_it_found(monkeypatch):
    told = []

    def measured(rows, cols, progress):
        progress("compiling", 3, 80)
        return unroll_run()

    monkeypatch.setattr(unroll_search, "has_gpu", lambda: True)
    monkeypatch.setattr(unroll_search, "measure_unroll", measured)
    monkeypatch.setattr(Progress, "update", lambda self, task, **words: told.append(words))
    shown = unroll_search.search_unroll()
    assert told == [{"description": "compiling", "completed": 3, "total": 80}]
    assert "unroll on 1024 × 32768 floats, 1024 threads" in str(shown.leaves)
