"""What chapter 3 claims, as relations that the book's record has to bear out."""

import pytest
from recorded_facts import COLS, scattered_cycles, step_us, us

from softmax_lib import recorded


def test_request_cycles():
    """L1 takes a cycle for each line of a load, and two for each of a store, of 32 lines."""
    assert scattered_cycles() == [pytest.approx(32, rel=0.01), pytest.approx(64, rel=0.01)]


@pytest.mark.parametrize("block_size", [256, 512, 1024])
def test_naive_takes_the_probes_cycles(block_size):
    """With many warps on a multiprocessor naive takes about the cycles that the probe predicts."""
    warps = block_size // 32  # on the fullest multiprocessor
    cycles = us("naive", block_size=block_size) * recorded.clock_mhz / (warps * 4 * COLS)
    assert cycles == pytest.approx((3 * 32 + 64) / 4, rel=0.1)


def test_naive_passes_add_up():
    """The three passes of naive, each in a launch of its own, take together what naive takes."""
    assert sum(step_us("naive_passes", number) for number in range(3)) == pytest.approx(
        us("naive"), rel=0.03
    )


def test_row_length_moves_naive():
    """Rows of one column more make naive slower, and rows of eight more make it faster."""
    assert us("naive", 32769) > 1.15 * us("naive")
    assert us("naive", 32776) < 0.95 * us("naive")


def test_division_slows_naive():
    """A division per element costs naive more than a tenth of its time."""
    assert us("naive_divide") > 1.1 * us("naive")
