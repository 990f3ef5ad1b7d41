"""What all figures share: one look, one mark a provider, a text alternative, and where the numbers come from.

Each is drawn twice, as wide as a column of the site and as a phone. Title and notes are text around the picture.
Colours are Okabe and Ito's, told apart by everyone; no series is told by its colour alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, ParamSpec

import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter, NullLocator
from matplotlib.transforms import Affine2D

from softmax_lib.records.measurement import PEERS, Measurement
from softmax_lib.records.record import Record
from softmax_lib.widgets.views import view
from softmax_lib.worklog.registry import rungs

WIDE_INCHES, NARROW_INCHES = 7.6, 3.7
"""Of a column, and of a phone's screen between its margins."""
_width: ContextVar[float] = ContextVar("width", default=WIDE_INCHES)

BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7",
)  # fmt: skip
INK, GREY = "#000000", "#595959"

_STYLE: Any = {
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 11, "axes.titlesize": 11, "axes.labelsize": 11,
    "xtick.labelsize": 11, "ytick.labelsize": 11, "legend.fontsize": 10, "legend.frameon": False,
    "legend.handlelength": 1.8, "legend.columnspacing": 1.2, "legend.borderaxespad": 0.2,
    "xaxis.labellocation": "right", "axes.spines.top": False, "axes.spines.right": False,
    "axes.axisbelow": True, "axes.grid": True, "grid.color": "#000000", "grid.alpha": 0.15, "lines.linewidth": 1.8,
    "lines.markersize": 7, "figure.facecolor": "none", "axes.facecolor": "none",
    "svg.hashsalt": "softmax", "svg.fonttype": "none",
}  # fmt: skip
_RUNG_COLORS = (VERMILION, ORANGE, SKY, BLUE, GREEN, PURPLE)
_RUNG_MARKERS = "osv^DP*Xph<>"
_PEER_COLORS = (INK, GREY, VERMILION, BLUE, GREEN)
_PEER_MARKERS = "os^vDPX"
"""More than there are colours, and so a peer has one of the two for itself."""


@contextmanager
def _look() -> Iterator[None]:
    """The look of this book, whatever the reader has set."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


class Figure(matplotlib.figure.Figure):
    """A matplotlib figure that shows itself in a notebook, under its `heading` and over its `notes`.

    `alt` is its text alternative, `narrow` the same for a phone.
    """

    alt, heading, notes = "", "", ""
    narrow: Figure | None = None

    def draw(self, renderer: Any) -> None:
        """Draw in this book's look: matplotlib makes ticks no sooner than now."""
        with _look():
            super().draw(renderer)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return view(self)._repr_mimebundle_()


_Arguments = ParamSpec("_Arguments")


