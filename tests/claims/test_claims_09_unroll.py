"""What chapter 9 claims, as relations that the kept run of the suite has to bear out."""

import pytest
from recorded_facts import COLS

from softmax_lib import recorded, unroll_times
from softmax_lib.machine.inspection import inspect
from softmax_lib.machine.reads import reads, row_reads
from softmax_lib.records.measurement import TIE
from softmax_lib.records.unrolls import UnrollTime
from softmax_lib.registry import kernels

CHOICES = (1, 2, 4, 8)
VECTOR = 16
LONGEST = 131072


def every(**wanted) -> list[UnrollTime]:
    """All settings of the chapter's kernel on one matrix, the worklog's unless told."""
    return unroll_times(**{"kernel": "unroll", "rows": 1024, **wanted})


def one(unroll, in_flight, block_size=1024, **wanted) -> UnrollTime:
    """The one at this setting."""
    (found,) = every(unroll=unroll, in_flight=in_flight, block_size=block_size, **wanted)
    return found


def test_float4_is_a_fifth_behind():
    best = every()[0]
    assert 1.15 < best.others["float4"] / best.copy_us < 1.25


def test_asked_together_leave_together():
    for found in (*every(), *every(rows=128)):
        if found.in_flight > 1 or found.unroll == 1:
            assert found.asked_bytes == VECTOR * found.in_flight


def test_written_out_two_leave():
    for unroll in CHOICES[1:]:
        for found in every(unroll=unroll, in_flight=1):
            assert 2 <= found.asked_bytes / VECTOR < 2.5


def test_more_leave_on_a_t4():
    """Of eight turns written out, six to eight vectors leave together where sm_75 is compiled for."""
    kernel = kernels["unroll"].setting(UNROLL=8, IN_FLIGHT=1)
    found = row_reads(reads(kernel, kernel.choose_block_size(COLS), COLS, 75))
    assert [read.loads for read in found] == [6, 8]


def test_asking_gains_a_fifth():
    for unroll in CHOICES:
        assert 0.78 < one(unroll, 8).us / one(unroll, 1).us < 0.88
    assert one(1, 8).us / one(1, 1).us == pytest.approx(0.8, abs=0.01)


def row(in_flight):
    """The times of a row of the map of 1024 threads."""
    return [one(unroll, in_flight).us for unroll in CHOICES]


def test_unrolling_gains_a_twentieth():
    for in_flight in (1, 2, 8):
        assert max(row(in_flight)) / min(row(in_flight)) < 1.06


def test_unrolling_gains_a_tenth_once():
    assert 0.87 < one(2, 4).us / one(1, 4).us < 0.91


def test_registers_keep_a_block_out():
    before, after = one(1, 4), one(2, 4)
    assert before.asked_bytes == after.asked_bytes
    assert (before.registers, before.blocks) == (32, 2)
    assert (after.registers, after.blocks) == (44, 1)


def test_full_loses_the_gain():
    free, full = one(2, 4), one(2, 4, kernel="unroll_full")
    assert full.asked_bytes == free.asked_bytes
    assert (full.registers, full.spill_bytes, full.blocks) == (32, 0, 2)
    assert abs(full.us / one(1, 4).us - 1) < TIE


def test_one_row_each_ends_the_gain():
    """Of 128 rows no multiprocessor has two: what takes off a tenth of 1024 rows takes off nothing."""
    for cols in (COLS, LONGEST):
        before, after = (one(unroll, 4, rows=128, cols=cols) for unroll in (1, 2))
        assert abs(after.us / before.us - 1) < TIE


def test_float4_has_one_block():
    """float4 is level with four vectors and one block, and has one block by its registers."""
    (code,) = inspect(kernels["float4"].program(1024, COLS), 1024, [90])
    assert (code.registers, code.blocks_a_multiprocessor) == (40, 1)
    for unroll in (2, 4, 8):
        found = one(unroll, 4)
        assert found.blocks == 1
        assert abs(found.us / found.others["float4"] - 1) < TIE


def test_unrolling_gains_where_it_sends_loads():
    """With 64 threads: a quarter with one vector, and nothing with more."""
    few = {(u, f): one(u, f, block_size=64) for u in CHOICES for f in CHOICES}
    for unroll in CHOICES[1:]:
        assert few[unroll, 1].asked_bytes == 2 * few[1, 1].asked_bytes
        assert 0.75 < few[unroll, 1].us / few[1, 1].us < 0.8
        assert min(few[unroll, f].us / few[1, f].us for f in CHOICES[1:]) > 1 / TIE


def test_dram_reads_twice():
    one_block, more = (recorded.profile("float4", 1024, COLS, size) for size in (1024, 512))
    ratio = more.counters["dram_read_bytes"] / one_block.counters["dram_read_bytes"]
    assert 1.8 < ratio < 2


def test_rows_at_once_sort_the_map():
    by_blocks = {
        blocks: [found.us for found in every() if min(found.blocks, 3) == blocks]
        for blocks in (1, 2, 3)
    }
    assert max(by_blocks[1]) < min(by_blocks[2]) <= max(by_blocks[2]) < min(by_blocks[3])


def test_less_than_a_tenth_between_equals():
    for blocks in (1, 2):
        times = [found.us for found in every(block_size=1024, blocks=blocks)]
        assert len(times) > 4
        assert max(times) / min(times) < 1.08


