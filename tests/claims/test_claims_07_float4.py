"""What chapter 7 claims, as relations that the book's record has to bear out."""

import itertools

import pytest
from recorded_facts import (
    COLS,
    MATRIX_BYTES,
    ROWS,
    best_gb_per_s,
    counted,
    curve,
    latency,
    over_curve,
    us,
)

from softmax_lib import recorded
from softmax_lib.figures.in_flight import kernel_in_flight
from softmax_lib.machine.inspection import inspect
from softmax_lib.machine.reads import reads
from softmax_lib.registry import kernels, rungs


def in_loops(name, arch):
    """Loads that leave before the first is needed, their bytes and calls, of each loop of a kernel."""
    found = reads(kernels[name], 1024, COLS, arch)
    return [(read.loads, read.asked_bytes, read.calls) for read in found if read.in_loop]


def slowed_by(name, data):
    """How many times as long a kernel takes on such data as on normal ones."""
    size = kernels[name].choose_block_size(COLS)
    plain, other = (us(name, block_size=size, data=of) for of in ("normal", data))
    return other / plain


def test_three_latencies():
    """L1, L2 and DRAM answer after about 40, 285 and 660 cycles."""
    cycles = [latency(kib) for kib in (16, 4096, 262144)]
    assert cycles == [
        pytest.approx(40, abs=2),
        pytest.approx(285, abs=15),
        pytest.approx(660, abs=30),
    ]


@pytest.mark.parametrize("kib", [1, 2, 4, 8, 16, 32, 64])
def test_width_hardly_matters(kib):
    """With the same bytes in flight, loads of 4 and of 16 bytes are a tenth apart at most."""
    size = 1024 * kib
    assert best_gb_per_s(4, size) == pytest.approx(best_gb_per_s(16, size), rel=0.1)


@pytest.mark.parametrize("width", [4, 16])
@pytest.mark.parametrize("kib", [1, 2, 4])
def test_law_holds_at_first(width, kib):
    """Bytes in flight over the latency of idle memory are the bandwidth, within a fifth, to 4 KiB."""
    (idle,) = recorded.probed("latency", kib=262144)
    law = recorded.multiprocessors * 1024 * kib / idle.found["ns"]
    assert best_gb_per_s(width, 1024 * kib) == pytest.approx(law, rel=0.2)


@pytest.mark.parametrize("width", [4, 16])
def test_memory_is_full(width):
    """From 4 to 32 KiB in flight bandwidth lags behind the law, and beyond it grows hardly at all."""
    assert best_gb_per_s(width, 32768) < 0.5 * 8 * best_gb_per_s(width, 4096)
    assert best_gb_per_s(width, 65536) < 1.06 * best_gb_per_s(width, 32768)


@pytest.mark.parametrize("width", [4, 16])
def test_half_then_nearly_all(width):
    """Of the bandwidth with 64 KiB in flight 8 KiB get about half, and 32 KiB more than nine tenths."""
    most = best_gb_per_s(width, 65536)
    assert best_gb_per_s(width, 8192) / most == pytest.approx(0.5, abs=0.05)
    assert 0.9 < best_gb_per_s(width, 32768) / most < 1


@pytest.mark.parametrize("arch", [75, 80, 90])
def test_stride_unrolls(arch):
    """A stride that is a constant lets four loads leave in place of one, and saves instructions."""
    assert in_loops("shuffle", arch) == 2 * [(1, 4, 0)]
    assert in_loops("constant_stride", arch) == 2 * [(4, 16, 0)]
    constant, plain = (counted(name) for name in ("constant_stride", "shuffle"))
    assert constant.instructions_per_element < plain.instructions_per_element


def test_slots_were_free():
    """shuffle uses half of the slots in which an instruction could be issued."""
    assert counted("shuffle").issue_share == pytest.approx(0.5, abs=0.05)


