"""Little's law in one picture: bandwidth against the bytes that are on their way at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from softmax_lib.engine.source import WARP
from softmax_lib.records.measurement import Probe, Profile
from softmax_lib.records.record import Record
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.suites.look import (
    GREY,
    INK,
    Figure,
    drawn,
    finish,
    legend,
    logarithmic,
    mark,
    powers_of_two,
    start,
)
from softmax_lib.worklog.errors import BadInput, CompileError, NotAvailable
from softmax_lib.worklog.reads import in_flight_per_thread, reads
from softmax_lib.worklog.registry import kernels

SHOWN = ("naive", "online", "shared", "shuffle", "constant_stride", "float4", "fusion")
"""Every rung, and the control that asks for more by one word."""


@drawn
def bytes_in_flight(
    rows: int = 1024, cols: int = 32768, *, names: Sequence[str] = SHOWN, gpu: str = DEFAULT_GPU
) -> Figure:
    """Bandwidth against the bytes that each multiprocessor has asked for at a time, measured.

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
    figure = start("Bandwidth against bytes in flight", 4.6)
    axes = figure.subplots()
    for (width, line), color, dashes in zip(lines.items(), (GREY, INK), "-:", strict=True):
        label = f"reads by {width} bytes"
        axes.plot(list(line), list(line.values()), color=color, linestyle=dashes, label=label)
    for name, at in marks.items():
        label = f"{name}*" if record.is_stale(name) else name
        axes.plot(*at, **{**mark(name), "linestyle": ""}, markersize=9, label=label)
    reach = [*lines[4], *lines[16], *(flying for flying, _ in marks.values())]
    low, high = (math.floor(math.log2(end(reach))) for end in (min, max))
    powers_of_two(axes, "x", [2**power for power in range(low, high + 1, 2)])
    logarithmic(axes, "y")
    axes.set(xlabel="bytes in flight on each multiprocessor", ylabel="GB/s read")
    legend(figure)
    told = [f"reads by {width} bytes: {_in_words(line.items())}" for width, line in lines.items()]
    told += [f"{name} {_in_words([at])}" for name, at in marks.items()]
    alt = f"GB/s read by bytes in flight on each multiprocessor, {'; '.join(told)}"
    notes = [f"lines: reads alone, probed on {record.where}", missing]
    notes += [f"marks: kernels on {rows} × {cols} floats"] if marks else []
    notes += ["* before this kernel changed"] if any(map(record.is_stale, marks)) else []
    return finish(figure, alt, *notes)


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
) -> tuple[Mapping[str, tuple[float, float]], str]:
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


def _in_words(points: Iterable[tuple[float, float]]) -> str:
    return ", ".join(f"{size / 1024:.3g} KiB {gb_per_s:.0f}" for size, gb_per_s in points)