def drawn(function: Callable[_Arguments, Figure]) -> Callable[_Arguments, Figure]:
    """Make `function` draw in the look of this book."""

    @functools.wraps(function)
    def styled(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Figure:
        with _look():
            figure = function(*args, **kwargs)
            before = _width.set(NARROW_INCHES)
            try:
                figure.narrow = function(*args, **kwargs)
            finally:
                _width.reset(before)
        return figure

    return styled


def is_narrow() -> bool:
    """Whether a phone's version is being drawn."""
    return _width.get() == NARROW_INCHES


def start(
    title: str, height: float, panels: int = 1, *, sharey: bool = False
) -> tuple[Figure, Any]:
    """A figure under a title, `height` inches high, and its axes, or those of several panels above each other."""
    figure = Figure(figsize=(_width.get(), height), layout="constrained")
    figure.heading = title
    return figure, figure.subplots(panels, sharex=True, sharey=sharey)


def finish(figure: Figure, alt: str, *notes: str) -> Figure:
    """Put a legend above, unless the axes have their own, the text alternative in, and the notes below: where the numbers come from."""
    _legend(figure)
    figure.notes = " ".join(f"{note[0].upper()}{note[1:].rstrip('.')}." for note in notes if note)
    figure.alt = " ".join(f"{part.rstrip('.')}." for part in (alt, *notes) if part)
    return figure


def provenance(measured: Iterable[Measurement]) -> str:
    """Where these come from, in words; a star stands for a kernel that has changed since."""
    sources = {timing.source: timing.stale for timing in measured}
    return "; ".join(f"* {source}" if stale else source for source, stale in sources.items())


def not_yet(record: Record, names: Iterable[str]) -> str:
    """Which of these kernels the record has no time of, for a note; "" where it has all."""
    lacking = ", ".join(record.unmeasured(names))
    return f"not yet measured on {record.gpu}: {lacking}" if lacking else ""


def mark(provider: str) -> dict[str, Any]:
    """Colour, marker and line of a provider: rungs filled and solid, peers hollow and dashed."""
    if provider in PEERS:
        at = PEERS.index(provider)
        return {
            "color": _PEER_COLORS[at % len(_PEER_COLORS)],
            "marker": _PEER_MARKERS[at % len(_PEER_MARKERS)],
            "linestyle": "--",
            "markerfacecolor": "white",
        }
    names = [kernel.name for kernel in rungs()]
    at = names.index(provider) if provider in names else len(names)
    color = _RUNG_COLORS[at % len(_RUNG_COLORS)]
    return {"color": color, "marker": _RUNG_MARKERS[at % len(_RUNG_MARKERS)], "linestyle": "-"}


def _legend(figure: Figure) -> None:
    """One legend for all its axes, above them, in as few lines as the width has room for."""
    shown: dict[str, Any] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        shown.update(zip(labels, handles, strict=True))
    fitting = [n for n in range(1, len(shown) + 1) if _inches(list(shown), n) <= _width.get()]
    columns = min(fitting, key=lambda n: math.ceil(len(shown) / n), default=1)
    if shown and not any(axes.get_legend() for axes in figure.axes):
        figure.legend(shown.values(), shown, loc="outside upper left", ncols=columns)


def _inches(labels: list[str], columns: int) -> float:
    """How wide a legend is, about."""
    letters = (max(map(len, part)) for part in np.array_split(labels, columns))
    return sum(0.53 + 0.075 * count for count in letters)


def plot(
    axes: Axes,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    looks: Mapping[str, Mapping[str, Any]],
    in_words: str,
) -> str:
    """Draw these lines by their names, those that have points, and `tell` them."""
    shown = {name: points for name, points in lines.items() if points}
    for name, points in shown.items():
        axes.plot(*zip(*points, strict=True), label=name, **looks[name])
    return tell(shown, in_words)


def tell(lines: Mapping[str, Sequence[tuple[float, float]]], in_words: str) -> str:
    """Lines in words, each point as `in_words` formats it."""
    return "; ".join(
        f"{name} " + ", ".join(in_words.format(*point) for point in points)
        for name, points in lines.items()
    )


def list_on_y(axes: Axes, labels: Sequence[str], margin: float = 0.5, **text: Any) -> None:
    """Make the y axis a list, from the top down."""
    axes.set_yticks(range(len(labels)), labels, **text)
    axes.set_ylim(len(labels) - margin, margin - 1)
    axes.tick_params(axis="y", length=0)


def map_of(
    axes: Axes, found: Iterable[Any], x: str, y: str, draw: Callable[[Any, int, int], None]
) -> None:
    """A field for each of `found` by two of its attributes, which `draw` fills at its place."""
    every = list(found)
    xs, ys = (sorted({getattr(one, name) for one in every}) for name in (x, y))
    for one in every:
        draw(one, xs.index(getattr(one, x)), ys.index(getattr(one, y)))
    axes.grid(visible=False)
    axes.margins(0)
    axes.set_xticks(range(len(xs)), xs)
    axes.set_yticks(range(len(ys)), ys)


def fields(axes: Axes, places: Iterable[tuple[int, int]], color: str, alpha: float) -> None:
    """A square around each place, pale enough for words in ink on any page."""
    moves = [Affine2D().translate(x - 0.5, y - 0.5) for x, y in places]
    squares = Path.make_compound_path(*map(Path.unit_rectangle().transformed, moves))
    axes.add_patch(PathPatch(squares, facecolor=(color, alpha), edgecolor="white"))


def note(axes: Axes, text: str, at: tuple[float, float], offset: tuple[float, float]) -> None:
    """Words beside a point, `offset` in points of type, on white so that no line crosses them."""
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    axes.annotate(text, at, offset, textcoords="offset points", va="center", fontsize=10, bbox=box)


def logarithmic(
    axes: Axes,
    which: Literal["x", "y"],
    in_words: Callable[[float], str] = "{:g}".format,
    ticks: Sequence[float] = (),
) -> None:
    """Make this axis logarithmic, its ticks plain numbers or what `in_words` makes of them; of `ticks` those within."""
    axes.set(**{f"{which}scale": "log"})
    axis = getattr(axes, f"{which}axis")
    axis.set_major_formatter(FuncFormatter(lambda value, _: in_words(value)))
    axis.set_minor_locator(NullLocator())
    if ticks:
        low, high = axis.get_view_interval()
        axis.set_ticks([tick for tick in ticks if low < tick < high])


def round_time(time_us: float) -> str:
    """A tick of a time axis: "100 µs", "10 ms"."""
    return f"{time_us:g} µs" if time_us < 1000 else f"{time_us / 1000:g} ms"


def powers_of_two(axes: Axes, ticks: Sequence[int]) -> None:
    """Make the x axis logarithmic, with just these ticks, on a phone with six of them at most."""
    if is_narrow():
        ticks = ticks[:: math.ceil(len(ticks) / 6)]
    axes.set(xscale="log")
    axes.xaxis.set_ticks(ticks, [short(tick) for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())


def short(count: int) -> str:
    """1024 as "1K", 2^20 as "1M", and 1000 as it is."""
    for size, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if count % size == 0:
            return f"{count // size}{letter}"
    return str(count)
