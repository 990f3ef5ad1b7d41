"""Chapter 10: time by lanes and block size, and time by blocks to start."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.ticker import LogLocator

from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.suites.look import (
    BLUE,
    GREY,
    VERMILION,
    Figure,
    drawn,
    fields,
    finish,
    legend,
    logarithmic,
    powers_of_two,
    round_time,
    start,
)
from softmax_lib.suites.warps.record import WarpTime, warp_source, warp_times
from softmax_lib.worklog.errors import BadInput


@drawn
def lanes_map(rows: int = 131072, cols: int = 128, *, gpu: str = DEFAULT_GPU) -> Figure:
    """Microseconds of chapter 10's kernel, lanes per row by threads per block; the best is bold.

    The darker the longer, up to three times a copy. Raises `BadInput` for what was not measured.
    """
    found = _of(
        warp_times(gpu, part="short", rows=rows, cols=cols, who="warp", turns=1), rows, cols
    )
    best = found[0]
    sizes, lanes = (
        sorted({getattr(one, name) for one in found}) for name in ("block_size", "lanes")
    )
    figure = start(f"warp on {rows} × {cols} floats", 3.6)
    axes = figure.subplots()
    places = {(lanes.index(one.lanes), sizes.index(one.block_size)): one for one in found}
    for (y, x), one in places.items():
        fields(axes, [(x, y)], BLUE, 0.25 * min(max(one.us / best.copy_us - 1, 0.1), 2))
        weight = "bold" if one is best else "normal"
        axes.text(x, y, f"{one.us:.1f}", ha="center", va="center", fontsize=10, weight=weight)
    axes.grid(visible=False)
    axes.margins(0)
    axes.set_xticks(range(len(sizes)), sizes)
    axes.set_yticks(range(len(lanes)), lanes)
    axes.set(xlabel="threads per block", ylabel="LANES: threads per row")
    told = "; ".join(f"{one.lanes} lanes, {one.block_size} threads: {one.us:.1f}" for one in found)
    note = f"in µs; bold: the best, {best.us:.1f}; a copy takes {best.copy_us:.1f}"
    return finish(figure, f"Microseconds of warp on {rows} × {cols} floats: {told}", note, warp_source(gpu))  # fmt: skip


@drawn
def time_by_blocks(rows: int = 32768, cols: int = 128, *, gpu: str = DEFAULT_GPU) -> Figure:
    """Time of chapter 10's kernel with 32 lanes by the number of blocks, and of a launch whose blocks do nothing.

    Blocks get fewer as they get larger, or as each takes more rows, one after the other. Raises `BadInput`
    for what was not measured.
    """
    found = _of(
        warp_times(gpu, part="short", rows=rows, cols=cols, who="warp", lanes=32), rows, cols
    )
    empty = [
        (probe.at["blocks"], probe.found["us"])
        for probe in recorded(gpu).probed("block starts", threads=32)
    ]
    figure = start(f"Time by blocks, {rows} × {cols} floats", 3.8)
    axes = figure.subplots()
    larger = sorted((one.blocks, one.us) for one in found if one.turns == 1)
    longer = sorted((one.blocks, one.us) for one in found if one.block_size == 32)
    axes.plot(
        *zip(*sorted(empty), strict=True),
        color=GREY,
        linestyle="--",
        label="blocks that do nothing",
    )
    axes.plot(*zip(*larger, strict=True), color=BLUE, marker="o", label="larger blocks")
    axes.plot(*zip(*longer, strict=True), color=VERMILION, marker="s", markerfacecolor="white", label="more rows per block")  # fmt: skip
    axes.axhline(found[0].copy_us, color=GREY, linestyle=":", label="a copy")
    powers_of_two(axes, "x", [2**power for power in range(8, 18, 2)])
    logarithmic(axes, "y", round_time)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.set(xlabel="blocks", ylabel="time")
    legend(figure)
    told = "; ".join(
        f"{name} " + ", ".join(f"{blocks} blocks {us:.1f}" for blocks, us in points)
        for name, points in (
            ("larger blocks", larger),
            ("more rows", longer),
            ("nothing", sorted(empty)),
        )
    )
    alt = f"Microseconds by blocks of warp with 32 lanes on {rows} × {cols} floats: {told}; a copy {found[0].copy_us:.1f}"
    return finish(figure, alt, warp_source(gpu))


def _of(found: Iterable[WarpTime], rows: int, cols: int) -> list[WarpTime]:
    every = list(found)
    if not every:
        raise BadInput(f"Chapter 10's kernel was not timed on {rows} × {cols}.")
    return every
