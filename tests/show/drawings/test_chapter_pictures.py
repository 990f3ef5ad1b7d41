"""Ladder, climb, passes, limits, threads and the GPU itself: what they say is as the record has it."""

import re

import pytest

from softmax_lib import drawings, hardware, kernels, recorded, tiles, xray
from softmax_lib.engine.words import time_in_words
from softmax_lib.records.cited import FLOAT32_PEAKS
from softmax_lib.show.drawings.round_trips import STEPS
from softmax_lib.worklog.registry import rungs
from softmax_lib.worklog.requests import global_requests

pytest.importorskip("ipywidgets")

RUNGS = [kernel.name for kernel in rungs()]
TIMES = recorded.times(1024, 32768)
FOUND = hardware()


@pytest.mark.parametrize("upto", RUNGS)
def test_the_ladder_has_a_bar_for_each_rung_so_far_and_gives_none_away(upto):
    shown = drawings.ladder(upto)
    climbed = RUNGS[: RUNGS.index(upto) + 1]
    for name in RUNGS:
        share = f"{name} {100 * TIMES[name].copy_share:.0f}\N{NO-BREAK SPACE}%"
        assert (share in shown.text) == (name in climbed)
    assert shown.html.count(">?<") == len(RUNGS) - len(climbed)
    heights = [float(one) for one in re.findall(r"v(-?[\d.]+)h", shown.html)]
    assert len(heights) == len(climbed) + 1


def test_passes_are_as_wide_as_they_take_long():
    shown = drawings.passes({"naive": ("max", "sum", "write"), "online": ("both", "write")})
    told = "naive: max N, sum N, write N; online: both N, write N".replace("N", r"([\d.]+)")
    times_ms = [float(ms) for ms in re.search(told, shown.html).groups()]
    assert sum(times_ms[:3]) == pytest.approx(TIMES["naive"].median_us / 1e3, rel=0.03)
    widths = [float(width) for width in re.findall(r"h(\d[\d.]*)v", shown.html)]
    assert widths == pytest.approx([ms * 338 / sum(times_ms[:3]) for ms in times_ms], rel=0.03)


def test_bytes_in_flight_start_where_the_sixth_kernel_is_and_were_all_measured():
    shown = drawings.in_flight()
    assert shown.choice == (2048, 1, 4)
    probes = recorded.probed("read bandwidth", width=4, bytes=8192)
    read = max(probe.found["gb_per_s"] for probe in probes)
    assert f"Reading alone: {read / 1000:.1f}" in shown.leaves[2048, 1, 4].value
    for (threads, loads, size), leaf in shown.leaves.items():
        assert f"= {threads * loads * size / 1024:.0f} KiB in flight" in leaf.value
        assert leaf.value.count('stroke="currentColor" stroke-dasharray') >= 2  # law and answer


def test_memory_or_arithmetic_is_the_slower_of_the_two_and_the_roofs_height():
    shown = drawings.memory_or_arithmetic()
    assert shown.choice == (5, 32)
    copy_us, flop_per_us = TIMES["fusion"].copy_us, FLOAT32_PEAKS["nvidia-h200"] / 1e6
    for (flop, size), leaf in shown.leaves.items():
        memory, arithmetic = size / 8 * copy_us, flop * 1024 * 32768 / flop_per_us
        limit = "memory" if memory > arithmetic else "compute"
        assert f"= {flop / size:.3g} FLOP per byte: {limit}-bound" in leaf.value
        assert f"At least {time_in_words(max(memory, arithmetic))}, " in leaf.value
        most = flop * 1024 * 32768 / max(memory, arithmetic) / 1e6
        assert f"at most {most:.2g}\N{NO-BREAK SPACE}TFLOP/s" in leaf.value


def test_a_row_makes_the_trips_that_its_kernel_makes():
    shown = drawings.trips()
    for name, steps in STEPS.items():
        trips = [trip.split()[0] for step in steps for trip in step.trips]
        assert (trips.count("read"), trips.count("write")) == kernels[name].traffic(4)
        last = shown.leaves[name, 4].value
        assert f"{len(trips)} × 16 = {16 * len(trips)} bytes moved" in last
        assert "0.831" in last  # 1 / (1 + exp(-2) + exp(-3) + exp(-4)), the largest of the row


# ---- which threads take what


@pytest.mark.parametrize("choice", [(32, 32, 128), (8, 128, 128), (4, 64, 32), (1, 128, 32)])
def test_rows_on_lanes_are_those_of_the_launch_and_of_its_first_load(choice):
    lanes, threads, cols = choice
    kernel = kernels["warp_plain"].setting(LANES=lanes)
    shown = drawings.row_lanes().leaves[choice].value
    first = global_requests(kernel, 128, cols, threads)[0]
    assert f"{1024 * xray(kernel, 128, cols, threads).blocks:,} blocks for 131,072 rows" in shown
    wasted = 100 * (1 - first.asked_bytes / first.moved_bytes)
    assert f"touches {len(first.sectors)} sectors, {wasted:.0f}\N{NO-BREAK SPACE}% wasted" in shown
    assert shown.count("block ") == 128 // threads


def test_a_thread_of_a_tile_loads_what_tritons_compiler_says():
    shown = drawings.tile()
    assert shown.choice == (1024, 4)
    for cols, warps in [(1000, 4), (1008, 1), (1024, 16), (1024, 32), (1025, 8), (2048, 8)]:
        code = tiles.compile_tile("simple", cols, num_warps=warps)
        ((size, loads),) = code.loads.items()
        words = f"{loads} load{'s' * (loads > 1)} of {size} bytes"
        assert f"a tile of {code.setting.tile:,}" in shown.leaves[cols, warps].value
        assert shown.leaves[cols, warps].value.count(words) == 2  # heard, and below


# ---- the GPU itself


@pytest.mark.parametrize("marked", FOUND.levels)
def test_the_map_has_every_multiprocessor_and_every_memory_and_marks_one(marked):
    shown = drawings.gpu_map(marked)
    squares = re.findall(r"M[\d.]+ [\d.]+h12v12", shown.html)
    assert len(squares) == FOUND.multiprocessors == 132
    for name, level in FOUND.levels.items():
        cycles = f"{level.cycles:.1f}" if level.cycles < 10 else f"{level.cycles:.0f}"
        assert f">{cycles} cycles<" in shown.html
        assert (f"{name}: {cycles} cycles" in shown.text) == (name == marked)
    assert shown.html.count('fill="#D55E00"') == 1


@pytest.mark.parametrize("one", FOUND.places[:20], ids=lambda o: f"{o.blocks}x{o.threads}")
def test_a_launch_is_drawn_as_its_blocks_were_placed(one):
    shown = drawings.places(one.blocks, one.threads)
    there = sum(count > 0 for count in one.held[0])
    fills = re.findall(r"M[\d.]+ [\d.]+h13v[\d.]+h-13z", shown.html)
    assert len(fills) == FOUND.multiprocessors + there
    assert (f"{there} got a block" in shown.text) == (there < 132)
    assert f"{len(one.held)} wave" in shown.text
    assert f">{sum(one.held[0]):,}<" in shown.html
