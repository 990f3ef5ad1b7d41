"""Who wins where, and how this book's GPU compares with the original worklog's."""

from __future__ import annotations

from typing import Any, Literal

from matplotlib.axes import Axes

from softmax_lib.errors import BadInput
from softmax_lib.figures.look import (
    BLUE,
    GREY,
    Figure,
    drawn,
    finish,
    legend,
    logarithmic,
    mark,
    not_yet,
    note,
    powers_of_two,
    provenance,
    start,
)
from softmax_lib.records.cited import ORIGINAL_WORKLOG
from softmax_lib.records.measurement import Measurement
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.registry import kernels, rungs

Shape = tuple[int, int]


@drawn
def crossover(*, dtype: str = "float32", gpu: str = DEFAULT_GPU) -> Figure:
    """Which rung or peer is fastest on each (rows, cols) that was recorded for more than one of them.

    Within two per cent first and second tie. Where no rung was timed the mark is small: there the
    peers were only among themselves. A note counts where the best rung is ahead of the best peer.
    Raises `BadInput` for a dtype never recorded.
    """
    record = recorded(gpu)
    shapes = dict.fromkeys(
        timing.case.shape
        for timing in record.select(dtype=dtype, l2="cold")
        if timing.case.provider not in kernels
    )
    table = {shape: record.race(*shape, dtype) for shape in shapes}
    table = {shape: times for shape, times in table.items() if len(times) > 1}
    if not table:
        raise BadInput(f"Nothing was recorded in {dtype} on {record.gpu}.")
    winners = {shape: first for shape, (first, *_) in table.items()}
    ties = {shape: second for shape, (first, second, *_) in table.items() if second.ties(first)}
    figure = start(f"The fastest softmax by shape, {dtype}", 4.4)
    axes = figure.subplots()
    alone = {shape: timing for shape, timing in winners.items() if shape not in ties}
    for name in dict.fromkeys(timing.case.provider for timing in alone.values()):
        won = [shape for shape, timing in alone.items() if timing.case.provider == name]
        style = {**mark(name), "markeredgewidth": 2}
        _wins(axes, won, style, alone[won[0]].label, [_has_rung(table[shape]) for shape in won])
    tied = {"color": GREY, "marker": "_", "markeredgewidth": 4}
    _wins(axes, list(ties), tied, "a tie", [_has_rung(table[shape]) for shape in ties])
    _shape_axes(axes, list(table))
    legend(figure)
    told = [
        f"{rows} × {cols} {timing.label}{_with(ties.get((rows, cols)))}"
        for (rows, cols), timing in sorted(winners.items())
    ]
    small = "small marks: peers only" if not all(map(_has_rung, table.values())) else ""
    alt = f"The fastest by rows × columns, {dtype}: {', '.join(told)}"
    versions = record.versions(t.case.provider for times in table.values() for t in times)
    missing = not_yet(record, [kernel.name for kernel in rungs()])
    return finish(
        figure, alt, _score(table), provenance(winners.values()), versions, small, missing
    )


def _score(table: dict[Shape, list[Measurement]]) -> str:
    """On how many shapes the best rung is ahead of the best peer, ties with it, or is behind."""
    counts = dict.fromkeys(("ahead", "tied", "behind"), 0)
    for times in filter(_has_rung, table.values()):
        rung = next(timing for timing in times if timing.case.provider in kernels)
        peer = next(timing for timing in times if timing.case.provider not in kernels)
        ahead = "ahead" if rung is times[0] else "behind"
        counts["tied" if rung.ties(peer) else ahead] += 1
    told = ", ".join(f"{how} on {number}" for how, number in counts.items())
    return f"best rung against best peer: {told}" if any(counts.values()) else ""


def _with(second: Measurement | None) -> str:
    return f" = {second.label}" if second else ""


def _has_rung(times: list[Measurement]) -> bool:
    return any(timing.case.provider in kernels for timing in times)


