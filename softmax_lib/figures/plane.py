"""Chapter 10 and the results: which kernel wins on matrices of how many rows and columns, and by how much."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from matplotlib.patches import Rectangle

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
    short,
    start,
)
from softmax_lib.records.measurement import TIE
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.records.warp_times import WarpTime, times_of, warp_run, warp_source

FASTEST = "the fastest"
_MARKS = {
    "warp, 8 lanes": ("8", SKY),
    "warp, 32 lanes": ("32", BLUE),
    "shuffle": ("S", VERMILION),
    "float4": ("4", GREEN),
    "fusion": ("F", ORANGE),
    "unroll": ("U", PURPLE),
}
"""Letter and color of each kernel that wins somewhere."""
_WORST = 4
_AHEAD = (0.6, 0.85, 0.7)


def on_the_plane(gpu: str = DEFAULT_GPU) -> list[str]:
    """What `plane_of_kernels` can show: who is fastest, then all that were timed, and none where no run was kept."""
    with suppress(BadInput):
        return [FASTEST, *dict.fromkeys(one.name for one in _plane(gpu))]
    return [FASTEST]


@drawn
def plane_of_kernels(kernel: str = FASTEST, *, gpu: str = DEFAULT_GPU) -> Figure:
    """Which kernel of the book is fastest on matrices of these rows by these columns, or how far `kernel` is behind.

    A field has the fastest, and a dot where another is within 2 % of it; with one of `on_the_plane`, how
    many times as long it takes as the fastest. Raises `BadInput` for who was not timed, and where no run was kept.
    """
    every = _plane(gpu)
    if kernel not in (shown := on_the_plane(gpu)):
        raise BadInput(f"{kernel} is not on the plane; there are {', '.join(shown)}.")
    rows, cols = (sorted({getattr(one, name) for one in every}) for name in ("rows", "cols"))
    winners = kernel == FASTEST
    title = f"{kernel.capitalize()} by rows and columns" if winners else f"{kernel}: its time, divided by the winner's"  # fmt: skip
    figure = start(title, 5.2)
    axes = figure.subplots()
    told, won = [], set()
    for (row, col), here in _by_matrix(every).items():
        book = sorted((one for one in here if one.block_size), key=lambda one: one.us)
        mine = [one for one in here if one.name == kernel]
        color: Any
        if winners:
            won.add(best := book[0].name)
            letter, color = _MARKS.get(best, (best, GREY))
            tied = book[1].us < TIE * book[0].us
            text = letter + ("·" if tied else "")
            told.append(f"{row} × {col}: {best}{', tied' if tied else ''}")
        elif mine:
            ratio = mine[0].us / book[0].us
            color = _shade(ratio)
            text = f"{ratio:.2f}" if ratio < 9.95 else f"{ratio:.0f}"
            told.append(f"{row} × {col}: {text}")
        else:
            continue
        x, y = cols.index(col), rows.index(row)
        axes.add_patch(_square(x, y, color))
        axes.text(x, y, text, ha="center", va="center", fontsize=9.5 if winners else 8)
    axes.grid(visible=False)
    axes.set_xticks(range(len(cols)), [short(col) for col in cols], fontsize=8, rotation=45)
    axes.set_yticks(range(len(rows)), [short(row) for row in rows], fontsize=8)
    axes.set(
        xlim=(-0.5, len(cols) - 0.5), ylim=(-0.5, len(rows) - 0.5), xlabel="columns", ylabel="rows"
    )
    for name in (name for name in _MARKS if name in won):
        letter, color = _MARKS[name]
        axes.plot([], [], color=color, marker="s", linestyle="", markersize=9, label=f"{letter} {name}")  # fmt: skip
    if won:
        legend(axes, 2)
    note = f"a dot: another within {TIE - 1:.0%}" if winners else "1.00: the fastest of this book's CUDA kernels; green: ahead"  # fmt: skip
    return finish(figure, f"{title}: {'; '.join(told)}", note, warp_source(gpu))


def _plane(gpu: str) -> list[WarpTime]:
    """In the order in which they were timed."""
    return [one for one in times_of(warp_run(gpu)) if one.part == "plane"]


def _by_matrix(every: list[WarpTime]) -> dict[tuple[int, int], list[WarpTime]]:
    found: dict[tuple[int, int], list[WarpTime]] = {}
    for one in every:
        found.setdefault((one.rows, one.cols), []).append(one)
    return found


def _shade(ratio: float) -> tuple[float, float, float]:
    """Green below the fastest's time; from there on the redder the longer, up to four times."""
    if ratio < 1 / TIE:
        return _AHEAD
    part = min(max(ratio - 1, 0) / (_WORST - 1), 1)
    return (1.0, 1.0 - 0.55 * part, 1.0 - 0.75 * part)


def _square(x: int, y: int, color: Any) -> Rectangle:
    return Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=color, edgecolor="white", alpha=0.75)
