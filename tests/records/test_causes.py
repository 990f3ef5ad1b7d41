"""Each cause that a chapter names, as a relation that the book's record has to bear out.

A relation that no longer follows, after another recording, is a sentence of the chapter to be changed.
"""

import itertools

import numpy as np
import pytest

from softmax_lib import recorded
from softmax_lib.bench.plan import WAVES, WORKLOG
from softmax_lib.records.measurement import PEERS
from softmax_lib.registry import kernels, rungs

ROWS, COLS = WORKLOG
MATRIX_BYTES = 4 * ROWS * COLS


def us(name, cols=COLS, **where):
    """Microseconds at the best block size, or at the one asked for."""
    found = recorded.select(
        provider=name, rows=ROWS, cols=cols, l2="cold", dtype="float32", **where
    )
    return min(timing.median_us for timing in found)


def counted(name, cols=COLS):
    return recorded.profile(name, ROWS, cols)


def step_us(name, number):
    return us(name, step=kernels[name].steps[number].entry)


# --- 02: bytes are a limit, and no forecast ---------------------------------------------------


def test_half_the_bytes_take_half_the_time_of_some_and_no_less_of_others():
    full, half = (recorded.times(8192, 4096, dtype) for dtype in ("float32", "bfloat16"))
    ratio = {
        name: half[name].median_us / full[name].median_us for name in ("torch", "quack", "liger")
    }
    assert ratio["torch"] > 0.95
    assert max(ratio["quack"], ratio["liger"]) < 0.55


# --- 03 and 04: a scattered request, and the passes -------------------------------------------


def test_l1_takes_a_cycle_for_each_line_of_a_load_and_two_of_a_store_of_32():
    load, store = (p.found["cycles"] for p in recorded.probed("scattered request", lines=32))
    assert (load, store) == (pytest.approx(32, rel=0.01), pytest.approx(64, rel=0.01))


@pytest.mark.parametrize("block_size", [256, 512, 1024])
def test_with_many_warps_naive_takes_about_the_cycles_that_the_probe_predicts(block_size):
    warps = block_size // 32  # on the fullest multiprocessor
    cycles = us("naive", block_size=block_size) * recorded.clock_mhz / (warps * 4 * COLS)
    assert cycles == pytest.approx((3 * 32 + 64) / 4, rel=0.1)


@pytest.mark.parametrize("block_size", [256, 512, 1024])
def test_with_many_warps_online_gains_what_the_probe_predicts(block_size):
    gain = us("naive", block_size=block_size) / us("online", block_size=block_size)
    assert gain == pytest.approx((3 * 32 + 64) / (2 * 32 + 64), rel=0.05)


def test_the_passes_of_naive_and_online_add_up_and_the_write_is_the_longest():
    naive = [step_us("naive_passes", number) for number in range(3)]
    online = [step_us("online_passes", number) for number in range(2)]
    assert sum(naive) == pytest.approx(us("naive"), rel=0.03)
    assert sum(online) == pytest.approx(us("online"), rel=0.03)
    assert max(naive) == naive[2]
    assert 0.8 < online[0] / (naive[0] + naive[1]) < 1
    assert (
        counted("online").instructions_per_element > 1.2 * counted("naive").instructions_per_element
    )


@pytest.mark.parametrize("cols", [1024, 4096, 8192])
def test_online_loses_on_rows_that_naive_finds_in_a_cache(cols):
    assert us("online", cols) > us("naive", cols)


def test_naive_reads_its_short_rows_from_memory_once():
    assert counted("naive", 2048).counters["dram_read_bytes"] == pytest.approx(
        4 * ROWS * 2048, rel=0.02
    )


def test_the_length_of_a_row_and_a_division_move_the_time_of_naive():
    assert us("naive", 32769) > 1.15 * us("naive")
    assert us("naive", 32776) < 0.95 * us("naive")
    assert us("naive_divide") > 1.1 * us("naive")


# --- 05: addresses and trees ------------------------------------------------------------------


def test_chunks_lose_lines_before_they_are_used():
    chunked, shared = counted("chunked"), counted("shared")
    assert chunked.l1_hit_share < 0.82  # seven of eight would be 0.875
    for name in ("dram_read_bytes", "dram_write_bytes"):
        assert chunked.counters[name] > 1.3 * shared.counters[name]


def test_a_tree_that_folds_neighbours_first_runs_idle_lanes_or_queues_at_banks():
    shared, first, compacted = (
        counted(name).counters for name in ("shared", "neighbours_first", "neighbours_compacted")
    )
    requests, wavefronts = "shared_load_requests", "shared_load_wavefronts"
    assert first[requests] == pytest.approx(4 * shared[requests], rel=0.02)
    assert first[wavefronts] == pytest.approx(first[requests], rel=0.03)
    assert compacted[requests] == shared[requests]
    assert compacted[wavefronts] == pytest.approx(4 * shared[wavefronts], rel=0.03)
    assert us("shared") < us("neighbours_compacted") < us("neighbours_first")


# --- 06: barriers -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["shared", "shuffle"])
def test_warps_wait_for_memory_and_hardly_at_barriers(name):
    stalls = counted(name).stalls
    assert stalls["long_scoreboard"] > 0.6
    assert stalls["barrier"] < 0.1


def test_the_shuffle_pays_on_short_rows_and_not_on_long_ones():
    gain = {cols: us("shared", cols) / us("shuffle", cols) for cols in (512, 32768, 131072)}
    assert gain[512] > 1.2
    assert gain[32768] < 1.05
    assert gain[131072] == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("block_size", [384, 768])
