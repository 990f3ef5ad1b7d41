"""Bytes of kernels: how many each moves, predicted and counted, and how many are in flight at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from softmax_lib.engine.source import WARP
from softmax_lib.engine.xrays.lines import SECTOR_BYTES
from softmax_lib.records.measurement import Probe, Profile
from softmax_lib.records.record import Record
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.show.figures import look
from softmax_lib.worklog.errors import BadInput, CompileError, NotAvailable
from softmax_lib.worklog.reads import in_flight_per_thread, reads
from softmax_lib.worklog.registry import kernels
from softmax_lib.worklog.requests import predict_traffic

_LEDGER = {
    "predicted, at L1": (look.BLUE, ""),
    "ncu, at L1": (look.ORANGE, "//"),
    "ncu, at DRAM": (look.GREY, ""),
}
_CHANGED = "* before this kernel changed"
SHOWN = ("naive", "online", "shared", "shuffle", "constant_stride", "float4", "fusion")
"""Every rung, and the control that asks for more by one word."""


@look.drawn
def traffic_ledger(
    rows: int = 1024,
    cols: int = 32768,
    *,
    names: Sequence[str] | None = None,
    gpu: str = DEFAULT_GPU,
) -> look.Figure:
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
    figure, axes = look.start(f"Bytes moved, {rows} × {cols} floats", 1.9 + 0.55 * len(chosen))
    _bars(axes, record, table)
    told = [
        f"{name} {', '.join(f'{what} {share:.2f}' for what, share in shares.items())}"
        for name, shares in table.items()
    ]
    alt = (
        f"Bytes as multiples of one read and one write of {rows} × {cols} floats: {'; '.join(told)}"
    )
    changed = _CHANGED if any(map(record.is_stale, chosen)) else ""
    counted = f"counted by ncu on {record.where}"
    return look.finish(figure, alt, counted, changed, look.not_yet(record, wanted))


def _bytes(profile: Profile) -> dict[str, float]:
    """Predicted and counted bytes as multiples of the floor, in the order of the legend."""
    case, counters = profile.case, profile.counters
    kernel = kernels[case.provider]
    size = kernel.settle_block_size(case.block_size, case.cols)
    expected = predict_traffic(kernel, *case.shape, size)
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
            look.note(axes, f"{at[0]:.2f}", at, (4, 0))
    look.list_on_y(axes, [_starred(record, name) for name in table], 0.4)
    least = "the least: one read, one write"
    axes.axvline(1, color=look.INK, linestyle="--", zorder=0.9, label=least)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("bytes, as a multiple of the least")
    axes.grid(visible=False, axis="y")


def _starred(record: Record, name: str) -> str:
    return f"{name}*" if record.is_stale(name) else name


@look.drawn
def bytes_in_flight(
    rows: int = 1024, cols: int = 32768, *, names: Sequence[str] = SHOWN, gpu: str = DEFAULT_GPU
) -> look.Figure:
    """Little's law: bandwidth against the bytes that each multiprocessor has asked for at a time, measured.

    One line for loads of 4 bytes and one for loads of 16, as probed, by kernels that only read. And a
    mark for each of `names` that was profiled on a (rows, cols) matrix, where `kernel_in_flight` puts it;
    without NVRTC and nvdisasm the marks are missing, and a note says so. Raises `BadInput` without
    such a probe.
    """
    record = recorded(gpu)
    lines = {width: _curve(record.probed("read bandwidth", width=width)) for width in (4, 16)}
    if not any(lines.values()):
        raise BadInput(f"The read bandwidth of {record.gpu} was not probed.")
    marks, missing = _marks(record, names, rows, cols)
    figure, axes = look.start("Bandwidth against bytes in flight", 4.6)
    for (width, line), color, dashes in zip(
        lines.items(), (look.GREY, look.INK), "-:", strict=True
    ):
        label = f"reads by {width} bytes"
        axes.plot(list(line), list(line.values()), color=color, linestyle=dashes, label=label)
    for name, at in marks.items():
        style = {**look.mark(name), "linestyle": "", "markersize": 9}
        axes.plot(*at, **style, label=_starred(record, name))
    reach = [*lines[4], *lines[16], *(flying for flying, _ in marks.values())]
    low, high = (math.floor(math.log2(end(reach))) for end in (min, max))
    look.powers_of_two(axes, [2**power for power in range(low, high + 1, 2)])
    look.logarithmic(axes, "y")
    axes.set(xlabel="bytes in flight on each multiprocessor", ylabel="GB/s read")
    points = {f"reads by {width} bytes:": list(line.items()) for width, line in lines.items()}
    points |= {name: [at] for name, at in marks.items()}
    in_kib = {name: [(size / 1024, speed) for size, speed in of] for name, of in points.items()}
    told = look.tell(in_kib, "{:.3g} KiB {:.0f}")
    alt = f"GB/s read by bytes in flight on each multiprocessor, {told}"
    notes = [f"lines: reads alone, probed on {record.where}", missing]
    notes += [f"marks: kernels on {rows} × {cols} floats"] if marks else []
    notes += [_CHANGED] if any(map(record.is_stale, marks)) else []
    return look.finish(figure, alt, *notes)


def kernel_in_flight(record: Record, profile: Profile) -> tuple[float, float]:
    """Bytes that a kernel has in flight on each multiprocessor, and the GB/s that it reads.

    The bytes are its warps, as ncu counted them, times what a thread asks for before it waits, as
    its machine code for that GPU has it. Raises `NotAvailable` without NVRTC or nvdisasm,
    `CompileError`, and `BadInput` where the kernel was not timed at that block size.
    """
    case, kernel = profile.case, kernels[profile.case.provider]
    size = kernel.settle_block_size(case.block_size, case.cols)
    arch = int(record.content["gpu"]["compute_capability"].replace(".", ""))
    a_thread = in_flight_per_thread(reads(kernel, size, case.cols, arch))
    launched = kernel.steps[0].blocks(*case.shape, size) * size / WARP / record.multiprocessors
    warps = min(profile.warps_per_multiprocessor, launched)
    read_bytes = case.matrix_bytes * kernel.traffic(case.cols)[0]
    return warps * WARP * a_thread, read_bytes / record.find(case).median_us / 1e3


def _marks(
    record: Record, names: Sequence[str], rows: int, cols: int
) -> tuple[dict[str, tuple[float, float]], str]:
    """Where each kernel's mark is; and why there are none, or ""."""
    try:
        there = record.profiles_on(rows, cols)
        found = [there[name] for name in names if name in there]
        return {p.case.provider: kernel_in_flight(record, p) for p in found}, ""
    except (BadInput, NotAvailable, CompileError) as error:
        return {}, f"no marks for kernels: {error}"


def _curve(probes: Iterable[Probe]) -> dict[float, float]:
    """GB/s by bytes in flight; of several ways to have as many the fastest."""
    in_order = sorted(probes, key=lambda probe: (probe.at["bytes"], probe.found["gb_per_s"]))
    return {probe.at["bytes"]: probe.found["gb_per_s"] for probe in in_order}
