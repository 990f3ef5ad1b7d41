"""What chapter 5 claims, as relations that the book's record has to bear out."""

import pytest
from recorded_facts import counted, us


def test_chunks_lose_lines():
    """Chunks lose lines from L1 before they are used, and move more bytes of DRAM than shared."""
    chunked, shared = counted("chunked"), counted("shared")
    assert chunked.l1_hit_share < 0.82  # seven of eight would be 0.875
    for name in ("dram_read_bytes", "dram_write_bytes"):
        assert chunked.counters[name] > 1.3 * shared.counters[name]


def test_idle_lanes_take_requests():
    """A tree that folds neighbours first, on every second thread, makes four times the requests."""
    shared, first = (counted(name).counters for name in ("shared", "neighbours_first"))
    requests, wavefronts = "shared_load_requests", "shared_load_wavefronts"
    assert first[requests] == pytest.approx(4 * shared[requests], rel=0.02)
    assert first[wavefronts] == pytest.approx(first[requests], rel=0.03)


def test_bank_conflicts_take_wavefronts():
    """A tree that folds neighbours first, on the first threads, takes four times the wavefronts."""
    shared, compacted = (counted(name).counters for name in ("shared", "neighbours_compacted"))
    requests, wavefronts = "shared_load_requests", "shared_load_wavefronts"
    assert compacted[requests] == shared[requests]
    assert compacted[wavefronts] == pytest.approx(4 * shared[wavefronts], rel=0.03)


def test_other_trees_are_slower():
    """Queues at banks make a tree slower, and idle lanes slower still."""
    assert us("shared") < us("neighbours_compacted") < us("neighbours_first")
