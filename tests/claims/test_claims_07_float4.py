"""What chapter 7 claims, as relations that the book's record has to bear out."""

import itertools

import pytest
from recorded_facts import COLS, MATRIX_BYTES, counted, us

from softmax_lib import recorded
from softmax_lib.registry import kernels, rungs


def best_gb_per_s(width, size):
    """The most that a probe read, by loads of `width` bytes with `size` bytes in flight."""
    probes = recorded.probed("read bandwidth", width=width, bytes=size)
    return max(probe.found["gb_per_s"] for probe in probes)


def slowed_by(name, data):
    """How many times as long a kernel takes on such data as on normal ones."""
    size = kernels[name].choose_block_size(COLS)
    plain, other = (us(name, block_size=size, data=of) for of in ("normal", data))
    return other / plain


def test_three_latencies():
    """L1, L2 and DRAM answer after about 40, 285 and 660 cycles."""
    cycles = [recorded.probed("latency", kib=kib)[0].found["cycles"] for kib in (16, 4096, 262144)]
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


def test_bytes_in_flight_give_bandwidth():
    """Bandwidth grows with the bytes in flight."""
    assert best_gb_per_s(4, 65536) > 5 * best_gb_per_s(4, 2048)


def test_stride_gains_most():
    """The gain is the stride's, then that of more loads, then that of their width."""
    ladder = [
        "textbook",
        "textbook_reciprocal",
        "shuffle",
        "constant_stride",
        "float4_scalar",
        "float4",
    ]
    times = [us(name) for name in ladder]
    reciprocal, barriers, stride, more, width = (a / b for a, b in itertools.pairwise(times))
    assert 1 < reciprocal < 1.05
    assert barriers == pytest.approx(1, abs=0.02)
    assert stride > 1.4
    assert 1.1 < more < stride
    assert 1.02 < width < more


def test_division_costs_in_flight():
    """A division costs more once loads are in flight than while warps wait."""
    waiting = us("textbook") / us("textbook_reciprocal")
    flying = us("constant_stride_divide") / us("constant_stride")
    assert flying > 1.15 > 1.05 > waiting


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


def test_one_block_reads_once():
    """float4 reads its row from memory once while one block fills a multiprocessor; two do not."""
    alone, two = counted("float4"), counted("float4_one")
    assert alone.warps_per_multiprocessor < 32.5 < 50 < two.warps_per_multiprocessor
    assert alone.counters["dram_read_bytes"] == pytest.approx(MATRIX_BYTES, rel=0.02)
    assert two.counters["dram_read_bytes"] > 1.5 * MATRIX_BYTES
