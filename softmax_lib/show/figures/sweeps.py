"""How bandwidth changes with the length of a row."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes

from softmax_lib.records.measurement import PEERS, Measurement
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.suites.look import (
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
    start,
)
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.registry import kernels, rungs


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
