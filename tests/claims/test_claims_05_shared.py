"""What chapter 5 claims, as relations that the book's record has to bear out."""

import itertools
import math

import pytest
from recorded_facts import (
    COLS,
    MATRIX_BYTES,
    ROWS,
    counted,
    curve,
    over_curve,
    scattered_cycles,
    us,
)

from softmax_lib import recorded
from softmax_lib.bench.plan import WORKLOG
from softmax_lib.machine.reads import reads
from softmax_lib.records.measurement import TIE
from softmax_lib.registry import kernels


def l1_us():
    """Microseconds that L1 takes for what chunked asks, by the cycles that a probe found."""
    load, store = scattered_cycles()
    requests = ROWS * COLS / 32 / recorded.multiprocessors  # of each pass, on each multiprocessor
    return requests * (2 * load + store) / recorded.clock_mhz


def dram_bytes(name):
    """Bytes that DRAM read and wrote for a kernel."""
    counters = counted(name).counters
    return counters["dram_read_bytes"] + counters["dram_write_bytes"]


def test_far_from_a_copy():
    """online takes more than a hundred times as long as a copy."""
    assert us("online") > 100 * recorded.times(*WORKLOG)["online"].copy_us


def test_lone_warp_waits():
    """A multiprocessor has one warp of online, which waits for memory most of its time."""
    online = counted("online")
    assert online.warps_per_multiprocessor == pytest.approx(1, abs=0.02)
    assert online.stalls["long_scoreboard"] > 0.5


@pytest.mark.parametrize("name", ["chunked", "shared"])
def test_two_blocks(name):
    """A multiprocessor holds two blocks of 1024 threads, nearly sixty warps on average."""
    assert 55 < counted(name).warps_per_multiprocessor < 64


def test_shared_gains():
    """shared is more than thirty times as fast as online."""
    assert us("online") > 30 * us("shared", block_size=1024)


def test_warps_gain_ten():
    """From online to chunked, which has warps enough, the time falls to less than a tenth."""
    assert us("online") > 10 * us("chunked")


def test_addresses_gain_four():
    """From chunked to shared, whose lanes are neighbours, it falls to less than a quarter."""
    assert us("chunked") > 4 * us("shared", block_size=1024)


def test_chunks_are_as_scattered():
    """On the worklog's matrix chunked touches as many sectors as online."""
    chunked, online = (counted(name).counters for name in ("chunked", "online"))
    for way in ("load", "store"):
        assert chunked[f"global_{way}_sectors"] == online[f"global_{way}_sectors"]


def test_shared_is_two_copies():
    """shared takes more than twice as long as a copy."""
    assert us("shared") > 2 * recorded.times(*WORKLOG)["shared"].copy_us


def test_lines_take_most():
    """What L1 takes for the lines of chunked is seven tenths of its time, and most of the gap."""
    gap = us("chunked") - us("shared", block_size=1024)
    assert l1_us() / us("chunked") == pytest.approx(0.7, abs=0.05)
    assert l1_us() > 0.5 * gap


def test_queue_is_full():
    """What warps of chunked wait for above all is room in the queue for loads and stores."""
    assert next(iter(counted("chunked").stalls)) == "lg_throttle"


def test_bytes_take_little():
    """A copy would move the extra bytes of DRAM in less than a tenth of the time of chunked."""
    extra = dram_bytes("chunked") - dram_bytes("shared")
    gb_per_s = recorded.times(*WORKLOG)["chunked"].copy_gb_per_s
    assert 0 < extra / gb_per_s / 1e3 < 0.1 * us("chunked")


def test_chunks_lose_lines():
    """Chunks lose lines from L1 before they are used, and move more bytes of DRAM than shared."""
    chunked, shared = counted("chunked"), counted("shared")
    assert chunked.l1_hit_share < 0.82  # seven of eight would be 0.875
    for name in ("dram_read_bytes", "dram_write_bytes"):
        assert chunked.counters[name] > 1.3 * shared.counters[name]


@pytest.mark.parametrize("arch", [75, 80, 90])
def test_chunks_ask_for_more(arch):
    """A thread of chunked has four loads of 4 bytes on their way, one of shared a single one."""
    for name, loads in (("chunked", 4), ("shared", 1)):
        found = reads(kernels[name], 1024, COLS, arch)
        assert [(read.loads, read.asked_bytes) for read in found] == 2 * [(loads, 4 * loads)]


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
    """Both trees that fold neighbours first are slower than that of shared, by more than a tie."""
    for name in ("neighbours_first", "neighbours_compacted"):
        assert us(name) > TIE * us("shared", block_size=1024)


def test_flat_from_256():
    """From 256 threads per block on shared takes the same time, within three per cent."""
    times = [us("shared", block_size=size) for size in (256, 512, 1024)]
    assert max(times) < 1.03 * min(times)


def test_small_blocks_wait():
    """Up to 256 threads shared gets faster with each doubling, to less than a fifth of the time."""
    times = [us("shared", block_size=size) for size in (32, 64, 128, 256)]
    assert all(after < 0.7 * before for before, after in itertools.pairwise(times))
    assert 1 / 6 < times[-1] / times[0] < 1 / 5


def test_small_blocks_follow_the_curve():
    """With 32 threads, eight blocks of a load each, shared is as near to the curve as with 1024."""
    blocks = math.ceil(ROWS / recorded.multiprocessors)
    read = 2 * MATRIX_BYTES / us("shared", block_size=32) / 1e3
    assert read / curve(blocks * 32 * 4) == pytest.approx(over_curve("shared", 1024), abs=0.1)
