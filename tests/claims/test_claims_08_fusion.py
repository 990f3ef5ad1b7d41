"""What chapter 8 claims, as relations that the book's record has to bear out."""

import numpy as np
import pytest
from recorded_facts import COLS, step_us, us

from softmax_lib import recorded
from softmax_lib.bench.plan import WAVES, WORKLOG


def times_a_fusion(name):
    """A control's time over that of fusion."""
    return us(f"fusion_{name}") / us("fusion")


def line(times_us):
    """Slope and intercept through times on 8 and more rows for each multiprocessor."""
    waves = [wave for wave in WAVES if wave >= 8]
    return np.polyfit(waves, [times_us[wave] for wave in waves], 1)


def lines():
    """The lines of fusion, of fusion with two barriers, and of a copy, by name."""
    found = {}
    for name in ("fusion", "fusion_two_barriers"):
        of = {w: recorded.select(provider=name, rows=132 * w, cols=COLS)[0] for w in WAVES}
        found[name] = line({wave: timing.median_us for wave, timing in of.items()})
        found["copy"] = line({wave: timing.copy_us for wave, timing in of.items()})
    return found


def test_launches_take_their_bytes():
    """Each launch of unfused takes about what its bytes take: half a copy or a copy."""
    copy_us = recorded.times(*WORKLOG)["unfused"].copy_us
    shares = [step_us("unfused", number) / copy_us for number in range(4)]
    assert shares == [pytest.approx(share, rel=0.15) for share in (0.5, 1, 0.5, 1)]
    assert us("unfused") == pytest.approx(3 * copy_us, rel=0.12)


def test_fusing_saves_two_thirds():
    """Fusing the launches of unfused saves two thirds of its time."""
    assert 1 - us("fusion") / us("unfused") == pytest.approx(2 / 3, abs=0.03)


def test_second_read_costs_most():
    """Of the parts of fusion, reading the row again costs most, and a second barrier little."""
    reads_twice, two_barriers = times_a_fusion("reads_twice"), times_a_fusion("two_barriers")
    assert 1 < two_barriers < 1.05 < 1.08 < reads_twice


def test_checks_cost_less():
    """Checks at a row's ends, and the longer exponential, cost less than a second barrier."""
    two_barriers = times_a_fusion("two_barriers")
    assert 1 < times_a_fusion("general") < two_barriers
    assert 1 < times_a_fusion("expf") < two_barriers


def test_no_barrier_would_gain():
    """Without its barrier fusion, which would be wrong, is faster."""
    assert times_a_fusion("no_barrier") < 1


def test_rows_cost_the_same():
    """For each further row fusion, with one barrier or two, takes the time of a copy."""
    slopes = [slope for slope, _ in lines().values()]
    assert max(slopes) < 1.02 * min(slopes)


def test_a_launch_costs_some_us():
    """fusion takes some µs longer than a copy once per launch, and more with a second barrier."""
    beside = {name: intercept for name, (_, intercept) in lines().items()}
    assert beside["copy"] + 3 < beside["fusion"] < beside["fusion_two_barriers"] - 1


def test_one_more_row_is_free():
    """One row in a wave of its own takes no longer."""
    whole, more = (
        recorded.select(provider="fusion", rows=rows, cols=COLS)[0].median_us
        for rows in (1056, 1057)
    )
    assert more == pytest.approx(whole, rel=0.01)
