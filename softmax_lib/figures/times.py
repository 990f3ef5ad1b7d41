"""The ladder on one shape: how long each rung takes, and what there is to reach."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from softmax_lib.bench.peers import PEERS
from softmax_lib.errors import BadInput
from softmax_lib.figures.picture import (
    BLUE,
    GREEN,
    INK,
    LIVE,
    VERMILION,
    Picture,
    drawn,
    finish,
    label,
    legend,
    logarithmic,
    mark,
    note,
    provenance,
    round_time,
    start,
    time_in_words,
)
from softmax_lib.measurements import DEFAULT_GPU, recorded
from softmax_lib.records.record import Measurement
from softmax_lib.registry import rungs


@drawn
def ladder(
    rows: int = 1024,
    cols: int = 32768,
    *,
    gpu: str = DEFAULT_GPU,
    live: Sequence[Measurement] = (),
) -> Picture:
    """Time of every rung on a (rows, cols) float32 matrix; torch, the best peer and a copy as lines.

    `live` measurements of these rungs stand beside the recorded ones as stars. Raises `BadInput` for a shape that
    was never recorded.
    """
    times = recorded(gpu).times(rows, cols)
    steps = [times[kernel.name] for kernel in rungs() if kernel.name in times]
    if not steps:
        raise BadInput(f"No rung was recorded on ({rows}, {cols}) on {recorded(gpu).gpu}.")
    figure = start(f"Time of each rung, {rows} × {cols} floats", 2.2 + 0.4 * len(steps))
    axes = figure.subplots()
    lines = _marks_to_reach(axes, times, steps[0].copy_us)
    _dots(axes, steps, live)
    logarithmic(axes, "x", round_time)
    axes.set_xlim(min(lines.values()) * 0.7, max(row.median_us for row in [*steps, *live]) * 5)
    legend(axes, 1)
    told = [f"{label(row)} {time_in_words(row.median_us)}" for row in steps]
    told += [f"{name} {time_in_words(time_us)}" for name, time_us in lines.items()]
    told += [f"{row.provider} live {time_in_words(row.median_us)}" for row in live]
    alt = f"Times for {rows} × {cols} floats: {', '.join(told)}"
    return finish(figure, alt, provenance([*times.values(), *live]))


def _dots(axes: Axes, steps: list[Measurement], live: Sequence[Measurement]) -> None:
    names = [step.provider for step in steps]
    for at, row in enumerate(steps):
        axes.plot([1e-3, row.median_us], [at, at], color=BLUE, alpha=0.5)
        axes.plot(row.median_us, at, **mark(row.provider))
        note(axes, time_in_words(row.median_us), (row.median_us, at), (9, 0))
    for row in (row for row in live if row.provider in names):
        point = (row.median_us, names.index(row.provider) + 0.36)
        axes.plot(*point, **LIVE)
        note(axes, f"live {time_in_words(row.median_us)}", point, (9, 0))
    axes.set_yticks(range(len(steps)), [label(row) for row in steps])
    axes.set_ylim(len(steps) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def _marks_to_reach(axes: Axes, times: dict[str, Measurement], copy_us: float) -> dict[str, float]:
    """Lines at a copy, at the best peer and at torch; what each is called, and its time."""
    peers = [times[name] for name in PEERS if name in times]
    lines = {"a copy": copy_us}
    if peers:
        best = min(peers, key=lambda row: row.median_us)
        lines[f"best peer, {label(best)}"] = best.median_us
    if "torch" in times:
        lines["torch"] = times["torch"].median_us
    styles = ((INK, "-"), (VERMILION, "--"), (GREEN, ":"))
    for (name, time_us), (color, dashes) in zip(lines.items(), styles, strict=False):
        words = f"{name}: {time_in_words(time_us)}"
        axes.axvline(time_us, color=color, linestyle=dashes, label=words)
    return lines
