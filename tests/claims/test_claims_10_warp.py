"""What chapter 10 claims, as relations that the kept run of the suite has to bear out."""

import numpy as np
import pytest

from softmax_lib import recorded, warp_times
from softmax_lib.records.measurement import TIE
from softmax_lib.records.warp_times import WarpTime

EXAMPLE = (128, 96)
LONG, FEW = (131072, 128), (32768, 128)
FLOATS = {32: 524288, 64: 262144, 96: 174762, 128: 131072, 256: 65536, 512: 32768, 1024: 16384}
"""Rows of each length whose matrix has 2^24 floats."""


def every(matrix, **wanted) -> list[WarpTime]:
    """What was timed on a matrix of short rows, the fastest first."""
    rows, cols = matrix
    return warp_times(part="short", rows=rows, cols=cols, **wanted)


def us(matrix, block_size, lanes=32, turns=1, who="warp"):
    """Time of chapter 10's kernel, or of a control."""
    (one,) = every(matrix, who=who, block_size=block_size, lanes=lanes, turns=turns)
    return one.us


def best(matrix, who, **wanted):
    """Time at the best setting."""
    return every(matrix, who=who, **wanted)[0].us


def copy_us(matrix):
    return every(matrix)[0].copy_us


def start_us(blocks, threads=32):
    """Time of so many blocks that do nothing, between those that were measured."""
    points = sorted(
        (probe.at["blocks"], probe.found["us"])
        for probe in recorded().probed("block starts", threads=threads)
    )
    assert points[0][0] <= blocks <= points[-1][0]
    return float(np.interp(blocks, *zip(*points, strict=True)))


def plane() -> dict[tuple[int, int], list[WarpTime]]:
    """The kernels of the book on each matrix of the plane, the fastest first."""
    found: dict[tuple[int, int], list[WarpTime]] = {}
    for one in warp_times(part="plane"):
        if one.block_size:
            found.setdefault((one.rows, one.cols), []).append(one)
    return found


def behind(rows, cols, name):
    """How many times as long a kernel takes as the fastest there."""
    here = plane()[rows, cols]
    return next(one.us for one in here if one.name == name) / here[0].us


def test_a_block_a_row_takes_twice_a_copy():
    for who in ("shared", "shuffle", "float4", "fusion"):
        assert 2 < best(LONG, who) / copy_us(LONG) < 3


def test_a_copy_takes_33():
    assert copy_us(LONG) == pytest.approx(33, abs=0.5)


def test_twice_the_rows_half_the_time():
    assert us(LONG, 32) / us(LONG, 64) == pytest.approx(2, abs=0.1)


def test_blocks_are_all_that_counts():
    """On 524288 rows of 32, what has as many blocks takes as long, from 131,072 blocks on."""
    for blocks, fields, took in ((262144, 2, 160), (131072, 3, 81)):
        same = [
            one
            for one in every((524288, 32), who="warp", turns=1)
            if one.blocks == blocks and one.lanes >= 8
        ]
        assert len(same) == fields
        assert [one.us for one in same] == pytest.approx([took] * fields, rel=0.01)


def test_blocks_start_at_a_rate():
    """A thousand blocks more take 0.6 us more, 1650 start in one, of 32 to 256 threads."""
    for threads in (32, 128, 256):
        rate = (start_us(65536, threads) - start_us(8192, threads)) / (65536 - 8192)
        assert rate * 1000 == pytest.approx(0.6, abs=0.01)
        assert 1 / rate == pytest.approx(1650, rel=0.02)


def test_warp_lies_on_the_line():
    """With larger blocks, up to 512 threads, warp takes as long as the longer of starting its blocks and a copy."""
    for matrix in (LONG, FEW):
        for one in every(matrix, who="warp", lanes=32, turns=1):
            if one.blocks <= 65536 and one.block_size <= 512:
                limit = max(start_us(one.blocks), one.copy_us)
                assert 1 <= one.us / limit < 1.11, one


