"""Chapter 10: time by lanes and block size, time by blocks to start, and which kernel wins on which matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from softmax_lib.records.measurement import TIE
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.show.figures import look
from softmax_lib.suites.kept import required
from softmax_lib.suites.times import WARP, WarpTime, warp_times
from softmax_lib.worklog.errors import BadInput

FASTEST = "the fastest"
_MARKS = {
    "warp, 8 lanes": ("8", look.SKY),
    "warp, 32 lanes": ("32", look.BLUE),
    "shuffle": ("S", look.VERMILION),
    "float4": ("4", look.GREEN),
    "fusion": ("F", look.ORANGE),
    "unroll": ("U", look.PURPLE),
}
"""Letter and color of each kernel that wins somewhere."""
_WORST, _PALE = 4, 0.4
_TIED = ", tied"
_LOOKS: dict[str, dict[str, Any]] = {
    "blocks that do nothing": {"color": look.GREY, "linestyle": "--"},
    "larger blocks": {"color": look.BLUE, "marker": "o"},
    "more rows per block": {"color": look.VERMILION, "marker": "s", "markerfacecolor": "white"},
}


@look.drawn
def lanes_map(rows: int = 131072, cols: int = 128, *, gpu: str = DEFAULT_GPU) -> look.Figure:
    """Microseconds of chapter 10's kernel, lanes per row by threads per block; the best is bold.

    The darker the longer, up to three times a copy. Raises `BadInput` for what was not measured.
    """
    found = _short_rows(gpu, rows, cols, turns=1)
    best = found[0]
    figure, axes = look.start(f"warp on {rows} × {cols} floats", 3.6)

    def draw(one: WarpTime, x: int, y: int) -> None:
        look.fields(axes, [(x, y)], look.BLUE, 0.25 * min(max(one.us / best.copy_us - 1, 0.1), 2))
        weight = "bold" if one is best else "normal"
        axes.text(x, y, f"{one.us:.1f}", ha="center", va="center", fontsize=10, weight=weight)

    look.map_of(axes, found, "block_size", "lanes", draw)
    axes.set(xlabel="threads per block", ylabel="LANES: threads per row")
    told = "; ".join(f"{one.lanes} lanes, {one.block_size} threads: {one.us:.1f}" for one in found)
    alt = f"Microseconds of warp on {rows} × {cols} floats: {told}"
    note = f"in µs; bold: the best, {best.us:.1f}; a copy takes {best.copy_us:.1f}"
    return look.finish(figure, alt, note, WARP.source(gpu))


@look.drawn
def time_by_blocks(rows: int = 32768, cols: int = 128, *, gpu: str = DEFAULT_GPU) -> look.Figure:
    """Time of chapter 10's kernel with 32 lanes by the number of blocks, and of a launch whose blocks do nothing.

    Blocks get fewer as they get larger, or as each takes more rows, one after the other. Raises `BadInput`
    for what was not measured.
    """
    found = _short_rows(gpu, rows, cols, lanes=32)
    empty = recorded(gpu).probed("block starts", threads=32)
    figure, axes = look.start(f"Time by blocks, {rows} × {cols} floats", 3.8)
    nothing = sorted((probe.at["blocks"], probe.found["us"]) for probe in empty)
    larger = sorted((one.blocks, one.us) for one in found if one.turns == 1)
    longer = sorted((one.blocks, one.us) for one in found if one.block_size == 32)
    lines = dict(zip(_LOOKS, (nothing, larger, longer), strict=True))
    look.plot(axes, lines, _LOOKS, "")
    in_words = {"larger blocks": larger, "more rows": longer, "nothing": nothing}
    told = look.tell(in_words, "{} blocks {:.1f}")
    axes.axhline(found[0].copy_us, color=look.GREY, linestyle=":", label="a copy")
    look.powers_of_two(axes, [2**power for power in range(8, 18, 2)])
    look.logarithmic(axes, "y", look.round_time)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.set(xlabel="blocks", ylabel="time")
    alt = f"Microseconds by blocks of warp with 32 lanes on {rows} × {cols} floats: {told}; a copy {found[0].copy_us:.1f}"
    return look.finish(figure, alt, WARP.source(gpu))


def _short_rows(gpu: str, rows: int, cols: int, **wanted: int) -> list[WarpTime]:
    """The times of chapter 10's kernel on short rows, the fastest first."""
    every = warp_times(gpu, part="short", rows=rows, cols=cols, who="warp", **wanted)
    return required(every, f"Chapter 10's kernel was not timed on {rows} × {cols}.")


