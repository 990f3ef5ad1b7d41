"""What the results page claims, as relations that the book's record has to bear out."""

from softmax_lib import recorded
from softmax_lib.bench.plan import WORKLOG
from softmax_lib.records.measurement import PEERS


def test_fusion_beats_the_peers():
    """fusion is ahead of every peer on the worklog's matrix."""
    times = recorded.times(*WORKLOG)
    there = [times[name] for name in PEERS if name in times]
    assert len(there) >= 5
    assert times["fusion"].median_us < min(timing.median_us for timing in there)


def test_fusion_is_near_the_copy():
    """fusion takes less than 8 % longer than a copy of the worklog's matrix."""
    timing = recorded.times(*WORKLOG)["fusion"]
    assert timing.median_us < 1.08 * timing.copy_us
