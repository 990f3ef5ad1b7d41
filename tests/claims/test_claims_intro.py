"""What the first page claims, as relations that the book's record has to bear out."""

from recorded_facts import COLS, ROWS, us

from softmax_lib import recorded


def test_last_rung_is_near_a_copy():
    """fusion takes less than a tenth longer than a copy of the same matrix."""
    timing = recorded.times(ROWS, COLS)["fusion"]
    assert timing.median_us < 1.1 * timing.copy_us


def test_online_is_slower_on_short_rows():
    """On rows of 512 columns online is slower than naive."""
    assert us("online", 512) > 1.1 * us("naive", 512)
