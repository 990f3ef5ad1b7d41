"""Chapter 12's Triton kernels: bandwidth by the length of rows, beside torch, this book's kernels and a copy."""

from __future__ import annotations

from typing import Any

from softmax_lib.records.measurement import ITEM_BYTES, gb_per_s
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.look import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    VERMILION,
    Figure,
    drawn,
    finish,
    legend,
    powers_of_two,
    start,
)
from softmax_lib.suites.tiles.record import TileTime, tile_source, tile_times
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.tiles import seeds_warps

_TICKS = tuple(2**power for power in range(8, 16))
_LOOKS: dict[str, dict[str, Any]] = {
    "simple": {"color": BLUE, "marker": "v"},
    "persistent": {"color": GREEN, "marker": "s"},
    "torch": {"color": VERMILION, "marker": "o", "markerfacecolor": "white", "linestyle": "--"},
    "fusion": {"color": ORANGE, "marker": "^"},
    "softmax()": {"color": INK, "marker": "D"},
}


def by_the_source(found: list[TileTime]) -> list[TileTime]:
    """Of several settings of `simple` on a matrix the one by the source's rule; of the others' the fastest."""
    kept: dict[tuple[str, int], TileTime] = {}
    for one in sorted(found, key=lambda one: one.us):
        if one.who != "simple" or one.num_warps == seeds_warps(one.tile):
            kept.setdefault((one.who, one.cols), one)
    return list(kept.values())


@drawn
def tiles_by_cols(*, gpu: str = DEFAULT_GPU) -> Figure:
    """GB/s against the length of rows: `simple` by the source's rule, `persistent` at its better number of stages.

    Beside them torch, `fusion`, `softmax()` and a copy. Raises `BadInput` for what was never measured.
    """
    found = tile_times(gpu, part="lengths")
    if not found:
        raise BadInput("The kernels of chapter 12 were not timed by the length of rows.")
    rows = found[0].rows
    figure = start(f"GB/s by columns, {rows} rows", 4.2)
    axes = figure.subplots()
    kept, told = by_the_source(found), []
    copies = {one.cols: one.copy_us for one in found}
    speeds = {
        cols: gb_per_s(rows * cols * ITEM_BYTES["float32"], us) for cols, us in copies.items()
    }
    lines = {"a copy": sorted(speeds.items())}
    for who in _LOOKS:
        lines[who] = sorted((one.cols, one.gb_per_s) for one in kept if one.who == who)
    for label, points in lines.items():
        if not points:
            continue
        look = _LOOKS.get(label, {"color": GREY, "linestyle": ":"})
        axes.plot(*zip(*points, strict=True), label=label, **look)
        told.append(f"{label} " + ", ".join(f"{cols}: {speed:.0f}" for cols, speed in points))
    powers_of_two(axes, "x", [tick for tick in _TICKS if min(copies) <= tick <= max(copies)])
    axes.set(xlabel="columns", ylabel="GB/s", ylim=(0, None))
    legend(figure)
    return finish(figure, f"GB/s by columns, {rows} rows: {'; '.join(told)}", tile_source(gpu))
