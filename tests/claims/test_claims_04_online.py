"""What chapter 4 claims, as relations that the book's record has to bear out."""

import pytest
from recorded_facts import COLS, ROWS, counted, us

from softmax_lib import recorded
from softmax_lib.machine.reads import reads
from softmax_lib.registry import kernels

ANYWHERE = (32769, 32770, 32772)
"""Columns with which rows start at other places than the start of a sector."""


def alone(name, number, cols=COLS):
    """Microseconds of one of a kernel's passes in a launch of its own."""
    passes = f"{name}_passes"
    return us(passes, cols, step=kernels[passes].steps[number].entry)


def two_passes(cols=COLS):
    """naive's maximum and sum, each alone."""
    return alone("naive", 0, cols) + alone("naive", 1, cols)


def sectors(name):
    """Those that loads and stores ask L1 for."""
    counters = counted(name).counters
    return counters["global_load_sectors"] + counters["global_store_sectors"]


@pytest.mark.parametrize("block_size", [256, 512, 1024])
def test_many_warps_gain_as_probed(block_size):
    """With many warps on a multiprocessor online gains over naive what the probe predicts."""
    gain = us("naive", block_size=block_size) / us("online", block_size=block_size)
    assert gain == pytest.approx((3 * 32 + 64) / (2 * 32 + 64), rel=0.05)


def test_online_moves_fewer_bytes():
    """online touches a quarter fewer sectors at L1, and a third fewer bytes are read from memory."""
    assert sectors("online") == 3 / 4 * sectors("naive")
    online, naive = (counted(name).counters["dram_read_bytes"] for name in ("online", "naive"))
    assert online == pytest.approx(2 / 3 * naive, rel=0.02)


# --- rows of 32768 ------------------------------------------------------------------------------


@pytest.mark.parametrize("cols", [COLS, 131072])
def test_long_rows_gain_a_twentieth(cols):
    """On long rows that start at a line online takes a twentieth less than naive."""
    assert us("naive", cols) / us("online", cols) == pytest.approx(1.05, abs=0.02)


def test_online_passes_add_up():
    """The two passes of online, each in a launch of its own, take together what online takes."""
    assert alone("online", 0) + alone("online", 1) == pytest.approx(us("online"), rel=0.03)


def test_write_is_longest():
    """The write is the longest of naive's passes, and takes as long in online."""
    assert alone("naive", 2) > 1.02 * max(alone("naive", 0), alone("naive", 1))
    assert alone("online", 1) == pytest.approx(alone("naive", 2), rel=0.02)


def batches(name):
    """Loads that leave together in each loop of a kernel, by its machine code."""
    found = reads(kernels[name], 32, COLS, 90)
    return [read.loads for read in sorted(found, key=lambda read: read.lines)]


def test_maximum_is_cheapest():
    """The maximum is the shortest of naive's passes by far, and alone has 16 loads on their way."""
    assert alone("naive", 0) < 0.6 * min(alone("naive", 1), alone("naive", 2))
    assert batches("naive") == [16, 4, 4]


def test_fused_pass_costs_almost_two():
    """The pass for maximum and sum together takes nine tenths of the two that it replaces."""
    assert alone("online", 0) / two_passes() == pytest.approx(0.9, abs=0.03)


def test_fused_pass_costs_more_than_the_sum():
    """The fused pass takes two fifths longer than the sum's, and saves a third of what the maximum's took."""
    assert alone("online", 0) / alone("naive", 1) == pytest.approx(1.4, abs=0.02)
    assert two_passes() - alone("online", 0) < 0.35 * alone("naive", 0)


def test_online_executes_more():
    """online executes more instructions for each element than naive, and asks for 4 floats at a time."""
    online, naive = (counted(name).instructions_per_element for name in ("online", "naive"))
    assert online > 1.2 * naive
    assert batches("online") == [4, 4]


def test_online_waits_for_results():
    """Warps of online wait less for memory than those of naive, and more for their own results."""
    online, naive = (counted(name).stalls for name in ("online", "naive"))
    assert online["long_scoreboard"] < 0.9 * naive["long_scoreboard"]
    assert online["wait"] > 2 * naive["wait"]


# --- rows that start anywhere -------------------------------------------------------------------


@pytest.mark.parametrize("cols", ANYWHERE)
def test_fused_pass_loses_anywhere(cols):
    """On rows that start anywhere the fused pass takes longer than the two that it replaces."""
    assert alone("online", 0, cols) > 1.02 * two_passes(cols)


def test_anywhere_gains_nothing():
    """With 32769 columns online is no faster than naive, with 32772 it is a little slower."""
    assert us("online", 32769) > 0.99 * us("naive", 32769)
    assert 1.02 < us("online", 32772) / us("naive", 32772) < 1.06


# --- short rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cols", [512, 1024, 2048, 4096, 8192])
def test_online_loses_on_short_rows(cols):
    """On rows of up to 8192 floats online is slower than naive."""
    assert us("online", cols) > 1.05 * us("naive", cols)


def test_fused_pass_saves_on_short_rows():
    """With 8192 columns too, of passes alone, the fused one takes nine tenths of the two."""
    assert alone("online", 0, 8192) / two_passes(8192) == pytest.approx(0.9, abs=0.03)


def test_l2_answers_later_passes():
    """With 8192 columns naive reads the matrix from memory about one and a half times."""
    read = counted("naive", 8192).counters["dram_read_bytes"] / (4 * ROWS * 8192)
    assert read == pytest.approx(1.5, abs=0.15)


def test_sum_is_cheap_from_l2():
    """Within naive the sum takes two thirds of its time alone, and less than online adds to a pass."""
    write = us("online", 8192) - alone("online", 0, 8192)
    total = us("naive", 8192) - alone("naive", 0, 8192) - write
    assert total / alone("naive", 1, 8192) == pytest.approx(2 / 3, abs=0.05)
    assert total < alone("online", 0, 8192) - alone("naive", 0, 8192)


def test_online_reads_no_less_on_short_rows():
    """With 8192 columns online reads no less of the matrix from memory than naive."""
    online, naive = (
        counted(name, 8192).counters["dram_read_bytes"] for name in ("online", "naive")
    )
    assert online > 0.98 * naive


def test_both_together():
    """On 128 rows of 50257, which fit into L2 and start anywhere, online takes a third longer."""
    times = recorded.times(128, 50257)
    assert recorded.l2_bytes > 4 * 128 * 50257
    assert times["online"].median_us / times["naive"].median_us == pytest.approx(4 / 3, abs=0.07)


def test_lone_warp_waits():
    """At 32 threads per block a multiprocessor has one warp, which mostly waits for loads."""
    naive = counted("naive")
    assert naive.warps_per_multiprocessor == pytest.approx(1, rel=0.01)
    assert naive.stalls["long_scoreboard"] > 0.8


def test_bytes_take_little_time():
    """naive takes about seventy times as long as two copies, which move as many bytes."""
    (timing,) = recorded.select(provider="naive", rows=ROWS, cols=COLS, block_size=32)
    assert timing.median_us / (2 * timing.copy_us) == pytest.approx(70, rel=0.07)


def test_twice_the_block_twice_the_time():
    """From 256 threads per block on, twice the block takes twice the time, and before that less."""
    ratio = {size: us("naive", block_size=2 * size) / us("naive", block_size=size)
             for size in (32, 64, 128, 256, 512)}  # fmt: skip
    assert ratio[256] == pytest.approx(2, rel=0.05)
    assert ratio[512] == pytest.approx(2, rel=0.05)
    assert max(ratio[32], ratio[64], ratio[128]) < 1.7
