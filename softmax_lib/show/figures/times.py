"""The ladder on one shape: how long each rung takes, and what there is to reach."""

from __future__ import annotations

from matplotlib.axes import Axes

from softmax_lib.engine.words import time_in_words
from softmax_lib.records.measurement import PEERS, Measurement
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.suites.look import (
    BLUE,
    GREEN,
    INK,
    VERMILION,
    Figure,
    drawn,
    finish,
    legend,
    logarithmic,
    mark,
    note,
    provenance,
    round_time,
    start,
)
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.registry import rungs


@drawn
def ladder(rows: int = 1024, cols: int = 32768, *, gpu: str = DEFAULT_GPU) -> Figure:
    """Time of every rung on a (rows, cols) float32 matrix; torch, the best peer and a copy as lines.

    A rung that the record knows nothing of has a line that says so. Raises `BadInput` for a shape that was never recorded.
    """
    times = recorded(gpu).times(rows, cols)
    shown = [times[kernel.name] for kernel in rungs() if kernel.name in times]
    if not shown:
        raise BadInput(f"No rung was recorded on ({rows}, {cols}) on {recorded(gpu).gpu}.")
    missing = recorded(gpu).unmeasured(kernel.name for kernel in rungs())
    lines_there = len(shown) + len(missing)
    figure = start(f"Time of each rung, {rows} × {cols} floats", 1.4 + 0.42 * lines_there)
    axes = figure.subplots()
    lines = _marks_to_reach(axes, times, shown[0].copy_us)
    _dots(axes, shown, missing)
    logarithmic(axes, "x", round_time)
    axes.set_xlim(min(lines.values()) * 0.7)
    legend(figure)
    told = [f"{timing.label} {time_in_words(timing.median_us)}" for timing in shown]
    told += [f"{name} not yet measured" for name in missing]
    told += [f"{name} {time_in_words(time_us)}" for name, time_us in lines.items()]
    alt = f"Times for {rows} × {cols} floats: {', '.join(told)}"
    return finish(figure, alt, provenance(times.values()), recorded(gpu).versions(times))


def _dots(axes: Axes, shown: list[Measurement], missing: list[str]) -> None:
    for at, timing in enumerate(shown):
        axes.plot([1e-3, timing.median_us], [at, at], color=BLUE, alpha=0.5)
        axes.plot(timing.median_us, at, **mark(timing.case.provider))
        note(axes, time_in_words(timing.median_us), (timing.median_us, at), (9, 0))
    left = min(timing.median_us for timing in shown)
    for at in range(len(shown), len(shown) + len(missing)):
        note(axes, "not yet measured", (left, at), (9, 0))
    names = [*(timing.label for timing in shown), *missing]
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def _marks_to_reach(axes: Axes, times: dict[str, Measurement], copy_us: float) -> dict[str, float]:
    """Lines at a copy, at the best peer and at torch; what each is called, and its time."""
    peers = [times[name] for name in PEERS if name in times]
    lines = {"a copy": copy_us}
    if peers:
        best = min(peers, key=lambda timing: timing.median_us)
        lines[f"best peer, {best.label}"] = best.median_us
    if "torch" in times:
        lines["torch"] = times["torch"].median_us
    styles = ((INK, "-"), (VERMILION, "--"), (GREEN, ":"))
    for (name, time_us), (color, dashes) in zip(lines.items(), styles, strict=False):
        words = f"{name}: {time_in_words(time_us)}"
        axes.axvline(time_us, color=color, linestyle=dashes, label=words)
    return lines
