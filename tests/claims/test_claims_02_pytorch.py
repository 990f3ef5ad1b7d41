"""What chapter 2 claims, as relations that the book's record has to bear out."""

import pytest
from recorded_facts import COLS, MATRIX_BYTES, ROWS, counted, latency

from softmax_lib import recorded
from softmax_lib.records.cited import FLOAT32_PEAKS

FLOP_PER_ELEMENT = 5


def copies(name, cols=COLS):
    """Time of a softmax as a multiple of a copy's."""
    timing = recorded.times(ROWS, cols)[name]
    return timing.median_us / timing.copy_us


def ridge():
    """The FLOP per byte at which slope and roof meet."""
    copied = recorded.times(ROWS, COLS)["torch"].copy_gb_per_s
    return FLOAT32_PEAKS["nvidia-h200"].flops / 1e9 / copied


def test_unfused_keeps_memory_busy():
    """unfused is within a tenth of the slope, by the bytes that reached DRAM."""
    moved = counted("unfused").counters
    dram = moved["dram_read_bytes"] + moved["dram_write_bytes"]
    timing = recorded.times(ROWS, COLS)["unfused"]
    assert dram / timing.median_us / 1e3 > 0.9 * timing.copy_gb_per_s


def test_ridge_is_between_10_and_20():
    """Slope and roof meet there: far from softmax, and from a product of 1000 rows."""
    assert 10 < ridge() < 20 < 1000 / 6 / 5


def test_caches_move_points():
    """Caches answer some of the second reads: less reaches DRAM than shuffle asks for."""
    counters = counted("shuffle").counters
    assert counters["dram_read_bytes"] < 0.9 * 2 * MATRIX_BYTES


def test_levels_get_slower():
    """A load from L1 is faster than one from L2, and that is faster than one from DRAM."""
    l1, l2, dram = (latency(kib) for kib in (64, 4096, 262144))
    assert 4 * l1 < l2 < 0.6 * dram


def test_torch_by_length():
    """torch takes more than two copies at 8192 and 131072 columns, about one and a half at 16384."""
    assert min(copies("torch", 8192), copies("torch", 131072)) > 2.02
    assert copies("torch", 16384) == pytest.approx(1.5, rel=0.06)
    shown = (512, 1024, 4096, 16384, 32768)
    assert max(copies("torch", cols) for cols in shown) < 0.9 * copies("torch", 8192)


def test_torch_is_no_copy():
    """torch takes more than one and a half times as long as a copy."""
    assert copies("torch") > 1.55


def test_ridge_is_far():
    """Slope and roof meet at more than ten times the FLOP per byte of the least bfloat16 softmax."""
    assert ridge() > 10 * FLOP_PER_ELEMENT / 4


def test_instructions_outnumber_flop():
    """fusion executes more than twice as many instructions as the FLOP that the book counts."""
    assert counted("fusion").instructions_per_element > 2 * FLOP_PER_ELEMENT


def test_bfloat16_halves_some_times():
    """Half the bytes take QuACK and Liger half the time, and torch as long as before."""
    full, half = (recorded.times(8192, 4096, dtype) for dtype in ("float32", "bfloat16"))
    ratio = {
        name: half[name].median_us / full[name].median_us for name in ("torch", "quack", "liger")
    }
    assert ratio["torch"] == pytest.approx(1, abs=0.02)
    assert max(ratio["quack"], ratio["liger"]) < 0.55