def test_room_for_one_block():
    """Registers leave room for one block of 1024 threads of float4, for three of 512, two of shuffle."""
    for name, size, blocks in (("float4", 1024, 1), ("float4", 512, 3), ("shuffle", 1024, 2)):
        (code,) = inspect(kernels[name].program(size, COLS), size, [90])
        assert code.blocks_a_multiprocessor == blocks
        assert (code.limit == "registers") == (name == "float4")
    assert counted("float4").warps_per_multiprocessor < 32.5
    assert counted("shuffle").warps_per_multiprocessor > 50


def test_float4_gains():
    """float4 takes half the time of shuffle: near to what the curve says, and less than a copy's trips."""
    found = recorded.times(ROWS, COLS)["float4"]
    gain = us("shuffle") / us("float4")
    assert gain == pytest.approx(2, rel=0.05)
    assert best_gb_per_s(4, 65536) / best_gb_per_s(4, 8192) == pytest.approx(2, rel=0.05)
    assert us("shuffle") / (1.5 * found.copy_us) < 0.85 * gain


@pytest.mark.parametrize("name", ["naive", "online", "shared", "shuffle", "constant_stride"])
def test_marks_near_curve(name):
    """These read what the curve has for their bytes in flight, less a fifth to two fifths."""
    assert 0.6 < over_curve(name) < 0.82


def test_float4_has_a_cache():
    """float4 reads a quarter less than the curve has, two fifths less where DRAM serves it twice."""
    assert over_curve("float4", 1024) == pytest.approx(0.75, abs=0.05)
    assert over_curve("float4", 512) == pytest.approx(0.6, abs=0.05)


def test_fusion_below_curve():
    """fusion reads less than half of what its bytes in flight could bring, and so does a copy."""
    assert over_curve("fusion") < 0.5
    copy_reads = recorded.times(ROWS, COLS)["fusion"].copy_gb_per_s / 2
    assert copy_reads < 0.5 * curve(32768)


def test_law_takes_off_as_much():
    """From shuffle to constant_stride the law takes about as much off the loads' time as was saved."""
    law_us = []
    for name in ("shuffle", "constant_stride"):
        flying, gb_per_s = kernel_in_flight(recorded(), counted(name))
        law_us.append(2 * MATRIX_BYTES / curve(flying) / 1e3)
        assert gb_per_s < curve(flying)
    saved_us = us("shuffle") - us("constant_stride")
    assert law_us[0] - law_us[1] == pytest.approx(saved_us, rel=0.25)


def test_cache_is_the_bar():
    """What float4 loses with two reads from DRAM is what its loads, correction and block gained."""
    lost = us("float4", block_size=512) - us("float4", block_size=1024)
    assert lost == pytest.approx(us("constant_stride") - us("float4_scalar"), rel=0.15)


def test_float4_gains_less_on_long_rows():
    """On rows of 131072 floats float4 is 1.6 times as fast as shuffle."""
    assert us("shuffle", 131072) / us("float4", 131072) == pytest.approx(1.6, abs=0.05)


def test_stride_gains_most():
    """A reciprocal and fewer barriers are worth less than a twentieth each, the stride a third."""
    ladder = ["textbook", "textbook_reciprocal", "shuffle", "constant_stride", "float4_scalar"]
    times = [us(name) for name in ladder]
    reciprocal, barriers, stride, more = (1 - b / a for a, b in itertools.pairwise(times))
    assert abs(reciprocal) < 0.05
    assert abs(barriers) < 0.05
    assert stride == pytest.approx(1 / 3, abs=0.04)
    assert more < stride - 0.05


def test_one_vector_gains_little():
    """One load of 16 bytes in place of four of 4 makes a thread of two blocks a tenth faster at most."""
    assert in_loops("float4_one", 90) == 2 * [(1, 16, 0)]
    assert counted("float4_one").warps_per_multiprocessor > 50
    assert 1 < us("constant_stride") / us("float4_one") < 1.1


