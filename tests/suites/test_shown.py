"""The suite of kernels as chapters show them: which there are, what is read of a run, its table."""

import pytest

from softmax_lib import kernels, selections, shown_times
from softmax_lib.suites import shown
from softmax_lib.suites.times import FULL


def test_each_kernel_that_a_chapter_shows_was_timed_beside_the_one_for_any_row():
    for name in FULL:
        found = shown_times(kernel=name)
        assert len({(one.rows, one.cols) for one in found}) == len(found) >= 5
        assert all(one.source.startswith("one run on NVIDIA H200") for one in found)
    every = {**kernels, **selections.kernels}
    assert set(FULL) == {name for name, one in every.items() if one.suite == "shown"}


@pytest.mark.alone
@pytest.mark.gpu
def test_a_kernel_and_its_full_form_take_about_as_long(monkeypatch):
    monkeypatch.setattr(shown, "LENGTHS", (8192,))
    monkeypatch.setattr(shown, "SHORT", ((16384, 1024),))
    monkeypatch.setattr(shown, "SCORES", ((4000, 6300),))
    for row in shown.run_suite(lambda *told: None)["rows"]:
        assert row["us"] == pytest.approx(row["full_us"], rel=0.3)
        assert row["copy_us"] < row["us"]
