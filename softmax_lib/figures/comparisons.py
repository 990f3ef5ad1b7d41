"""Who wins where, and how this book's GPU compares with the original worklog's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from matplotlib.axes import Axes

from softmax_lib.errors import BadInput
from softmax_lib.figures.picture import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    Picture,
    drawn,
    finish,
    label,
    legend,
    logarithmic,
    mark,
    note,
    powers_of_two,
    provenance,
    start,
)
from softmax_lib.measurements import DEFAULT_GPU, recorded
from softmax_lib.records.cited import ORIGINAL_WORKLOG
from softmax_lib.records.record import Measurement
from softmax_lib.registry import kernels, rungs

Shape = tuple[int, int]

_COLORS = (GREY, BLUE, ORANGE, GREEN, PURPLE)
_MARKERS = "sD^vo"


@drawn
def crossover(*, dtype: str = "float32", gpu: str = DEFAULT_GPU) -> Picture:
    """Which rung or peer is fastest on each (rows, cols) that was recorded for more than one of them.

    Where no rung was timed the mark is small: there the peers were only among themselves. Raises
    `BadInput` for a dtype never recorded.
    """
    record = recorded(gpu)
    shapes = dict.fromkeys((r.rows, r.cols) for r in record.select(dtype=dtype, l2="cold"))
    table = {shape: _in_the_race(record.times(*shape, dtype)) for shape in shapes}
    table = {shape: times for shape, times in table.items() if len(times) > 1}
    if not table:
        raise BadInput(f"Nothing was recorded in {dtype} on {record.gpu}.")
    winners = {shape: min(times, key=lambda row: row.median_us) for shape, times in table.items()}
    figure = start(f"The fastest softmax by shape, {dtype}", 5.4)
    axes = figure.subplots()
    for name in dict.fromkeys(row.provider for row in winners.values()):
        won = [shape for shape, row in winners.items() if row.provider == name]
        _wins(axes, won, winners[won[0]], [_has_rung(table[shape]) for shape in won])
    _shape_axes(axes, list(table))
    legend(axes, 3)
    told = [f"{rows} × {cols} {label(row)}" for (rows, cols), row in sorted(winners.items())]
    small = "small marks: peers only" if not all(map(_has_rung, table.values())) else ""
    alt = f"The fastest by rows × columns, {dtype}: {', '.join(told)}"
    return finish(figure, alt, provenance(winners.values()), small)


def _in_the_race(times: dict[str, Measurement]) -> list[Measurement]:
    return [row for name, row in times.items() if name not in kernels or not kernels[name].foil]


def _has_rung(times: list[Measurement]) -> bool:
    return any(row.provider in kernels for row in times)


def _wins(axes: Axes, shapes: list[Shape], winner: Measurement, with_rungs: list[bool]) -> None:
    style = {**mark(winner.provider), "linestyle": "", "markeredgewidth": 2}
    for size in (11, 7):
        some = [
            shape for shape, rung in zip(shapes, with_rungs, strict=True) if rung == (size == 11)
        ]
        if some:
            axes.plot([c for _, c in some], [r for r, _ in some], **style, markersize=size)
    axes.plot([], [], **style, markersize=9, label=label(winner))


def _shape_axes(axes: Axes, shapes: list[Shape]) -> None:
    axis_names: tuple[Literal["y", "x"], ...] = ("y", "x")
    for which, sizes in zip(axis_names, zip(*shapes, strict=True), strict=True):
        low, high = min(sizes).bit_length() - 1, max(sizes).bit_length()
        step = 4 if high - low > 8 else 2
        powers_of_two(axes, which, [2**power for power in range(low, high, step)])
        axes.set(**{f"{which}lim": (min(sizes) / 2, max(sizes) * 2)})
    axes.set(xlabel="columns", ylabel="rows")


@drawn
def worklog_comparison(gpus: Sequence[str] = (DEFAULT_GPU,)) -> Picture:
    """How many times as fast as naive, and as torch, each rung is: in the original worklog and on `gpus`.

    Ratios are computed from times. Raises `BadInput` for a GPU without a record of the worklog's shape.
    """
    shape = (ORIGINAL_WORKLOG.rows, ORIGINAL_WORKLOG.cols)
    series: dict[str, dict[str, float]] = {f"{ORIGINAL_WORKLOG.gpu}, cited": ORIGINAL_WORKLOG.ms}
    shown = []
    for gpu in gpus:
        times = recorded(gpu).times(*shape)
        if not {"naive", "torch"} <= times.keys():
            raise BadInput(f"naive and torch were not both recorded on {shape} on {gpu}.")
        series[recorded(gpu).gpu] = {name: row.median_us for name, row in times.items()}
        shown += [row for name, row in times.items() if name in (*_names(), "torch")]
    stale = {row.provider for row in shown if row.stale}
    height = 3.2 + 0.38 * len(series) * len(_names())
    figure = start("Speed-up in the original worklog and here", height)
    panels = figure.subplots(2)
    told = [
        _ratios(axes, series, base) for axes, base in zip(panels, ("naive", "torch"), strict=True)
    ]
    for axes in panels:
        names = [f"{name}*" if name in stale else name for name in _names()]
        axes.set_yticks(range(len(names)), names)
    legend(panels[0], 1)
    alt = f"Speed on {shape[0]} × {shape[1]} floats. {'. '.join(told)}"
    cited = f"{ORIGINAL_WORKLOG.gpu}: {ORIGINAL_WORKLOG.source}"
    return finish(figure, alt, provenance(shown), cited)


def _names() -> list[str]:
    return [kernel.name for kernel in rungs()]


def _ratios(axes: Axes, series: dict[str, dict[str, float]], base: str) -> str:
    """One mark a rung and GPU at the time of `base` over its own; the same in words."""
    told = []
    for number, (where, times) in enumerate(series.items()):
        names = [name for name in _names() if name in times]
        ratios = [times[base] / times[name] for name in names]
        lift = 0.8 * ((number + 0.5) / len(series) - 0.5)
        places = [_names().index(name) + lift for name in names]
        axes.plot(ratios, places, _MARKERS[number % 5], color=_COLORS[number % 5], label=where)
        for at in zip(ratios, places, strict=True):
            note(axes, f"{at[0]:.3g}", at, (8, 0))
        told.append(
            f"{where}: {', '.join(f'{n} {r:.3g}' for n, r in zip(names, ratios, strict=True))}"
        )
    axes.axvline(1, color=GREY, linestyle=":", zorder=0.9)
    logarithmic(axes, "x")
    axes.margins(x=0.12)
    axes.set(xlabel=f"times as fast as {base}", ylim=(len(_names()) - 0.5, -0.5))
    axes.grid(visible=False, axis="y")
    return f"Times as fast as {base}: {'; '.join(told)}"
