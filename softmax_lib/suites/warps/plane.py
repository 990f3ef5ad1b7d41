"""Behind chapter 10: which kernel wins on matrices of how many rows and columns, and by how much."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.axes import Axes

from softmax_lib.records.measurement import TIE
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.look import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Figure,
    drawn,
    fields,
    finish,
    is_narrow,
    short,
    start,
)
from softmax_lib.suites.warps.record import WarpTime, times_of, warp_run, warp_source
from softmax_lib.worklog.errors import BadInput

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
_WORST, _PALE = 4, 0.4
_TIED = ", tied"


class _Field(NamedTuple):
    """What one matrix of the plane shows, and what is told of it."""

    text: str
    color: str
    alpha: float
    told: str


@drawn
def plane_of_kernels(kernel: str = FASTEST, *, gpu: str = DEFAULT_GPU) -> Figure:
    """Which kernel of the book is fastest on matrices of these rows by these columns, or how far `kernel` is behind.

    A field has the fastest, and a dot where another is within 2 % of it; with a kernel, torch or `softmax()`, how
    many times as long it takes as the fastest. Raises `BadInput` for who was not timed, and where no run was kept.
    """
    every = _plane(gpu)
    if kernel not in (shown := _shown(every)):
        raise BadInput(f"{kernel} is not on the plane; there are {', '.join(shown)}.")
    winners = kernel == FASTEST
    title, note = f"{kernel}: its time, divided by the winner's", "1.00: the fastest of this book's CUDA kernels; green: ahead"  # fmt: skip
    if winners:
        title, note = "The fastest by rows and columns", f"a dot: another within {TIE - 1:.0%}"
    matrices = _by_matrix(every)
    found = {
        at: one
        for at, here in matrices.items()
        if (one := _winner(here) if winners else _behind(kernel, here))
    }
    figure = start(title, 4.4)
    axes = figure.subplots()
    _draw(axes, list(matrices), found)
    if winners:
        _explain(axes, {one.told.removesuffix(_TIED) for one in found.values()})
    told = "; ".join(f"{rows} × {cols}: {one.told}" for (rows, cols), one in found.items())
    return finish(figure, f"{title}: {told}", note, warp_source(gpu))


def _plane(gpu: str) -> list[WarpTime]:
    """In the order in which they were timed."""
    return [one for one in times_of(warp_run(gpu)) if one.part == "plane"]


def _shown(every: list[WarpTime]) -> list[str]:
    return [FASTEST, *dict.fromkeys(one.name for one in every)]


def _by_matrix(every: list[WarpTime]) -> dict[tuple[int, int], list[WarpTime]]:
    found: dict[tuple[int, int], list[WarpTime]] = {}
    for one in every:
        found.setdefault((one.rows, one.cols), []).append(one)
    return found


def _winner(here: list[WarpTime]) -> _Field:
    """The fastest of this book's kernels on one matrix, and whether another ties with it."""
    best, *others = sorted((one for one in here if one.block_size), key=lambda one: one.us)
    letter, color = _MARKS.get(best.name, (best.name, GREY))
    tied = any(one.us < TIE * best.us for one in others)
    return _Field(letter + "·" * tied, color, _PALE, best.name + _TIED * tied)


def _behind(kernel: str, here: list[WarpTime]) -> _Field | None:
    """The time of `kernel` on one matrix, divided by the fastest's; None where it was not timed.

    Green below the fastest's time; from there on the redder the longer, up to four times.
    """
    mine = next((one.us for one in here if one.name == kernel), None)
    if mine is None:
        return None
    ratio = mine / min(one.us for one in here if one.block_size)
    text = f"{ratio:.2f}" if ratio < 9.95 else f"{ratio:.0f}"
    if ratio < 1 / TIE:
        return _Field(text, GREEN, _PALE, text)
    return _Field(text, VERMILION, 0.5 * min(max(ratio - 1, 0) / (_WORST - 1), 1), text)


def _draw(
    axes: Axes, matrices: list[tuple[int, int]], found: dict[tuple[int, int], _Field]
) -> None:
    """A square for each field, rows upwards and columns to the right."""
    rows, cols = (sorted(set(sizes)) for sizes in zip(*matrices, strict=True))
    squares: dict[tuple[str, float], list[tuple[int, int]]] = {}
    for (row, col), one in found.items():
        x, y = cols.index(col), rows.index(row)
        squares.setdefault((one.color, round(one.alpha, 1)), []).append((x, y))
        turn = 90 if is_narrow() and len(one.text.rstrip("·")) > 2 else 0
        words = axes.text(x, y, one.text, ha="center", va="center", fontsize=8, rotation=turn)
        words.set_in_layout(False)  # to be measured takes as long as to be drawn
    for look, places in squares.items():
        fields(axes, places, *look)
    axes.grid(visible=False)
    axes.set_xticks(
        range(len(cols)), [short(col) for col in cols], fontsize=8, rotation=45 * is_narrow()
    )
    axes.set_yticks(range(len(rows)), [short(row) for row in rows], fontsize=8)
    axes.set(xlim=(-0.5, len(cols) - 0.5), ylim=(-0.5, len(rows) - 0.5))
    axes.set(xlabel="columns", ylabel="rows")


def _explain(axes: Axes, winners: set[str]) -> None:
    """Letter and color of each of these."""
    for name, (letter, color) in _MARKS.items():
        if name in winners:
            axes.plot([], [], color=color, alpha=_PALE, marker="s", linestyle="", markersize=9, label=f"{letter} {name}")  # fmt: skip
    axes.legend(loc="upper right", handlelength=1)
