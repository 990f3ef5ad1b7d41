"""Times in a record: the ladder on one shape, what one change is worth, and times by columns and by rows."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from softmax_lib.engine.words import time_in_words
from softmax_lib.records.measurement import PEERS, Measurement
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.show.figures import look
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.registry import kernels, rungs

_STEADY_WAVES = 8


@look.drawn
def ladder(rows: int = 1024, cols: int = 32768, *, gpu: str = DEFAULT_GPU) -> look.Figure:
    """Time of every rung on a (rows, cols) float32 matrix; torch, the best peer and a copy as lines.

    A rung that the record knows nothing of has a line that says so. Raises `BadInput` for a shape that was never recorded.
    """
    times = recorded(gpu).times(rows, cols)
    shown = [times[kernel.name] for kernel in rungs() if kernel.name in times]
    if not shown:
        raise BadInput(f"No rung was recorded on ({rows}, {cols}) on {recorded(gpu).gpu}.")
    missing = recorded(gpu).unmeasured(kernel.name for kernel in rungs())
    height = 1.4 + 0.42 * (len(shown) + len(missing))
    figure, axes = look.start(f"Time of each rung, {rows} × {cols} floats", height)
    lines = _marks_to_reach(axes, times, shown[0].copy_us)
    _dots(axes, shown, missing)
    look.logarithmic(axes, "x", look.round_time)
    axes.set_xlim(min(lines.values()) * 0.7)
    told = [f"{timing.label} {time_in_words(timing.median_us)}" for timing in shown]
    told += [f"{name} not yet measured" for name in missing]
    told += [f"{name} {time_in_words(time_us)}" for name, time_us in lines.items()]
    alt = f"Times for {rows} × {cols} floats: {', '.join(told)}"
    versions = recorded(gpu).versions(times)
    return look.finish(figure, alt, look.provenance(times.values()), versions)


def _dots(axes: Axes, shown: list[Measurement], missing: list[str]) -> None:
    for at, timing in enumerate(shown):
        axes.plot([1e-3, timing.median_us], [at, at], color=look.BLUE, alpha=0.5)
        axes.plot(timing.median_us, at, **look.mark(timing.case.provider))
        look.note(axes, time_in_words(timing.median_us), (timing.median_us, at), (9, 0))
    left = min(timing.median_us for timing in shown)
    for at in range(len(shown), len(shown) + len(missing)):
        look.note(axes, "not yet measured", (left, at), (9, 0))
    look.list_on_y(axes, [*(timing.label for timing in shown), *missing], 0.4)
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
    styles = ((look.INK, "-"), (look.VERMILION, "--"), (look.GREEN, ":"))
    for (name, time_us), (color, dashes) in zip(lines.items(), styles, strict=False):
        words = f"{name}: {time_in_words(time_us)}"
        axes.axvline(time_us, color=color, linestyle=dashes, label=words)
    return lines


@look.drawn
def gains(
    steps: Mapping[str, str], rows: int = 1024, cols: int = 32768, *, gpu: str = DEFAULT_GPU
) -> look.Figure:
    """Time of each kernel of `steps`, {name: what it changes}, and how many times as fast as the one before.

    One that the record knows nothing of is named in the note. Raises `BadInput` for a kernel that was
    never recorded on this shape, and where none was.
    """
    times = recorded(gpu).times(rows, cols)
    lacking = look.not_yet(recorded(gpu), steps)
    unmeasured = recorded(gpu).unmeasured(steps)
    steps = {name: words for name, words in steps.items() if name not in unmeasured}
    missing = [name for name in steps if name not in times] or ([] if steps else unmeasured)
    if missing or not steps:
        what = ", ".join(missing) or "An empty list of kernels"
        raise BadInput(f"{what} was not recorded on ({rows}, {cols}) on {recorded(gpu).gpu}.")
    shown = [times[name] for name in steps]
    title = f"One change at a time, {rows} × {cols} floats"
    figure, axes = look.start(title, 1 + 0.58 * len(shown))
    labels, told = [], []
    for at, (timing, words) in enumerate(zip(shown, steps.values(), strict=True)):
        gain = f", {shown[at - 1].median_us / timing.median_us:.2f}×" if at else ""
        axes.barh(at, timing.median_us, 0.5, color=look.BLUE)
        in_words = f"{time_in_words(timing.median_us)}{gain}"
        look.note(axes, in_words, (timing.median_us, at), (5, 0))
        labels.append(textwrap.fill(words, 18 if look.is_narrow() else 38))
        told.append(f"{words}: {in_words}")
    look.list_on_y(axes, labels)
    axes.axvline(shown[-1].copy_us, color=look.INK, linestyle="--", zorder=0.9)
    axes.set_xlabel("µs; dashed: a copy")
    axes.grid(visible=False, axis="y")
    alt = f"Times on {rows} × {cols} floats, each after one more change: {'; '.join(told)}"
    return look.finish(figure, alt, look.provenance(shown), lacking)


@look.drawn
def bandwidth_by_cols(rows: int = 1024, *, gpu: str = DEFAULT_GPU) -> look.Figure:
    """GB/s of rungs (above) and of the last rung and the peers (below) against the length of a row.

    Raises `BadInput` when no rung was recorded on two lengths of this many rows.
    """
    record = recorded(gpu)
    on_rows = record.select(rows=rows, dtype="float32", l2="cold")
    lengths = sorted({timing.case.cols for timing in on_rows})
    table = {cols: record.times(rows, cols) for cols in lengths}
    both = (kernels.keys(), set(PEERS))  # a sweep is where kernels and peers were timed
    table = {c: times for c, times in table.items() if all(times.keys() & of for of in both)}
    if len(table) < 2:
        raise BadInput(f"No sweep over row lengths was recorded for {rows} rows on {record.gpu}.")
    figure, (above, below) = look.start(f"Bandwidth of {rows} rows by their length", 6.2, 2)
    names = [kernel.name for kernel in rungs()]
    told = _bandwidths(above, table, names)
    told += f"; beside others, {_bandwidths(below, table, [names[-1], *PEERS])}"
    look.logarithmic(above, "y")
    above.set_ylabel("GB/s, logarithmic")
    below.set(ylim=(0, None), ylabel="GB/s", xlabel="columns")
    look.powers_of_two(below, list(table)[::2])
    shown = [timing for times in table.values() for timing in times.values()]
    alt = f"Bandwidth against row length, {rows} rows. From {min(table)} to {max(table)} columns: {told}"
    versions = record.versions(timing.case.provider for timing in shown)
    lacking = look.not_yet(record, names)
    return look.finish(figure, alt, look.provenance(shown), versions, lacking)


def _bandwidths(axes: Axes, table: dict[int, dict[str, Measurement]], names: Iterable[str]) -> str:
    """One line per name, and the copy's; both ends of each in words."""
    copies = [next(iter(times.values())).copy_gb_per_s for times in table.values()]
    axes.plot(list(table), copies, color=look.INK, label="a copy")
    told = []
    for name in names:
        points = [times[name] for times in table.values() if name in times]
        if not points:
            continue
        first, last = points[0], points[-1]
        lengths = [timing.case.cols for timing in points]
        speeds = [timing.gb_per_s for timing in points]
        axes.plot(lengths, speeds, **look.mark(name), label=first.label)
        told.append(f"{first.label} {first.gb_per_s:.0f} to {last.gb_per_s:.0f} GB/s")
    return ", ".join(told)


