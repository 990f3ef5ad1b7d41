"""A lie told where there is a GPU: what is measured there and then is drawn; measuring replaced."""

import pytest

from softmax_lib.engine.errors import NotAvailable, WrongType
from softmax_lib.show.live import lies
from softmax_lib.suites.lies import measure as suite
from softmax_lib.suites.lies.record import lie_run


@pytest.fixture
def asked(monkeypatch):
    """The lies that were measured, on a GPU that is not there."""
    names = []

    def run_lies(progress, chosen):
        names.extend(chosen)
        progress(chosen[0], 0, 1)
        return {**lie_run(), "gpu": {**lie_run()["gpu"], "name": "Test GPU"}}

    monkeypatch.setattr(lies, "has_gpu", lambda: True)
    monkeypatch.setattr("softmax_lib.suites.measure.has_gpu", lambda: True)
    monkeypatch.setattr(suite, "run_lies", run_lies)
    return names


def test_what_is_measured_there_is_shown(asked):
    shown = lies.catch_lie("warm cache")
    assert asked == ["warm cache"]
    assert "one run on Test GPU" in shown.text
    assert "<img" in shown.html


def test_a_lie_whose_matrices_do_not_fit_is_one_sentence(asked, monkeypatch):
    skipped = {"rows": [], "skipped": {"one shape": "the memory is too small"}}
    monkeypatch.setattr(suite, "run_lies", lambda progress, chosen: skipped)
    with pytest.raises(NotAvailable, match=r"^one shape: the memory is too small\.$"):
        lies.catch_lie("one shape")


def test_a_name_that_is_no_word_is_of_the_wrong_type(asked):
    with pytest.raises(WrongType, match="A lie is a int"):
        lies.catch_lie(3)
    assert asked == []
