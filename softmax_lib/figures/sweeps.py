"""What changes along one axis: bandwidth with the length of a row, time with the block size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes

from softmax_lib.errors import BadInput
from softmax_lib.figures.look import (
    INK,
    Figure,
    drawn,
    finish,
    legend,
    logarithmic,
    mark,
    not_yet,
    powers_of_two,
    provenance,
    round_time,
    start,
)
from softmax_lib.records.measurement import PEERS, Measurement
from softmax_lib.records.record import Record
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.registry import kernels, rungs
from softmax_lib.words import time_in_words


@drawn
def bandwidth_by_cols(rows: int = 1024, *, gpu: str = DEFAULT_GPU) -> Figure:
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
    figure = start(f"Bandwidth of {rows} rows by their length", 6.2)
    above, below = figure.subplots(2, sharex=True)
    names = [kernel.name for kernel in rungs()]
    told = _bandwidths(above, table, names)
    told += f"; beside others, {_bandwidths(below, table, [names[-1], *PEERS])}"
    legend(figure)
    logarithmic(above, "y")
    above.set_ylabel("GB/s, logarithmic")
    below.set(ylim=(0, None), ylabel="GB/s", xlabel="columns")
    powers_of_two(below, "x", list(table)[::2])
    shown = [timing for times in table.values() for timing in times.values()]
    alt = f"Bandwidth against row length, {rows} rows. From {min(table)} to {max(table)} columns: {told}"
    versions = record.versions(timing.case.provider for timing in shown)
    return finish(figure, alt, provenance(shown), versions, not_yet(record, names))


def _bandwidths(axes: Axes, table: dict[int, dict[str, Measurement]], names: Iterable[str]) -> str:
    """One line per name, and the copy's; both ends of each in words."""
    copies = [next(iter(times.values())) for times in table.values()]
    told = []
    axes.plot(list(table), [timing.copy_gb_per_s for timing in copies], color=INK, label="a copy")
    for name in names:
        points = [times[name] for times in table.values() if name in times]
        if not points:
            continue
        first, last = points[0], points[-1]
        lengths = [timing.case.cols for timing in points]
        speeds = [timing.gb_per_s for timing in points]
        axes.plot(lengths, speeds, **mark(name), label=first.label)
        told.append(f"{first.label} {first.gb_per_s:.0f} to {last.gb_per_s:.0f} GB/s")
    return ", ".join(told)


@drawn
def time_by_block_size(*, rows: int = 1024, cols: int = 32768, gpu: str = DEFAULT_GPU) -> Figure:
    """Time of every rung against threads per block; a ring marks the block size that it chooses itself.

    Raises `BadInput` for a shape on which no rung was recorded.
    """
    record = recorded(gpu)
    curves = {kernel.name: _by_block_size(record, kernel.name, rows, cols) for kernel in rungs()}
    curves = {name: points for name, points in curves.items() if points}
    if not curves:
        raise BadInput(f"No rung was recorded on ({rows}, {cols}) on {record.gpu}.")
    figure = start(f"Every rung by block size, {rows} × {cols} floats", 4.4)
    axes = figure.subplots()
    for name, points in curves.items():
        sizes, times = zip(
            *((size, timing.median_us) for size, timing in points.items()), strict=True
        )
        own = kernels[name].choose_block_size(cols)
        axes.plot(sizes, times, **mark(name), label=next(iter(points.values())).label)
        if own in points:
            axes.plot(own, points[own].median_us, **_RING)
    shown = [timing for points in curves.values() for timing in points.values()]
    copy_us = shown[0].copy_us
    axes.axhline(copy_us, color=INK, label=f"a copy: {time_in_words(copy_us)}")
    offered = sorted({size for points in curves.values() for size in points})
    powers_of_two(axes, "x", [size for size in offered if size.bit_count() == 1])
    axes.set_xlabel("threads per block")
    logarithmic(axes, "y", round_time)
    legend(figure)
    told = [
        f"{timing.label} {timing.case.block_size} threads {time_in_words(timing.median_us)}"
        for timing in shown
    ]
    alt = f"Time against threads per block on {rows} × {cols} floats: {', '.join(told)}; a copy {time_in_words(copy_us)}"
    missing = not_yet(record, [kernel.name for kernel in rungs()])
    return finish(figure, alt, provenance(shown), missing)


_RING: Any = {
    "marker": "o", "markersize": 14, "markerfacecolor": "none", "linestyle": "", "color": INK,
}  # fmt: skip


def _by_block_size(record: Record, name: str, rows: int, cols: int) -> dict[int, Measurement]:
    points = record.select(provider=name, rows=rows, cols=cols, dtype="float32", l2="cold")
    return {size: timing for timing in sorted(points, key=_size) if (size := _size(timing))}


def _size(timing: Measurement) -> int:
    return timing.case.block_size or 0
