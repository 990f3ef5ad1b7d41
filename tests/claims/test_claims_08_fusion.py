"""What chapter 8 claims, as relations that the book's record has to bear out."""

import numpy as np
import pytest
from recorded_facts import COLS, MATRIX_BYTES, ROWS, counted, step_us, us

from softmax_lib import recorded
from softmax_lib.bench.plan import WAVES, WORKLOG
from softmax_lib.machine.inspection import inspect
from softmax_lib.machine.reads import in_flight_per_thread, reads
from softmax_lib.records.measurement import TIE
from softmax_lib.records.phases import phases
from softmax_lib.registry import kernels

LEAST = 2 * MATRIX_BYTES
"""Bytes of one read and one write of the worklog's matrix."""


def times_a_fusion(name):
    """A control's time over that of fusion."""
    return us(f"fusion_{name}") / us("fusion")


def copy_us():
    """A copy of the worklog's matrix."""
    return recorded.times(*WORKLOG)["fusion"].copy_us


def moved_at_dram(name):
    """Bytes that DRAM read and wrote for a kernel, at least one read and one write as the roofline has it."""
    counters = counted(name).counters
    return max(LEAST, counters["dram_read_bytes"] + counters["dram_write_bytes"])


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


def test_second_read_comes_from_caches():
    """float4 reads rows of 32768 from DRAM once, the second read two fifths from L1; 131072 twice."""
    assert 2 * counted("float4").l1_hit_share == pytest.approx(0.4, abs=0.07)
    assert counted("float4").counters["dram_read_bytes"] == pytest.approx(MATRIX_BYTES, rel=0.05)
    longer = recorded.profile("float4", ROWS, 4 * COLS).counters["dram_read_bytes"]
    assert longer == pytest.approx(2 * 4 * MATRIX_BYTES, rel=0.05)


def test_two_shares():
    """A share of the roof counts DRAM's bytes: those of one trip for float4, a quarter more for shuffle."""
    assert moved_at_dram("float4") < 1.05 * LEAST
    assert moved_at_dram("shuffle") == pytest.approx(1.25 * LEAST, rel=0.08)


def test_float4_beats_its_requests():
    """float4 takes less time than three trips, which it asks for, would take at the speed of a copy."""
    assert us("float4") < 0.9 * 1.5 * copy_us()


def test_launches_take_their_bytes():
    """Each launch of unfused takes what its bytes take, half a copy or a copy; in sequence a tenth more."""
    shares = [step_us("unfused", number) / copy_us() for number in range(4)]
    assert shares == [pytest.approx(share, rel=0.1) for share in (0.5, 1, 0.5, 1)]
    assert us("unfused") / (3 * copy_us()) == pytest.approx(1.1, abs=0.03)


def test_fusing_saves_two_thirds():
    """Fusing the launches of unfused saves two thirds of its time."""
    assert 1 - us("fusion") / us("unfused") == pytest.approx(2 / 3, abs=0.03)


def test_second_read_costs_most():
    """Of the parts of fusion, reading the row again costs most: about an eighth of its time."""
    reads_twice = times_a_fusion("reads_twice")
    assert reads_twice == pytest.approx(1 + 1 / 8, abs=0.025)
    others = ("two_barriers", "expf", "general")
    assert reads_twice > max(times_a_fusion(name) for name in others)


def test_reading_twice_is_float4():
    """A fusion that reads its row twice ties with float4."""
    assert 1 / TIE < us("fusion_reads_twice") / us("float4") < TIE


def test_second_read_hardly_reaches_dram():
    """DRAM reads two per cent more for a fusion that reads its row twice."""
    read = [counted(n).counters["dram_read_bytes"] for n in ("fusion", "fusion_reads_twice")]
    assert 1 < read[1] / read[0] < 1.035


def test_a_third_is_waiting_in_turn():
    """Asking for the second read all at once saves a third of what reading twice costs."""
    fusion, apart, twice = map(us, ("fusion", "fusion_reads_twice_apart", "fusion_reads_twice"))
    assert (twice - apart) / (twice - fusion) == pytest.approx(1 / 3, abs=0.09)


def test_second_barrier():
    """A second barrier costs three per cent."""
    assert times_a_fusion("two_barriers") == pytest.approx(1.03, abs=0.01)


