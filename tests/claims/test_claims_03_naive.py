"""What chapter 3 claims, as relations that the book's record has to bear out."""

import itertools

import pytest
from recorded_facts import COLS, MATRIX_BYTES, ROWS, counted, latency, scattered_cycles, us

from softmax_lib import recorded
from softmax_lib.registry import kernels
from softmax_lib.xrays.prediction import SECTOR_BYTES, predict_traffic

ANYWHERE = (32769, 32770, 32772)
"""Columns with which rows start at other places than the start of a sector."""


def pass_us(number, cols=COLS):
    """Microseconds of one of naive's three passes in a launch of its own."""
    return us("naive_passes", cols, step=kernels["naive_passes"].steps[number].entry)


# --- where the time does not go -----------------------------------------------------------------


def test_bytes_take_little_time():
    """naive takes about seventy times as long as two copies, which move as many bytes."""
    (timing,) = recorded.select(provider="naive", rows=ROWS, cols=COLS, block_size=32)
    assert timing.median_us / (2 * timing.copy_us) == pytest.approx(70, rel=0.07)


def test_ledger_holds():
    """At L1 ncu counts the sectors that are predicted: 32 bytes for each of four accesses."""
    counters = counted("naive").counters
    sectors = counters["global_load_sectors"] + counters["global_store_sectors"]
    expected = predict_traffic(kernels["naive"], ROWS, COLS, 32).sector_bytes
    assert SECTOR_BYTES * sectors == expected == 4 * 32 * ROWS * COLS


def test_sectors_come_once_per_pass():
    """Memory is read three times the matrix, and seven of eight sectors that loads want are in L1."""
    naive = counted("naive")
    assert naive.counters["dram_read_bytes"] == pytest.approx(3 * MATRIX_BYTES, rel=0.01)
    assert naive.l1_hit_share == pytest.approx(7 / 8, abs=0.001)


# --- waits and cycles ---------------------------------------------------------------------------


def test_lone_warp_waits():
    """At 32 threads per block a multiprocessor has one warp, which mostly waits for loads."""
    naive = counted("naive")
    assert naive.warps_per_multiprocessor == pytest.approx(1, rel=0.01)
    assert naive.stalls["long_scoreboard"] > 0.8


def test_best_block_is_one_warp():
    """naive is fastest with 32 threads per block: 32 blocks of a warp each."""
    assert recorded.times(ROWS, COLS)["naive"].case.block_size == 32


def test_warps_hide_waits():
    """Up to 192 threads per block each larger block spends fewer cycles per request."""
    spent = [us("naive", block_size=size) / size for size in (32, 64, 96, 128, 192)]
    assert all(more > 1.05 * fewer for more, fewer in itertools.pairwise(spent))


def test_request_cycles():
    """L1 takes a cycle for each line of a load, and two for each of a store, of 32 lines."""
    assert scattered_cycles() == [pytest.approx(32, rel=0.01), pytest.approx(64, rel=0.01)]


def test_lines_take_cycles():
    """L1 takes a cycle for each line of a load, from two lines up."""
    for lines in (2, 4, 8, 16, 32):
        (load,) = recorded.probed("scattered request", lines=lines, stores=0)
        assert load.found["cycles"] == pytest.approx(lines, rel=0.01)


@pytest.mark.parametrize("block_size", [192, 256, 384, 512, 768, 1024])
def test_naive_takes_the_probes_cycles(block_size):
    """With many warps on a multiprocessor naive takes about the cycles that the probe predicts."""
    warps = block_size // 32  # on the fullest multiprocessor
    cycles = us("naive", block_size=block_size) * recorded.clock_mhz / (warps * 4 * COLS)
    assert cycles == pytest.approx((3 * 32 + 64) / 4, rel=0.1)


def test_twice_the_block_twice_the_time():
    """From 256 threads per block on, twice the block takes twice the time, and before that less."""
    ratio = {size: us("naive", block_size=2 * size) / us("naive", block_size=size)
             for size in (32, 64, 128, 256, 512)}  # fmt: skip
    assert ratio[256] == pytest.approx(2, rel=0.05)
    assert ratio[512] == pytest.approx(2, rel=0.05)
    assert max(ratio[32], ratio[64], ratio[128]) < 1.7


def test_many_rows_reach_a_tenth():
    """32768 rows of 256 take ten copies, and the fullest L1 about the probe's cycles per request."""
    timing = recorded.times(32768, 256)["naive"]
    assert timing.copy_us / timing.median_us == pytest.approx(0.1, rel=0.15)
    blocks = -(-32768 // timing.case.block_size)
    fullest = -(-blocks // recorded.multiprocessors) * timing.case.block_size // 32
    cycles = timing.median_us * recorded.clock_mhz / (fullest * 4 * 256)
    assert cycles == pytest.approx((3 * 32 + 64) / 4, rel=0.25)


# --- passes, and rows that start anywhere -------------------------------------------------------


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


def test_loads_take_the_probes_cycles():
    """With many warps three loads and a store of naive, less online's two and one, are a probed load."""
    load, store = scattered_cycles()
    for size in (384, 512, 768, 1024):
        naive, online = (
            us(name, block_size=size) * recorded.clock_mhz / (size / 32 * COLS)
            for name in ("naive", "online")
        )
        assert naive - online == pytest.approx(load, rel=0.03)
        assert naive - 3 * load < 0.9 * store


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
