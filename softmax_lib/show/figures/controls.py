"""What one change is worth: kernels that differ in one thing, and times against rows."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

from softmax_lib.engine.words import time_in_words
from softmax_lib.records.measurement import Measurement
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.suites.look import (
    BLUE,
    INK,
    Figure,
    drawn,
    finish,
    is_narrow,
    legend,
    mark,
    not_yet,
    note,
    provenance,
    start,
)
from softmax_lib.worklog.errors import BadInput

_STEADY_WAVES = 8


@drawn
def gains(
    steps: Mapping[str, str], rows: int = 1024, cols: int = 32768, *, gpu: str = DEFAULT_GPU
) -> Figure:
    """Time of each kernel of `steps`, {name: what it changes}, and how many times as fast as the one before.

    One that the record knows nothing of is named in the note. Raises `BadInput` for a kernel that was
    never recorded on this shape, and where none was.
    """
    times = recorded(gpu).times(rows, cols)
    lacking = not_yet(recorded(gpu), steps)
    unmeasured = recorded(gpu).unmeasured(steps)
    steps = {name: words for name, words in steps.items() if name not in unmeasured}
    missing = [name for name in steps if name not in times] or ([] if steps else unmeasured)
    if missing or not steps:
        what = ", ".join(missing) or "An empty list of kernels"
        raise BadInput(f"{what} was not recorded on ({rows}, {cols}) on {recorded(gpu).gpu}.")
    shown = [times[name] for name in steps]
    figure = start(f"One change at a time, {rows} × {cols} floats", 1 + 0.58 * len(shown))
    axes = figure.subplots()
    labels, told = [], []
    for at, (timing, words) in enumerate(zip(shown, steps.values(), strict=True)):
        gain = f", {shown[at - 1].median_us / timing.median_us:.2f}×" if at else ""
        axes.barh(at, timing.median_us, 0.5, color=BLUE)
        note(axes, f"{time_in_words(timing.median_us)}{gain}", (timing.median_us, at), (5, 0))
        labels.append(textwrap.fill(words, 18 if is_narrow() else 38))
        told.append(f"{words}: {time_in_words(timing.median_us)}{gain}")
    axes.set_yticks(range(len(shown)), labels)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.axvline(shown[-1].copy_us, color=INK, linestyle="--", zorder=0.9)
    axes.set_xlabel("µs; dashed: a copy")
    axes.grid(visible=False, axis="y")
    alt = f"Times on {rows} × {cols} floats, each after one more change: {'; '.join(told)}"
    return finish(figure, alt, provenance(shown), lacking)


@drawn
def time_by_rows(
    names: Sequence[str] = ("fusion", "fusion_two_barriers"),
    cols: int = 32768,
    *,
    gpu: str = DEFAULT_GPU,
) -> Figure:
    """How much longer than a copy `names` take, against the rows that each multiprocessor gets in turn.

    The note has the line through the points from 8 rows on: what one more row for all costs, and what
    is left without any. Raises `BadInput` where fewer than two such points were recorded.
    """
    record = recorded(gpu)
    if not names:
        raise BadInput("An empty list of kernels has no times.")
    figure = start(f"Time beyond a copy's, against rows of {cols} floats", 3.8)
    axes = figure.subplots()
    told: list[str] = []
    shown: list[Measurement] = []
    for name in names:
        timings = _waves(record.select(provider=name, cols=cols, l2="cold"), record.multiprocessors)
        if len([waves for waves in timings if waves >= _STEADY_WAVES]) < 2:
            raise BadInput(f"{name} was not recorded on whole waves of rows on {record.gpu}.")
        beyond = [timing.median_us - timing.copy_us for timing in timings.values()]
        axes.plot(list(timings), beyond, **mark(name), label=name)
        told.append(_line(name, {waves: t.median_us for waves, t in timings.items()}))
        shown += timings.values()
        copies = {waves: timing.copy_us for waves, timing in timings.items()}
    told.append(_line("a copy", copies))
    axes.set(
        xlabel="rows for each multiprocessor",
        ylabel="µs more than a copy",
        xlim=(0, None),
        ylim=(0, None),
    )
    legend(figure)
    lines = "; ".join(told)
    return finish(
        figure, f"Time against rows for each multiprocessor: {lines}", lines, provenance(shown)
    )


def _waves(timings: Sequence[Measurement], multiprocessors: int) -> dict[int, Measurement]:
    """Those on whole waves, by how many rows each multiprocessor gets, at their best block size."""
    found: dict[int, Measurement] = {}
    for timing in sorted(timings, key=lambda timing: (timing.case.rows, -timing.median_us)):
        waves, rest = divmod(timing.case.rows, multiprocessors)
        if not rest:
            found[waves] = timing
    return found


def _line(name: str, times_us: Mapping[int, float]) -> str:
    waves = [at for at in times_us if at >= _STEADY_WAVES]
    slope, intercept = np.polyfit(waves, [times_us[at] for at in waves], 1)
    return f"{name} {slope:.2f} µs per row, plus {intercept:.1f} µs per launch"
