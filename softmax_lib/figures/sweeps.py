"""What changes along one axis: bandwidth with the length of a row, time with the block size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes

from softmax_lib.bench.peers import PEERS
from softmax_lib.errors import BadInput
from softmax_lib.figures.picture import (
    INK,
    LIVE,
    Picture,
    drawn,
    finish,
    label,
    legend,
    logarithmic,
    mark,
    powers_of_two,
    provenance,
    round_time,
    start,
    time_in_words,
)
from softmax_lib.measurements import DEFAULT_GPU, recorded
from softmax_lib.records.record import Measurement, Record
from softmax_lib.registry import find_kernel, kernels, rungs


@drawn
def bandwidth_by_cols(rows: int = 1024, *, gpu: str = DEFAULT_GPU) -> Picture:
    """GB/s of rungs (above) and of the last rung and the peers (below) against the length of a row.

    Raises `BadInput` when no rung was recorded on two lengths of this many rows.
    """
    record = recorded(gpu)
    lengths = sorted({row.cols for row in record.select(rows=rows, dtype="float32", l2="cold")})
    table = {cols: record.times(rows, cols) for cols in lengths}
    table = {cols: times for cols, times in table.items() if times.keys() & kernels.keys()}
    if len(table) < 2:
        raise BadInput(f"No sweep over row lengths was recorded for {rows} rows on {record.gpu}.")
    figure = start(f"Bandwidth of {rows} rows by their length", 7.4)
    above, below = figure.subplots(2, sharex=True)
    names = [kernel.name for kernel in rungs()]
    told = _bandwidths(above, table, names)
    _bandwidths(below, table, [names[-1], *PEERS])
    logarithmic(above, "y")
    above.set_ylabel("GB/s, logarithmic")
    below.set(ylim=(0, None), ylabel="GB/s", xlabel="columns")
    powers_of_two(below, "x", list(table)[::2])
    shown = [row for times in table.values() for row in times.values()]
    alt = f"Bandwidth against row length, {rows} rows. From {lengths[0]} to {max(table)} columns: {told}"
    return finish(figure, alt, provenance(shown))


def _bandwidths(axes: Axes, table: dict[int, dict[str, Measurement]], names: Iterable[str]) -> str:
    """One line a name, and the copy's; both ends of each in words."""
    copies = [next(iter(times.values())) for times in table.values()]
    told = []
    axes.plot(list(table), [row.copy_gb_per_s for row in copies], color=INK, label="a copy")
    for name in names:
        points = [times[name] for times in table.values() if name in times]
        if not points:
            continue
        axes.plot(
            [row.cols for row in points],
            [row.gb_per_s for row in points],
            **mark(name),
            label=label(points[0]),
        )
        told.append(
            f"{label(points[0])} {points[0].gb_per_s:.0f} to {points[-1].gb_per_s:.0f} GB/s"
        )
    legend(axes, 3)
    return ", ".join(told)


@drawn
def time_by_block_size(
    name: str | None = None,
    *,
    rows: int = 1024,
    cols: int = 32768,
    block_size: int | None = None,
    gpu: str = DEFAULT_GPU,
    live: Sequence[Measurement] = (),
) -> Picture:
    """Time against threads a block: of one kernel, or of every rung.

    A ring marks `block_size`, or the one a kernel chooses itself; `live` measurements are stars.
    Raises `BadInput` for a kernel or block size never recorded on this shape.
    """
    record = recorded(gpu)
    wanted = [find_kernel(name).name] if name else [kernel.name for kernel in rungs()]
    curves = {one: _by_block_size(record, one, rows, cols) for one in wanted}
    curves = {one: points for one, points in curves.items() if points}
    if not curves:
        raise BadInput(f"{name or 'No rung'} was not recorded on ({rows}, {cols}) on {record.gpu}.")
    figure = start(
        f"{name or 'Every rung'} by block size, {rows} × {cols} floats", 3.9 if name else 5.2
    )
    axes = figure.subplots()
    for one, points in curves.items():
        axes.plot([row.block_size or 0 for row in points], [row.median_us for row in points], **mark(one),
                  label=label(points[0]))  # fmt: skip
        _ring(
            axes,
            record.find(
                one, rows, cols, "float32", _chosen(one, cols, block_size if name else None), "cold"
            ),
            bool(name),
        )
    for row in live:
        words = f"live {label(row)}: {time_in_words(row.median_us)}"
        axes.plot(row.block_size or 0, row.median_us, **LIVE, label=words)
    shown = [row for points in curves.values() for row in points]
    copy_us = shown[0].copy_us
    axes.axhline(copy_us, color=INK, label=f"a copy: {time_in_words(copy_us)}")
    _scale(axes, shown, bool(name))
    legend(axes, 2 if name else 3)
    told = [
        f"{label(row)} {row.block_size} threads {time_in_words(row.median_us)}" for row in shown
    ]
    alt = f"Time against threads a block on {rows} × {cols} floats: {', '.join(told)}; a copy {time_in_words(copy_us)}"
    return finish(figure, alt, provenance([*shown, *live]))


def _by_block_size(record: Record, name: str, rows: int, cols: int) -> list[Measurement]:
    points = record.select(provider=name, rows=rows, cols=cols, dtype="float32", l2="cold")
    return sorted(points, key=lambda row: row.block_size or 0)


def _chosen(name: str, cols: int, block_size: int | None) -> int:
    return kernels[name].settle_block_size(block_size, cols)


def _ring(axes: Axes, row: Measurement, in_words: bool) -> None:
    words = f"{row.block_size} threads: {time_in_words(row.median_us)}" if in_words else None
    style: Any = {"marker": "o", "markersize": 14, "markerfacecolor": "none", "linestyle": ""}
    axes.plot(row.block_size or 0, row.median_us, color=INK, label=words, **style)


def _scale(axes: Axes, shown: list[Measurement], is_one: bool) -> None:
    sizes = sorted({row.block_size or 0 for row in shown})
    powers_of_two(axes, "x", [size for size in sizes if size.bit_count() == 1])
    axes.set_xlabel("threads a block")
    if is_one:
        axes.set_ylim(0, 1.12 * max(row.median_us for row in shown))
        axes.yaxis.set_major_formatter(lambda value, _: round_time(value))
    else:
        logarithmic(axes, "y", round_time)