def test_turns_halve_the_time():
    assert us(LONG, 32) / us(LONG, 32, turns=2) == pytest.approx(1.9, abs=0.05)


def test_half_full_costs_a_quarter():
    """Half of a multiprocessor's threads cost a quarter to a third; the shared memory alone, nothing."""
    for matrix in (LONG, FEW):
        assert 1.25 < us(matrix, 256, who="warp_half_full") / us(matrix, 256) < 1.33
        assert us(matrix, 512, who="warp_half_full") / us(matrix, 512) < TIE


def test_turns_leave_the_occupancy():
    """Of four rows per group, blocks of 32 threads take an eighth longer than blocks of 128."""
    for matrix in (LONG, FEW):
        assert us(matrix, 32, turns=4) / us(matrix, 128, turns=4) == pytest.approx(1.12, abs=0.02)


def test_below_other_things_count():
    """Of four settings with 65,536 blocks three take 42 us, and the one of 32 lanes takes 67."""
    found = every((524288, 32), who="warp", turns=1)
    same = [one for one in found if one.blocks == 65536]
    assert [round(one.us) for one in same[-1:]] == [67]
    assert same[-1].lanes == 32
    assert len(same) == 4
    assert [one.us for one in same[:3]] == pytest.approx([42] * 3, abs=0.7)


def test_the_counts_tell_half():
    for lanes in (1, 2, 4):
        assert best(LONG, "warp", lanes=lanes) / best(LONG, "warp") > 1.5
    for lanes in (8, 16, 32):
        assert best(LONG, "warp", lanes=lanes, turns=1) / best(LONG, "warp") < TIE
    assert 1.02 < us(LONG, 128, lanes=8) / us(LONG, 128) < 1.06


def test_starting_is_nearly_all():
    """Of FEW by the probe, of LONG by its rate."""
    assert start_us(32768) / us(FEW, 32) > 0.95
    assert 131072 / 1650 / us(LONG, 32) > 0.95


def test_the_example_is_a_launch():
    assert copy_us(EXAMPLE) == pytest.approx(1.7, abs=0.05)
    assert start_us(132) / copy_us(EXAMPLE) == pytest.approx(0.4, abs=0.03)


def test_the_example_knows_no_block_size():
    found = every(EXAMPLE, who="warp", lanes=32, turns=1)
    assert [one.block_size for one in sorted(found, key=lambda one: one.block_size)] == [
        32, 64, 128, 256, 512, 1024,
    ]  # fmt: skip
    assert 1.9 < min(one.us for one in found) < max(one.us for one in found) < 2.1


def test_unfused_takes_three_times():
    assert 3 < best(EXAMPLE, "unfused") / best(EXAMPLE, "warp", lanes=32) < 3.6


def test_one_kernel_saves_more():
    """On the example shared saves 60 % and warp 71; with 256 threads shared saves 23 to 46 % on larger matrices.

    With its best block it saves 73 % on FEW.
    """

    def saved(matrix, who, **wanted):
        return 1 - best(matrix, who, **wanted) / best(matrix, "unfused")

    assert saved(EXAMPLE, "shared") == pytest.approx(0.60, abs=0.005)
    assert saved(EXAMPLE, "warp") == pytest.approx(0.71, abs=0.005)
    larger = [FEW, *((rows, cols) for cols, rows in FLOATS.items())]
    found = [saved(matrix, "shared", block_size=256) for matrix in larger]
    assert (min(found), max(found)) == pytest.approx((0.23, 0.46), abs=0.01)
    assert saved(FEW, "shared") == pytest.approx(0.73, abs=0.005)


