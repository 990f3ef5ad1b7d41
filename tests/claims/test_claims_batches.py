"""What the page on where rows start claims, as relations that the book's record has to bear out."""

import pytest
from recorded_facts import COLS, counted, latency, us

from softmax_lib.registry import kernels

ANYWHERE = (32769, 32770, 32772)
"""Columns with which rows start at other places than the start of a sector."""


def pass_us(number, cols=COLS):
    """Microseconds of one of naive's three passes in a launch of its own."""
    return us("naive_passes", cols, step=kernels["naive_passes"].steps[number].entry)


def test_memory_is_far():
    """A load that L1 has takes less than a tenth of one from DRAM."""
    assert 10 * latency(64) < latency(262144)


def test_division_slows_naive():
    """A division per element makes naive take a tenth longer."""
    assert us("naive_divide") / us("naive") == pytest.approx(1.1, abs=0.04)


def test_naive_passes_add_up():
    """The three passes of naive, each in a launch of its own, take together what naive takes."""
    assert sum(pass_us(number) for number in range(3)) == pytest.approx(us("naive"), rel=0.03)


def test_anywhere_slows_batches_of_four():
    """One column more: the sum takes a third longer, the write a quarter, naive a fifth, max none."""
    longer = [pass_us(number, 32769) / pass_us(number) for number in range(3)]
    assert longer[0] < 1
    assert longer[1:] == [pytest.approx(4 / 3, abs=0.05), pytest.approx(5 / 4, abs=0.05)]
    assert us("naive", 32769) / us("naive") == pytest.approx(6 / 5, abs=0.03)


def test_anywhere_adds_waits():
    """Nearly all of the time that one column more takes is waiting for loads, by the profiler."""
    short, long_ = (counted("naive", cols) for cols in (32768, 32769))
    waited = [p.counters["duration_ns"] * p.stalls["long_scoreboard"] for p in (short, long_)]
    taken = [profile.counters["duration_ns"] for profile in (short, long_)]
    assert waited[1] - waited[0] > 0.9 * (taken[1] - taken[0])


def test_anywhere_is_alike():
    """Where every batch of four has a new sector, its passes take the same time to within 3 %."""
    for number in (1, 2):
        taken = [pass_us(number, cols) for cols in ANYWHERE]
        assert max(taken) < 1.03 * min(taken)


def test_sector_starts_are_faster():
    """Rows that start at a sector and not at a line take naive a tenth less than those at a line."""
    assert us("naive", 32776) / us("naive") == pytest.approx(0.9, abs=0.03)


def test_lines_at_once_slow_the_maximum():
    """The more lanes begin a cache line in one request, the longer the first pass takes."""
    taken = [pass_us(0, cols) for cols in (32769, 32770, 32772, 32776, COLS)]  # 1, 2, 4, 8, 32
    one, two, four, eight, all_lanes = taken
    assert max(one, two, four) < 1.03 * min(one, two, four)
    assert 1.05 * four < eight < 0.9 * all_lanes
    assert one == pytest.approx(0.75 * all_lanes, rel=0.05)


def test_power_of_two_is_no_cause():
    """Rows of 32800, which start at a line as well, take every pass as long as rows of 32768."""
    for number in range(3):
        assert pass_us(number, 32800) == pytest.approx(pass_us(number), rel=0.02)


def test_anywhere_moves_no_more_bytes():
    """On rows that start anywhere L1 has as many of the sectors, and memory is read as often."""
    aligned, anywhere = counted("naive"), counted("naive", 32769)
    assert anywhere.l1_hit_share == pytest.approx(aligned.l1_hit_share, abs=0.001)
    assert anywhere.counters["dram_read_bytes"] == pytest.approx(
        aligned.counters["dram_read_bytes"], rel=0.01
    )