@look.drawn
def time_by_rows(
    names: Sequence[str] = ("fusion", "fusion_two_barriers"),
    cols: int = 32768,
    *,
    gpu: str = DEFAULT_GPU,
) -> look.Figure:
    """How much longer than a copy `names` take, against the rows that each multiprocessor gets in turn.

    The note has the line through the points from 8 rows on: what one more row for all costs, and what
    is left without any. Raises `BadInput` where fewer than two such points were recorded.
    """
    record = recorded(gpu)
    if not names:
        raise BadInput("An empty list of kernels has no times.")
    figure, axes = look.start(f"Time beyond a copy's, against rows of {cols} floats", 3.8)
    told: list[str] = []
    shown: list[Measurement] = []
    for name in names:
        timings = _waves(record.select(provider=name, cols=cols, l2="cold"), record.multiprocessors)
        if len([waves for waves in timings if waves >= _STEADY_WAVES]) < 2:
            raise BadInput(f"{name} was not recorded on whole waves of rows on {record.gpu}.")
        beyond = [timing.median_us - timing.copy_us for timing in timings.values()]
        axes.plot(list(timings), beyond, **look.mark(name), label=name)
        told.append(_line(name, {waves: t.median_us for waves, t in timings.items()}))
        shown += timings.values()
        copies = {waves: timing.copy_us for waves, timing in timings.items()}
    told.append(_line("a copy", copies))
    axes.set(xlabel="rows for each multiprocessor", ylabel="µs more than a copy")
    axes.set(xlim=(0, None), ylim=(0, None))
    lines = "; ".join(told)
    alt = f"Time against rows for each multiprocessor: {lines}"
    return look.finish(figure, alt, lines, look.provenance(shown))


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
