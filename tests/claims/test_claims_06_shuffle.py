"""What chapter 6 claims, as relations that the book's record has to bear out."""

import pytest
from recorded_facts import counted, us


@pytest.mark.parametrize("name", ["shared", "shuffle"])
def test_warps_wait_for_memory(name):
    """Warps wait for memory most of their time, and hardly at barriers."""
    stalls = counted(name).stalls
    assert stalls["long_scoreboard"] > 0.6
    assert stalls["barrier"] < 0.1


def test_short_rows_gain():
    """The shuffle pays on rows of 512 floats."""
    assert us("shared", 512) / us("shuffle", 512) > 1.2


def test_long_rows_hardly_gain():
    """The shuffle changes next to nothing on long rows."""
    assert us("shared", 32768) / us("shuffle", 32768) < 1.05
    assert us("shared", 131072) / us("shuffle", 131072) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("block_size", [384, 768])
def test_empty_places_cost_time(block_size):
    """Blocks that leave places on a multiprocessor empty do worse than their neighbours."""
    neighbours = [us("shuffle", block_size=size) for size in (256, 512, 1024)]
    assert us("shuffle", block_size=block_size) > 1.1 * max(neighbours)