def test_checks_cost_little():
    """Checks at a row's ends, and the longer exponential, cost two per cent at most."""
    assert 0.99 < times_a_fusion("general") < 1.025
    assert 0.99 < times_a_fusion("expf") < 1.025


def test_no_barrier_would_gain():
    """Without its barrier fusion, which would be wrong, is three per cent faster."""
    assert times_a_fusion("no_barrier") == pytest.approx(0.97, abs=0.01)


def test_rows_cost_the_same():
    """For each further row fusion, with one barrier or two, takes the time of a copy."""
    slopes = [slope for slope, _ in lines().values()]
    assert max(slopes) < 1.02 * min(slopes)


def test_a_launch_costs_some_us():
    """fusion takes some µs longer than a copy once per launch, most of all; more with a second barrier."""
    beside = {name: intercept for name, (_, intercept) in lines().items()}
    assert beside["copy"] + 3 < beside["fusion"] < beside["fusion_two_barriers"] - 1
    once = beside["fusion"] - beside["copy"]
    assert once > (us("fusion") - copy_us()) / 2


def test_one_more_row_is_free():
    """One row in a wave of its own takes no longer."""
    whole, more = (
        recorded.select(provider="fusion", rows=rows, cols=COLS)[0].median_us
        for rows in (1056, 1057)
    )
    assert more == pytest.approx(whole, rel=0.01)


def test_block_sizes_hardly_differ():
    """fusion's times at 256, 512 and 1024 threads differ by four per cent at most."""
    times = [us("fusion", block_size=size) for size in (256, 512, 1024)]
    assert max(times) < 1.045 * min(times)


@pytest.mark.parametrize("block_size", [256, 512, 1024])
def test_most_of_the_row_is_in_flight(block_size):
    """A block of fusion asks for more than half of a row before it waits, and has the registers alone."""
    found = reads(kernels["fusion"], block_size, COLS, 90)
    assert block_size * in_flight_per_thread(found) > 4 * COLS / 2
    (code,) = inspect(kernels["fusion"].program(block_size, COLS), block_size, [90])
    assert (code.blocks_a_multiprocessor, code.limit) == (1, "registers")


def test_a_quarter_keeps_memory_busy():
    """32 KiB in flight on a multiprocessor, a quarter of a row, are enough."""
    found = recorded.probed("read bandwidth")
    there = [p.found["gb_per_s"] for p in found if p.at["bytes"] == 32 * 1024]
    assert max(there) > 0.96 * max(probe.found["gb_per_s"] for probe in found)


def test_the_climb():
    """naive takes more than a hundred times as long as fusion."""
    assert us("naive") > 100 * us("fusion")


def test_steps_of_the_climb():
    """The largest step is to a block per row, then loads that leave together, and last one read."""
    to_blocks = us("naive") / us("shared")
    in_flight = us("shuffle") / us("constant_stride")
    read_once = us("float4") / us("fusion")
    assert to_blocks > 10 * in_flight
    assert in_flight > 1.2 * read_once > 1.2


def moved():
    """TB/s read and written in each microsecond, by kernel."""
    return {
        name: (np.array(one.read_bytes) / 1e6, np.array(one.written_bytes) / 1e6)
        for name, one in phases().items()
    }


def test_all_read_then_all_write():
    read, written = moved()["fusion"]
    assert written[:6].max() < 0.1 < 3 < read[3:7].max()
    assert read[7:10].max() < 0.1 < 4 < written[8:10].min()


def test_they_drift_apart():
    read, written = moved()["fusion"]
    assert min(read[30:60].min(), written[30:60].min()) > 1
    copied = moved()["copy"]
    assert all(one[1:60].min() > 1 for one in copied)


def test_the_start_is_lost():
    """Microseconds of steady traffic that are missing in the first 20, beyond those of a copy."""
    lost, took = {}, {}
    for name, (read, written) in moved().items():
        total = read + written
        steady = np.median(total[25:60])
        lost[name] = (steady - total[:20]).sum() / steady
        took[name] = len(total)
    assert lost["fusion"] - lost["copy"] >= 0.5 * (took["fusion"] - took["copy"])
    assert all(one.noted_us < 1.05 * one.plain_us for one in phases().values())
