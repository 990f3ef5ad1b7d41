"""The kept runs of kernels as chapters show them: what is read of them, and what is said where there is none."""

import pytest

from softmax_lib import kernels, selections, shown_times
from softmax_lib.engine.errors import BadInput
from softmax_lib.suites.shown.record import FULL, shown_run

EVERY = {**kernels, **selections.kernels}


def test_each_kernel_that_a_chapter_shows_was_timed_beside_the_one_for_any_row():
    for name in FULL:
        found = shown_times(kernel=name)
        assert len({(one.rows, one.cols) for one in found}) == len(found) >= 5
        assert all(one.source.startswith("one run on NVIDIA H200") for one in found)
    assert set(FULL) == {name for name, one in EVERY.items() if one.suite == "shown"}


def test_a_gpu_without_a_run_is_told_with_what_makes_one():
    with pytest.raises(BadInput, match="bench --suite shown --keep"):
        shown_times("No Such")


@pytest.mark.fresh
@pytest.mark.parametrize("name", sorted({*FULL, *FULL.values()}))
def test_no_kernel_has_changed_since_it_was_timed(name):
    assert shown_run()["digests"][name] == EVERY[name].digest, (
        f"{name} has changed: `softmax-lib bench --suite shown --keep` on a GPU times it anew."
    )
