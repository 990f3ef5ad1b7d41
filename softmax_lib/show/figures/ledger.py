"""The traffic ledger: bytes that a kernel should move, bytes that it moved, and the least."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from softmax_lib.engine.xrays.lines import SECTOR_BYTES
from softmax_lib.records.measurement import Profile
from softmax_lib.records.record import Record
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.suites.look import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    Figure,
    drawn,
    finish,
    legend,
    not_yet,
    note,
    start,
)
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.registry import kernels
from softmax_lib.worklog.requests import predict_traffic


@drawn
def traffic_ledger(
    rows: int = 1024,
    cols: int = 32768,
    *,
    names: Sequence[str] | None = None,
    gpu: str = DEFAULT_GPU,
) -> Figure:
    """Bytes of each kernel, in matrices of (rows, cols) floats read and written once: predicted from
    how its lanes lie, counted where L1 looks its sectors up (hits too), and counted at DRAM.

    `names` defaults to all but the controls that were profiled on this shape. Raises `BadInput` when
    none was.
    """
    record = recorded(gpu)
    profiles = record.profiles_on(rows, cols)
    wanted = names or [kernel.name for kernel in kernels.values() if not kernel.of]
    chosen = [name for name in kernels if name in wanted and name in profiles]
    if not chosen:
        there = ", ".join(profiles)
        raise BadInput(
            f"On ({rows}, {cols}) ncu profiled none of these on {record.gpu}, but {there}."
        )
    table = {name: _bytes(profiles[name]) for name in chosen}
    figure = start(f"Bytes moved, {rows} × {cols} floats", 1.9 + 0.55 * len(chosen))
    axes = figure.subplots()
    _bars(axes, record, table)
    legend(figure)
    told = [
        f"{name} {', '.join(f'{what} {share:.2f}' for what, share in shares.items())}"
        for name, shares in table.items()
    ]
    alt = (
        f"Bytes as multiples of one read and one write of {rows} × {cols} floats: {'; '.join(told)}"
    )
    stale = any(record.is_stale(name) for name in chosen)
    changed = "* before this kernel changed" if stale else ""
    counted = f"counted by ncu on {record.where}"
    return finish(figure, alt, counted, changed, not_yet(record, wanted))


_LEDGER = {
    "predicted, at L1": (BLUE, ""),
    "ncu, at L1": (ORANGE, "//"),
    "ncu, at DRAM": (GREY, ""),
}


def _bytes(profile: Profile) -> dict[str, float]:
    """Predicted and counted bytes as multiples of the floor, in the order of the legend."""
    case, counters = profile.case, profile.counters
    kernel = kernels[case.provider]
    expected = predict_traffic(
        kernel, *case.shape, kernel.settle_block_size(case.block_size, case.cols)
    )
    sectors = counters["global_load_sectors"] + counters["global_store_sectors"]
    dram = counters["dram_read_bytes"] + counters["dram_write_bytes"]
    counted = (expected.sector_bytes, SECTOR_BYTES * sectors, dram)
    return {
        name: value / expected.floor_bytes for name, value in zip(_LEDGER, counted, strict=True)
    }


def _bars(axes: Axes, record: Record, table: dict[str, dict[str, float]]) -> None:
    for offset, (what, (color, hatch)) in enumerate(_LEDGER.items()):
        places = [at + 0.27 * (offset - 1) for at in range(len(table))]
        values = [shares[what] for shares in table.values()]
        axes.barh(places, values, 0.25, color=color, hatch=hatch, edgecolor="white", label=what)
        for at in zip(values, places, strict=True):
            note(axes, f"{at[0]:.2f}", at, (4, 0))
    names = [f"{name}*" if record.is_stale(name) else name for name in table]
    axes.set_yticks(range(len(table)), names)
    axes.set_ylim(len(table) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.axvline(1, color=INK, linestyle="--", zorder=0.9, label="the least: one read, one write")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("bytes, as a multiple of the least")
    axes.grid(visible=False, axis="y")
