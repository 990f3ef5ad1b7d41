"""Chapter 12's Triton kernels: bandwidth by the length of rows, beside torch, this book's kernels and a copy."""

from __future__ import annotations

from typing import Any

from softmax_lib.records.measurement import ITEM_BYTES, gb_per_s
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites import look
from softmax_lib.suites.times import TileTime, tile_source, tile_times
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.tiles import seeds_warps

_TICKS = tuple(2**power for power in range(8, 16))
_LOOKS: dict[str, dict[str, Any]] = {
    "a copy": {"color": look.GREY, "linestyle": ":"},
    "simple": {"color": look.BLUE, "marker": "v"},
    "persistent": {"color": look.GREEN, "marker": "s"},
    "torch": {
        "color": look.VERMILION, "marker": "o", "markerfacecolor": "white", "linestyle": "--",
    },
    "fusion": {"color": look.ORANGE, "marker": "^"},
    "softmax()": {"color": look.INK, "marker": "D"},
}  # fmt: skip


def _by_the_source(found: list[TileTime]) -> list[TileTime]:
    """Of several settings of `simple` on a matrix the one by the source's rule; of the others' the fastest."""
    kept: dict[tuple[str, int], TileTime] = {}
    for one in sorted(found, key=lambda one: one.us):
        if one.who != "simple" or one.num_warps == seeds_warps(one.tile):
            kept.setdefault((one.who, one.cols), one)
    return list(kept.values())


@look.drawn
def tiles_by_cols(*, gpu: str = DEFAULT_GPU) -> look.Figure:
    """GB/s against the length of rows: `simple` by the source's rule, `persistent` at its better number of stages.

    Beside them torch, `fusion`, `softmax()` and a copy. Raises `BadInput` for what was never measured.
    """
    found = tile_times(gpu, part="lengths")
    if not found:
        raise BadInput("The kernels of chapter 12 were not timed by the length of rows.")
    rows = found[0].rows
    title = f"GB/s by columns, {rows} rows"
    figure, axes = look.start(title, 4.2)
    copies = {one.cols: one.copy_us for one in found}
    lines: dict[str, list[tuple[float, float]]] = {name: [] for name in _LOOKS}
    for cols, us in sorted(copies.items()):
        lines["a copy"].append((cols, gb_per_s(rows * cols * ITEM_BYTES["float32"], us)))
    for one in sorted(_by_the_source(found), key=lambda one: one.cols):
        if one.who in lines:
            lines[one.who].append((one.cols, one.gb_per_s))
    told = look.plot(axes, lines, _LOOKS, "{}: {:.0f}")
    look.powers_of_two(axes, "x", [tick for tick in _TICKS if min(copies) <= tick <= max(copies)])
    axes.set(xlabel="columns", ylabel="GB/s", ylim=(0, None))
    return look.finish(figure, f"{title}: {told}", tile_source(gpu))