def test_blocks_that_leave_places_empty_do_worse_than_their_neighbours(block_size):
    neighbours = [us("shuffle", block_size=size) for size in (256, 512, 1024)]
    assert us("shuffle", block_size=block_size) > 1.1 * max(neighbours)


# --- 07: bytes in flight ----------------------------------------------------------------------


def test_latencies_are_those_of_three_levels():
    cycles = [recorded.probed("latency", kib=kib)[0].found["cycles"] for kib in (16, 4096, 262144)]
    assert cycles == [
        pytest.approx(40, abs=2),
        pytest.approx(285, abs=15),
        pytest.approx(660, abs=30),
    ]


def test_bandwidth_follows_the_bytes_in_flight_and_not_the_width_of_a_load():
    def best(width, size):
        return max(
            p.found["gb_per_s"] for p in recorded.probed("read bandwidth", width=width, bytes=size)
        )

    for kib in (1, 2, 4, 8, 16, 32, 64):
        assert best(4, 1024 * kib) == pytest.approx(best(16, 1024 * kib), rel=0.1)
    assert best(4, 65536) > 5 * best(4, 2048)


def test_the_gain_of_chapter_7_is_the_strides_then_that_of_more_loads_then_that_of_their_width():
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


def test_a_division_costs_more_once_loads_are_in_flight():
    waiting = us("textbook") / us("textbook_reciprocal")
    flying = us("constant_stride_divide") / us("constant_stride")
    assert flying > 1.15 > 1.05 > waiting


@pytest.mark.parametrize("data", ["spread", "masked"])
def test_data_move_the_time_of_a_division_and_of_no_rung(data):
    for kernel in rungs():
        size = kernel.choose_block_size(COLS)
        plain, other = (us(kernel.name, block_size=size, data=of) for of in ("normal", data))
        assert other == pytest.approx(plain, rel=0.04), kernel.name
    for name in ("naive_divide", "textbook", "shuffle_divide"):
        size = kernels[name].choose_block_size(COLS)
        plain, other = (us(name, block_size=size, data=of) for of in ("normal", data))
        assert other > 1.15 * plain


def test_float4_reads_its_row_from_memory_once_while_one_block_fills_a_multiprocessor():
    alone, two = counted("float4"), counted("float4_one")
    assert alone.warps_per_multiprocessor < 32.5 < 50 < two.warps_per_multiprocessor
    assert alone.counters["dram_read_bytes"] == pytest.approx(MATRIX_BYTES, rel=0.02)
    assert two.counters["dram_read_bytes"] > 1.5 * MATRIX_BYTES


# --- 08: what is left -------------------------------------------------------------------------


def test_the_launches_of_unfused_take_about_what_their_bytes_take():
    copy_us = recorded.times(*WORKLOG)["unfused"].copy_us
    shares = [step_us("unfused", number) / copy_us for number in range(4)]
    assert shares == [pytest.approx(share, rel=0.15) for share in (0.5, 1, 0.5, 1)]
    assert us("unfused") == pytest.approx(3 * copy_us, rel=0.12)
    assert 1 - us("fusion") / us("unfused") == pytest.approx(2 / 3, abs=0.03)


def test_what_each_part_of_fusion_is_worth():
    worth = {
        name: us(f"fusion_{name}") / us("fusion")
        for name in ("reads_twice", "two_barriers", "general", "expf", "no_barrier")
    }
    assert worth["no_barrier"] < 1 < worth["expf"] < worth["two_barriers"] < worth["reads_twice"]
    assert 1 < worth["general"] < worth["two_barriers"]
    assert worth["reads_twice"] > 1.08
    assert worth["two_barriers"] < 1.05


def line(times_us):
    """Slope and intercept through times on 8 and more rows for each multiprocessor."""
    waves = [wave for wave in WAVES if wave >= 8]
    return np.polyfit(waves, [times_us[wave] for wave in waves], 1)


def test_fusion_differs_from_a_copy_by_what_comes_once_and_not_by_the_row():
    lines = {}
    for name in ("fusion", "fusion_two_barriers"):
        of = {w: recorded.select(provider=name, rows=132 * w, cols=COLS)[0] for w in WAVES}
        lines[name] = line({wave: timing.median_us for wave, timing in of.items()})
        lines["copy"] = line({wave: timing.copy_us for wave, timing in of.items()})
    slopes = {name: slope for name, (slope, _) in lines.items()}
    beside = {name: intercept for name, (_, intercept) in lines.items()}
    assert max(slopes.values()) < 1.02 * min(slopes.values())
    assert beside["copy"] + 3 < beside["fusion"] < beside["fusion_two_barriers"] - 1


def test_one_row_in_a_wave_of_its_own_takes_no_longer():
    whole, more = (
        recorded.select(provider="fusion", rows=rows, cols=COLS)[0].median_us
        for rows in (1056, 1057)
    )
    assert more == pytest.approx(whole, rel=0.01)


def test_fusion_is_ahead_of_every_peer_on_the_worklogs_matrix_and_near_the_copy():
    times = recorded.times(*WORKLOG)
    there = [times[name] for name in PEERS if name in times]
    assert len(there) >= 5
    assert times["fusion"].median_us < min(timing.median_us for timing in there)
    assert times["fusion"].median_us < 1.08 * times["fusion"].copy_us