def test_shared_memory_gains_nothing():
    """It is 3 % slower on the example, a third on rows of 32, and ties from 256 columns on."""

    def costs(matrix):
        return best(matrix, "warp_shared") / best(matrix, "warp", lanes=32, turns=1)

    assert costs(EXAMPLE) == pytest.approx(1.03, abs=0.01)
    assert costs((524288, 32)) == pytest.approx(1.33, abs=0.02)
    for cols in (256, 512, 1024):
        assert 1 / TIE < costs((FLOATS[cols], cols)) < TIE


def test_ninety_six_is_as_good():
    """Of about 2^24 floats each, rows of 64, 96 and 128 take as long."""
    times = [best((FLOATS[cols], cols), "warp") for cols in (64, 96, 128)]
    assert max(times) / min(times) < TIE


def test_a_warp_is_too_much_for_32():
    """With 32 lanes for 32 columns, 512 threads take over twice the copy, and 16 lanes less."""
    matrix = (524288, 32)
    assert 2 < us(matrix, 512) / copy_us(matrix) < 2.3
    for size in (256, 512, 1024):
        assert 1 - us(matrix, size, lanes=16) / us(matrix, size) == pytest.approx(0.4, abs=0.01)


def test_the_plane_has_three_lands():
    """8 lanes up to 64 columns, a warp at 128 and 256, fusion from 1024 to 8192 and at 32768, float4 beyond."""
    found = plane()
    assert len(found) == 124
    assert {rows * cols for rows, cols in found} == {2**power for power in range(14, 27)}
    for rows, cols in found:
        if cols <= 64:
            assert behind(rows, cols, "warp, 8 lanes") < TIE
        elif cols in (128, 256):
            assert behind(rows, cols, "warp, 32 lanes") < TIE
        elif 1024 <= cols <= 8192 or cols == 32768:
            assert behind(rows, cols, "fusion") < TIE
        elif cols >= 65536:
            assert behind(rows, cols, "float4") < TIE
    winners = {found[rows, 512][0].name for rows, cols in found if cols == 512}
    assert len(winners) > 1
    longer = [found[rows, cols][0].name for rows, cols in found if cols == 16384]
    assert (len(longer), longer.count("unroll")) == (6, 4)


def test_few_rows_hardly_matter():
    """Up to 4096 rows a warp per row is within a twentieth of the fastest, from 32 to 512 columns."""
    for rows, cols in plane():
        if rows <= 4096 and 32 <= cols <= 512:
            assert behind(rows, cols, "warp, 32 lanes") < 1.05


def test_softmax_wins_the_shortest():
    every_plane = warp_times(part="plane", cols=16)

    def against(rows):
        ours = [one for one in every_plane if one.rows == rows]
        warp = next(one.us for one in ours if one.name == "warp, 8 lanes")
        return next(one.us for one in ours if one.who == "softmax()") / warp

    many = [against(2**power) for power in range(16, 20)]
    assert 0.8 < min(many) < max(many) < 1 / TIE
    few = [against(2**power) for power in range(10, 13)]
    assert 1.04 < min(few) < max(few) < 1.14


def test_eight_lanes_are_enough():
    """8 lanes tie from 32 to 256 floats at their best block; with 128 threads up to 96, and 32 at 128 and 256."""
    for cols, rows in FLOATS.items():
        matrix = (rows, cols)
        if cols <= 256:
            assert best(matrix, "warp", lanes=8, turns=1) / best(matrix, "warp", turns=1) < TIE
        in_128 = {one.lanes: one.us for one in every(matrix, who="warp", block_size=128, turns=1)}
        level = {lanes for lanes, time in in_128.items() if time < TIE * min(in_128.values())}
        assert (8 in level) == (cols <= 96)
        if cols in (128, 256):
            assert 32 in level


def test_best_blocks_are_128():
    """At the lanes that win, blocks of 128 threads tie with the best."""
    for cols, rows in FLOATS.items():
        lanes = 8 if cols <= 64 else 32
        if cols <= 256:
            found = every((rows, cols), who="warp", lanes=lanes, turns=1)
            assert us((rows, cols), 128, lanes=lanes) / found[0].us < TIE
