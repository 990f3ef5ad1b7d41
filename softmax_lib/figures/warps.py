"""Chapter 10: time by lanes and block size, time by blocks to start, and who is fastest by rows and columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator

from softmax_lib.errors import BadInput
from softmax_lib.figures.look import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Figure,
    drawn,
    finish,
    legend,
    logarithmic,
    powers_of_two,
    round_time,
    short,
    start,
)
from softmax_lib.records.measurement import TIE
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.records.warp_times import WarpTime, warp_source, warp_times

_SHADES = {
    "warp, 8 lanes": SKY, "warp, 32 lanes": BLUE, "fusion": ORANGE, "float4": GREEN, "unroll": PURPLE, "shuffle": VERMILION,
}  # fmt: skip
_LETTERS = {"warp, 8 lanes": "8", "warp, 32 lanes": "32", "fusion": "F", "float4": "4", "unroll": "U", "shuffle": "S"}  # fmt: skip
_WORST = 4


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
    fields = {(lanes.index(one.lanes), sizes.index(one.block_size)): one for one in found}
    shades = [
        [fields[y, x].us if (y, x) in fields else float("nan") for x in range(len(sizes))]
        for y in range(len(lanes))
    ]
    axes.imshow(shades, cmap="Blues", aspect="auto", origin="lower", vmin=best.copy_us, vmax=3 * best.copy_us)  # fmt: skip
    for (y, x), one in fields.items():
        weight = "bold" if one is best else "normal"
        color = "white" if one.us > 2 * one.copy_us else "black"
        axes.text(x, y, f"{one.us:.1f}", ha="center", va="center", fontsize=10, weight=weight, color=color)  # fmt: skip
    axes.grid(visible=False)
    axes.set_xticks(range(len(sizes)), sizes)
    axes.set_yticks(range(len(lanes)), lanes)
    axes.set(xlabel="threads per block", ylabel="LANES: threads per row")
    told = "; ".join(f"{one.lanes} lanes, {one.block_size} threads: {one.us:.1f}" for one in found)
    note = f"µs; bold: the best, {best.us:.1f}; a copy takes {best.copy_us:.1f}"
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
    figure = start(f"Time by blocks, {rows} × {cols} floats", 4.2)
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
    legend(axes, 2)
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


def name_of(one: WarpTime) -> str:
    """Who it is on the plane: chapter 10's kernel with its lanes."""
    return f"{one.who}, {one.lanes} lanes" if one.lanes else one.who


@drawn
def plane_of_kernels(who: str | None = None, *, gpu: str = DEFAULT_GPU) -> Figure:
    """Which kernel of the book is fastest on matrices of these rows by these columns, or how far `who` is behind.

    A field has the fastest, and a dot where another is within 2 % of it; with `who`, how many times as long
    it takes as the fastest. Raises `BadInput` for what was not measured.
    """
    every = warp_times(gpu, part="plane")
    if who is not None and who not in {name_of(one) for one in every}:
        names = ", ".join(dict.fromkeys(name_of(one) for one in every))
        raise BadInput(f"{who} is not on the plane; there are {names}.")
    rows, cols = (sorted({getattr(one, name) for one in every}) for name in ("rows", "cols"))
    title = (
        "The fastest kernel by rows and columns"
        if who is None
        else f"{who}: times the fastest's time"
    )
    figure = start(title, 5.2)
    axes = figure.subplots()
    color: Any
    told: list[str] = []
    seen: dict[str, str] = {}
    for row in rows:
        for col in cols:
            here = [one for one in every if (one.rows, one.cols) == (row, col)]
            book = [one for one in here if one.block_size]
            if not book:
                continue
            best = book[0]
            if who is None:
                tied = sum(one.us < TIE * best.us for one in book) > 1
                color = seen[name_of(best)] = _SHADES.get(name_of(best), GREY)
                text = _LETTERS.get(name_of(best), best.who) + ("·" if tied else "")
                told.append(f"{row} × {col}: {name_of(best)}{', tied' if tied else ''}")
            else:
                mine = [one for one in here if name_of(one) == who]
                if not mine:
                    continue
                times = mine[0].us / best.us
                color = _shade(times)
                text = f"{times:.2f}" if times < 9.95 else f"{times:.0f}"
                told.append(f"{row} × {col}: {text}")
            x, y = cols.index(col), rows.index(row)
            axes.add_patch(_square(x, y, color))
            axes.text(x, y, text, ha="center", va="center", fontsize=8 if who else 9.5)
    axes.grid(visible=False)
    axes.set_xticks(range(len(cols)), [short(col) for col in cols], fontsize=9)
    axes.set_yticks(range(len(rows)), [short(row) for row in rows], fontsize=9)
    axes.set(
        xlim=(-0.5, len(cols) - 0.5), ylim=(-0.5, len(rows) - 0.5), xlabel="columns", ylabel="rows"
    )
    for name, color in seen.items():
        axes.plot(
            [],
            [],
            color=color,
            marker="s",
            linestyle="",
            markersize=9,
            label=f"{_LETTERS.get(name, '')} {name}",
        )
    if seen:
        legend(axes, 2)
    note = (
        f"a dot: another within {TIE - 1:.0%}"
        if who is None
        else "1.00: the fastest of this book's kernels"
    )
    return finish(figure, f"{title}: {'; '.join(told)}", note, warp_source(gpu))


def _shade(times: float) -> tuple[float, float, float]:
    """White at the fastest's time and below, the redder the longer, up to four times."""
    part = min(max(times - 1, 0) / (_WORST - 1), 1)
    return (1.0, 1.0 - 0.55 * part, 1.0 - 0.75 * part)


def _square(x: int, y: int, color: Any) -> Rectangle:
    return Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=color, edgecolor="white", alpha=0.75)


def _of(found: Iterable[WarpTime], rows: int, cols: int) -> list[WarpTime]:
    every = list(found)
    if not every:
        raise BadInput(f"Chapter 10's kernel was not timed on {rows} × {cols}.")
    return every