def test_width_gains_little():
    """Loads of 16 bytes in place of four of 4 are worth a twentieth, and save instructions."""
    assert us("float4_scalar") / us("float4") == pytest.approx(1.05, abs=0.02)
    scalar, wide = (counted(name) for name in ("float4_scalar", "float4"))
    assert scalar.instructions_per_element > wide.instructions_per_element


def test_shares_of_the_gain():
    """Of what shuffle takes longer than float4 the stride is seven tenths, and the width a little."""
    shuffle, stride, scalar, wide = map(
        us, ("shuffle", "constant_stride", "float4_scalar", "float4")
    )
    assert (shuffle - stride) / (shuffle - wide) == pytest.approx(0.7, abs=0.05)
    assert (scalar - wide) / (shuffle - wide) < 0.1


def test_one_block_gains():
    """With blocks of 512 threads float4 takes a quarter longer than with blocks of 1024."""
    assert us("float4", block_size=512) / us("float4", block_size=1024) == pytest.approx(
        1.25, abs=0.06
    )


def test_one_block_reads_once():
    """float4 reads its matrix from DRAM once while one block is on each multiprocessor."""
    alone = recorded.profile("float4", ROWS, COLS, 1024)
    assert 25 < alone.warps_per_multiprocessor < 32.5
    assert alone.counters["dram_read_bytes"] == pytest.approx(MATRIX_BYTES, rel=0.02)


def test_small_blocks_read_twice():
    """Three blocks of 512 threads on each are more warps, and DRAM reads nearly twice the matrix."""
    small = recorded.profile("float4", ROWS, COLS, 512)
    assert 2 < small.warps_per_multiprocessor / 16 < 3
    assert small.warps_per_multiprocessor > 1.3 * counted("float4").warps_per_multiprocessor
    assert small.counters["dram_read_bytes"] > 1.8 * MATRIX_BYTES


def test_small_blocks_gain_little():
    """With blocks of 512 threads float4 is hardly faster than a constant stride alone."""
    assert 0.95 < us("float4", block_size=512) / us("constant_stride") < 1


def test_long_rows_read_twice():
    """float4 reads rows of 131072 floats from DRAM about twice."""
    found = counted("float4", 131072).counters["dram_read_bytes"]
    assert found > 1.8 * 4 * ROWS * 131072


def test_shuffle_needs_threads():
    """With 32 threads per block shuffle takes more than five times as long as at its best."""
    assert us("shuffle", block_size=32) > 5 * us("shuffle")


def test_few_threads_do():
    """64 to 512 threads of float4 are an eighth apart at most, and 32 are faster than any shuffle."""
    times = [us("float4", block_size=size) for size in (64, 96, 128, 192, 256, 384, 512)]
    assert max(times) < 9 / 8 * min(times)
    assert us("float4", block_size=32) < us("shuffle")


def test_division_costs_in_flight():
    """A division costs little while warps wait, and a fifth once loads are in flight."""
    assert us("textbook") / us("textbook_reciprocal") < 1.05
    assert us("constant_stride_divide") / us("constant_stride") == pytest.approx(1.2, abs=0.03)


@pytest.mark.parametrize("arch", [75, 80, 90])
def test_division_stops_loads(arch):
    """With a division in the loop that writes, and its call, one load leaves at a time."""
    assert in_loops("constant_stride_divide", arch) == [(4, 16, 0), (1, 4, 1)]


@pytest.mark.parametrize("data", ["spread", "masked"])
def test_data_move_no_rung(data):
    """Scores that are spread out or masked change the time of no rung."""
    for kernel in rungs():
        assert slowed_by(kernel.name, data) == pytest.approx(1, rel=0.04), kernel.name


@pytest.mark.parametrize("data", ["spread", "masked"])
@pytest.mark.parametrize("name", ["naive_divide", "textbook", "shuffle_divide"])
def test_data_move_a_division(name, data):
    """Scores that are spread out or masked slow a kernel that divides per element."""
    assert slowed_by(name, data) > 1.15