def _wins(
    axes: Axes, shapes: list[Shape], look: dict[str, Any], label: str, with_rungs: list[bool]
) -> None:
    style = {**look, "linestyle": ""}
    for size in (11, 7):
        some = [
            shape for shape, rung in zip(shapes, with_rungs, strict=True) if rung == (size == 11)
        ]
        if some:
            axes.plot([c for _, c in some], [r for r, _ in some], **style, markersize=size)
    if shapes:
        axes.plot([], [], **style, markersize=9, label=label)


def _shape_axes(axes: Axes, shapes: list[Shape]) -> None:
    axis_names: tuple[Literal["y", "x"], ...] = ("y", "x")
    for which, sizes in zip(axis_names, zip(*shapes, strict=True), strict=True):
        low, high = min(sizes).bit_length() - 1, max(sizes).bit_length()
        step = 4 if high - low > 8 else 2
        powers_of_two(axes, which, [2**power for power in range(low, high, step)])
        axes.set(**{f"{which}lim": (min(sizes) / 2, max(sizes) * 2)})
    axes.set(xlabel="columns", ylabel="rows")


@drawn
def worklog_comparison(*, gpu: str = DEFAULT_GPU) -> Figure:
    """How many times as fast as naive, and as torch, each rung is: in the original worklog and on `gpu`.

    Ratios are computed from times. Raises `BadInput` for a GPU without a record of the worklog's shape.
    """
    rows, cols = ORIGINAL_WORKLOG.shape
    times = recorded(gpu).times(rows, cols)
    if not {"naive", "torch"} <= times.keys():
        raise BadInput(f"naive and torch were not both recorded on ({rows}, {cols}) on {gpu}.")
    here = {name: timing.median_us for name, timing in times.items()}
    series = {f"{ORIGINAL_WORKLOG.gpu}, cited": ORIGINAL_WORKLOG.ms, recorded(gpu).gpu: here}
    shown = [timing for name, timing in times.items() if name in (*_names(), "torch")]
    figure = start("Speed-up in the original worklog and here", 2 + 0.32 * 2 * len(_names()))
    panels = figure.subplots(2)
    told = [
        _ratios(axes, series, base) for axes, base in zip(panels, ("naive", "torch"), strict=True)
    ]
    stale = {timing.case.provider for timing in shown if timing.stale}
    names = [f"{name}*" if name in stale else name for name in _names()]
    for axes in panels:
        axes.set_yticks(range(len(names)), names)
    legend(figure)
    alt = f"Speed on {rows} × {cols} floats. {'. '.join(told)}"
    cited = f"{ORIGINAL_WORKLOG.gpu}: {ORIGINAL_WORKLOG.source}"
    versions, missing = recorded(gpu).versions(["torch"]), not_yet(recorded(gpu), _names())
    return finish(figure, alt, provenance(shown), versions, cited, missing)


def _names() -> list[str]:
    return [kernel.name for kernel in rungs()]


def _ratios(axes: Axes, series: dict[str, dict[str, float]], base: str) -> str:
    """One mark per rung and GPU at the time of `base` over its own; the same in words."""
    told = []
    looks = ((GREY, "s", -0.2), (BLUE, "D", 0.2))
    for (where, times), (color, marker, lift) in zip(series.items(), looks, strict=True):
        names = [name for name in _names() if name in times]
        ratios = [times[base] / times[name] for name in names]
        places = [_names().index(name) + lift for name in names]
        axes.plot(ratios, places, marker, color=color, label=where)
        for at in zip(ratios, places, strict=True):
            note(axes, f"{at[0]:.3g}", at, (8, 0))
        told.append(
            f"{where}: {', '.join(f'{n} {r:.3g}' for n, r in zip(names, ratios, strict=True))}"
        )
    axes.axvline(1, color=GREY, linestyle=":", zorder=0.9)
    logarithmic(axes, "x")
    axes.set(xlabel=f"times as fast as {base}", ylim=(len(_names()) - 0.5, -0.5))
    axes.grid(visible=False, axis="y")
    return f"Times as fast as {base}: {'; '.join(told)}"
