"""What the first page claims, as relations that the book's record has to bear out."""

from itertools import pairwise

import pytest
from recorded_facts import COLS, ROWS, us

from softmax_lib import recorded


def test_last_rung_is_near_a_copy():
    """fusion takes less than a tenth longer than a copy of the same matrix."""
    timing = recorded.times(ROWS, COLS)["fusion"]
    assert timing.median_us < 1.1 * timing.copy_us


def test_online_is_slower_on_short_rows():
    """On rows of 512 columns online is slower than naive."""
    assert us("online", 512) > 1.1 * us("naive", 512)


def test_stride_gains_most():
    """A stride that the compiler knows takes a third off, a reciprocal and fewer barriers a twentieth at most."""
    ladder = ["textbook", "textbook_reciprocal", "shuffle", "constant_stride", "float4_scalar"]
    times = [us(name) for name in ladder]
    reciprocal, barriers, stride, more = (1 - after / before for before, after in pairwise(times))
    assert max(abs(reciprocal), abs(barriers)) < 0.05
    assert stride == pytest.approx(1 / 3, abs=0.04)
    assert more < stride - 0.05
