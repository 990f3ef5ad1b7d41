"""What chapter 4 claims, as relations that the book's record has to bear out."""

import pytest
from recorded_facts import ROWS, counted, step_us, us


@pytest.mark.parametrize("block_size", [256, 512, 1024])
def test_many_warps_gain_as_probed(block_size):
    """With many warps on a multiprocessor online gains over naive what the probe predicts."""
    gain = us("naive", block_size=block_size) / us("online", block_size=block_size)
    assert gain == pytest.approx((3 * 32 + 64) / (2 * 32 + 64), rel=0.05)


def test_online_passes_add_up():
    """The two passes of online, each in a launch of its own, take together what online takes."""
    assert sum(step_us("online_passes", number) for number in range(2)) == pytest.approx(
        us("online"), rel=0.03
    )


def test_write_is_longest():
    """The write is the longest of naive's passes."""
    maximum, total, write = (step_us("naive_passes", number) for number in range(3))
    assert write > max(maximum, total)


def test_fused_pass_costs_almost_two():
    """The pass for maximum and sum together costs almost as much as the two that it replaces."""
    apart = step_us("naive_passes", 0) + step_us("naive_passes", 1)
    assert 0.8 < step_us("online_passes", 0) / apart < 1


def test_online_executes_more():
    """online executes more instructions for each element than naive."""
    online, naive = (counted(name).instructions_per_element for name in ("online", "naive"))
    assert online > 1.2 * naive


@pytest.mark.parametrize("cols", [1024, 4096, 8192])
def test_online_loses_on_cached_rows(cols):
    """online is slower than naive on rows that naive finds in a cache after its first pass."""
    assert us("online", cols) > us("naive", cols)


def test_short_rows_are_read_once():
    """naive reads rows of 2048 columns from memory once."""
    assert counted("naive", 2048).counters["dram_read_bytes"] == pytest.approx(
        4 * ROWS * 2048, rel=0.02
    )