def test_few_threads_gain_a_third():
    assert 0.63 < one(1, 8, 64).us / one(1, 1, 64).us < 0.69


def test_one_at_a_time_costs_a_third():
    together, serial = one(1, 8), one(1, 8, kernel="unroll_one_after_another")
    assert serial.asked_bytes == VECTOR
    assert serial.blocks == together.blocks
    assert 1.34 < serial.us / together.us < 1.42
    assert serial.instructions / together.instructions < 7 / 6


def test_correcting_each_holds_loads_back():
    found = one(1, 8, kernel="unroll_correct_each")
    assert 4 < found.asked_bytes / VECTOR < 5
    serial = one(1, 8, kernel="unroll_one_after_another")
    assert one(1, 8).us < found.us < serial.us


def test_spills_cost_up_to_three_times():
    over = []
    for unroll in CHOICES:
        for size in (256, 1024):
            full = one(unroll, 8, size, kernel="unroll_full")
            assert full.registers == 32
            assert full.spill_bytes > 500
            over.append(full.us / one(unroll, 8, size).us)
    assert min(over) > 1.8
    assert 3 < max(over) < 3.4
    chapter = [found.us for found in unroll_times(rows=1024)]
    assert max(chapter) == max(found.us for found in unroll_times(kernel="unroll_full"))


def asked_a_multiprocessor(found):
    """Bytes, of one row on each."""
    return found.asked_bytes * found.block_size


def test_bytes_asked_decide():
    found = every(rows=128, cols=LONGEST, unroll=1)
    by_size = [
        min(one.us for one in found if asked_a_multiprocessor(one) == 2**power)
        for power in range(11, 18)
    ]
    assert by_size == sorted(by_size, reverse=True)
    assert by_size[0] / by_size[4] > 4
    assert by_size[4] / by_size[-1] < 1.06


def test_more_threads_are_ahead():
    few, many = (one(1, *at, rows=128, cols=LONGEST) for at in ((4, 128), (1, 512)))
    assert asked_a_multiprocessor(few) == asked_a_multiprocessor(many)
    assert 0.68 < many.us / few.us < 0.75
    for loads, threads in ((2, 256), (4, 512), (8, 512)):
        fewer = one(1, loads, threads // 2, rows=128, cols=LONGEST)
        more = one(1, loads // 2, threads, rows=128, cols=LONGEST)
        assert more.us < fewer.us


def test_threads_do_what_loads_do():
    few, many = (every(rows=128, cols=LONGEST, block_size=size) for size in (128, 1024))
    assert few[-1].us / few[0].us > 3
    assert (few[-1].unroll, few[-1].in_flight) == (1, 1)
    assert 1.13 < many[-1].us / many[0].us < 1.19


def test_unrolled_stand_no_lower():
    found = every(rows=128, cols=LONGEST)
    for plain in (one for one in found if one.unroll == 1):
        same = [one.us for one in found if one.unroll > 1
                and (one.asked_bytes, one.block_size) == (plain.asked_bytes, plain.block_size)]  # fmt: skip
        assert not same or min(same) > 0.95 * plain.us


def test_two_turns_equal_two_loads():
    for size in (128, 256, 512, 1024):
        turns = one(2, 1, size, rows=128, cols=LONGEST)
        loads = one(1, 2, size, rows=128, cols=LONGEST)
        assert abs(turns.us / loads.us - 1) < 0.05


def test_short_rows_want_one_turn():
    for cols in (2048, 4096, 8192):
        found = every(rows=128, cols=cols)
        in_one_turn = [one for one in found if 4 * one.block_size * one.in_flight == cols]
        assert min(one.us for one in in_one_turn) <= found[0].us * (1 + TIE)
        most = one(1, 8, rows=128, cols=2048)
        assert most.us > 1.3 * every(rows=128, cols=2048)[0].us


def test_one_turn_hardly_knows_unroll():
    """Where the block asks for its row in one turn, 1 and 2 turns written out take as long, within 4 %."""
    for cols in (2048, 4096, 8192):
        us = {(o.block_size, o.in_flight, o.unroll): o.us for o in every(rows=128, cols=cols)}
        found = {size for size, flight, _ in us if 4 * size * flight == cols}
        assert len(found) >= 3
        for size in found:
            flight = cols // 4 // size
            assert us[size, flight, 1] == pytest.approx(us[size, flight, 2], rel=0.04)


@pytest.mark.parametrize("cols", [16384, 32768])
def test_four_turns_are_level_with_two_vectors(cols):
    turns, vectors = one(4, 1, rows=128, cols=cols), one(1, 2, rows=128, cols=cols)
    assert turns.asked_bytes == vectors.asked_bytes
    assert turns.us == pytest.approx(vectors.us, rel=TIE)


def test_a_known_stride_is_unrolled():
    loads = [
        {read.loads for read in row_reads(reads(kernels[name], 1024, COLS, 90))}
        for name in ("shuffle", "constant_stride")
    ]
    assert loads == [{1}, {4}]


def test_best_beats_float4_by_a_twentieth():
    best = every()[0]
    assert 1.03 < best.others["float4"] / best.us < 1.07
    assert (best.block_size, best.in_flight) == (1024, 8)


def test_fusion_is_ahead():
    best = every()[0]
    assert best.us / best.others["fusion"] > 1.05
