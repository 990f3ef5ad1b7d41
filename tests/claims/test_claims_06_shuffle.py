"""What chapter 6 claims, as relations that the book's record has to bear out."""

import math

import pytest
from recorded_facts import MATRIX_BYTES, counted, us

from softmax_lib import recorded
from softmax_lib.bench.plan import WORKLOG

FULL, NOT_FULL = (256, 512, 1024), (192, 384, 768)
"""Block sizes that leave no place on a multiprocessor empty, and those that leave a quarter."""


def shuffle_us(sizes):
    """Times of shuffle at these block sizes."""
    return [us("shuffle", block_size=size) for size in sizes]


@pytest.mark.parametrize("name", ["shared", "shuffle"])
def test_no_sector_wasted(name):
    """The sectors that L1 is asked for are those of two reads and a write, and no other."""
    counters = counted(name).counters
    assert 32 * counters["global_load_sectors"] == 2 * MATRIX_BYTES
    assert 32 * counters["global_store_sectors"] == MATRIX_BYTES


@pytest.mark.parametrize("name", ["shared", "shuffle"])
def test_far_from_its_bytes(name):
    """The time is more than 1.5 times what three trips would take at the speed of a copy."""
    assert us(name) > 1.5 * 1.5 * recorded.times(*WORKLOG)[name].copy_us


@pytest.mark.parametrize("name", ["shared", "shuffle"])
def test_warps_wait_for_memory(name):
    """Warps wait for memory most of their time, and hardly at barriers."""
    stalls = counted(name).stalls
    assert stalls["long_scoreboard"] > 0.6
    assert stalls["barrier"] < 0.1


def test_barriers_were_few():
    """The warps of shuffle wait at barriers less than those of shared."""
    assert counted("shuffle").stalls["barrier"] < counted("shared").stalls["barrier"]


def test_short_rows_gain():
    """The shuffle pays on rows of 512 floats."""
    assert us("shared", 512) / us("shuffle", 512) > 1.2


def test_long_rows_hardly_gain():
    """The shuffle changes next to nothing on long rows."""
    assert us("shared", 32768) / us("shuffle", 32768) < 1.05
    assert us("shared", 131072) / us("shuffle", 131072) == pytest.approx(1, abs=0.02)


def test_worklog_gained_more():
    """The shuffle gained more on the worklog's GPU than here."""
    ms = recorded.cited.ms
    assert ms["shared"] / ms["shuffle"] > 1.1 * us("shared") / us("shuffle")


def test_empty_places_cost_time():
    """Blocks that leave a quarter of the places empty take a fifth longer, all three alike."""
    slow = shuffle_us(NOT_FULL)
    assert max(slow) < 1.05 * min(slow)
    assert sum(slow) / sum(shuffle_us(FULL)) == pytest.approx(1.2, abs=0.05)


def test_full_places_tie():
    """Up to 256 threads per block more of them help, and from there on hardly."""
    below, full = shuffle_us((32, 64, 96, 128, 192, 256)), shuffle_us(FULL)
    assert below == sorted(below, reverse=True)
    assert max(full) < 1.05 * min(full)


def test_the_counters_saw_57():
    """Warps on a multiprocessor by ncu's count, where 1024 blocks of 1024 threads would make 62 on average."""
    assert counted("shuffle").warps_per_multiprocessor == pytest.approx(57, abs=0.5)
    rounds = math.ceil(1024 / (2 * recorded.multiprocessors))
    assert round(1024 * 1024 / rounds / recorded.multiprocessors / 32) == 62