class _Field(NamedTuple):
    """What one matrix of the plane shows, and what is told of it."""

    text: str
    color: str
    alpha: float
    told: str


@look.drawn
def plane_of_kernels(kernel: str = FASTEST, *, gpu: str = DEFAULT_GPU) -> look.Figure:
    """Which kernel of the book is fastest on matrices of these rows by these columns, or how far `kernel` is behind.

    A field has the fastest, and a dot where another is within 2 % of it; with a kernel, torch or `softmax()`, how
    many times as long it takes as the fastest. Raises `BadInput` for who was not timed, and where no run was kept.
    """
    matrices: dict[tuple[int, int], list[WarpTime]] = {}
    shown = {FASTEST: None}
    for timed in WARP.found(gpu):
        if timed.part == "plane":
            matrices.setdefault((timed.rows, timed.cols), []).append(timed)
            shown[timed.name] = None
    if kernel not in shown:
        raise BadInput(f"{kernel} is not on the plane; there are {', '.join(shown)}.")
    winners = kernel == FASTEST
    title = f"{kernel}: its time, divided by the winner's"
    note = "1.00: the fastest of this book's CUDA kernels; green: ahead"
    if winners:
        title, note = "The fastest by rows and columns", f"a dot: another within {TIE - 1:.0%}"
    found = {
        at: one
        for at, here in matrices.items()
        if (one := _winner(here) if winners else _behind(kernel, here))
    }
    figure, axes = look.start(title, 4.4)
    _draw(axes, list(matrices), found)
    if winners:
        _explain(axes, {one.told.removesuffix(_TIED) for one in found.values()})
    told = "; ".join(f"{rows} × {cols}: {one.told}" for (rows, cols), one in found.items())
    return look.finish(figure, f"{title}: {told}", note, WARP.source(gpu))


def _winner(here: list[WarpTime]) -> _Field:
    """The fastest of this book's kernels on one matrix, and whether another ties with it."""
    best, *others = sorted((one for one in here if one.block_size), key=lambda one: one.us)
    letter, color = _MARKS.get(best.name, (best.name, look.GREY))
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
        return _Field(text, look.GREEN, _PALE, text)
    return _Field(text, look.VERMILION, 0.5 * min(max(ratio - 1, 0) / (_WORST - 1), 1), text)


def _draw(
    axes: Axes, matrices: list[tuple[int, int]], found: dict[tuple[int, int], _Field]
) -> None:
    """A square for each field, rows upwards and columns to the right."""
    rows, cols = (sorted(set(sizes)) for sizes in zip(*matrices, strict=True))
    squares: dict[tuple[str, float], list[tuple[int, int]]] = {}
    for (row, col), one in found.items():
        x, y = cols.index(col), rows.index(row)
        squares.setdefault((one.color, round(one.alpha, 1)), []).append((x, y))
        turn = 90 if look.is_narrow() and len(one.text.rstrip("·")) > 2 else 0
        words = axes.text(x, y, one.text, ha="center", va="center", fontsize=8, rotation=turn)
        words.set_in_layout(False)  # to be measured takes as long as to be drawn
    for style, places in squares.items():
        look.fields(axes, places, *style)
    axes.grid(visible=False)
    turn = 45 * look.is_narrow()
    axes.set_xticks(range(len(cols)), list(map(look.short, cols)), fontsize=8, rotation=turn)
    axes.set_yticks(range(len(rows)), list(map(look.short, rows)), fontsize=8)
    axes.set(xlim=(-0.5, len(cols) - 0.5), ylim=(-0.5, len(rows) - 0.5))
    axes.set(xlabel="columns", ylabel="rows")


def _explain(axes: Axes, winners: set[str]) -> None:
    """Letter and color of each of these."""
    square: dict[str, Any] = {"alpha": _PALE, "marker": "s", "linestyle": "", "markersize": 9}
    for name, (letter, color) in _MARKS.items():
        if name in winners:
            axes.plot([], [], color=color, label=f"{letter} {name}", **square)
    axes.legend(loc="upper right", handlelength=1)
