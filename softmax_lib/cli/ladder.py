"""The ladder: every rung on one matrix, how far off it is and how long it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch

from softmax_lib import reference
from softmax_lib.errors import BadInput, SoftmaxLibError
from softmax_lib.launch import run
from softmax_lib.measurements import recorded
from softmax_lib.records.record import Measurement
from softmax_lib.registry import Kernel, rungs


@dataclass(frozen=True)
class Rung:
    """One line of the ladder; times are None where nothing was measured.

    `source` says where they come from, `stale` that the kernel has changed since.
    """

    name: str
    block_size: int
    reads: int
    writes: int
    max_abs_error: float
    time_us: float | None = None
    gb_per_s: float | None = None
    copy_share: float | None = None
    source: str | None = None
    stale: bool = False


@dataclass(frozen=True)
class Ladder:
    """All rungs that take rows of this length, slowest idea first."""

    device: str
    rows: int
    cols: int
    kernels: tuple[Rung, ...]

    def as_json(self) -> dict:
        """The ladder as plain lists and dictionaries."""
        return asdict(self)


def climb(
    rows: int,
    cols: int,
    device: str = "auto",
    progress: Callable[[str], None] = lambda name: None,
) -> Ladder:
    """Run every rung on a (rows, cols) matrix of normal noise; `progress` hears each name first.

    On a GPU all are timed in one run with a copy; without one, times are those recorded for this
    shape, if any. Raises `BadInput` for a shape without elements, `NotAvailable` without the device.
    """
    device = reference.choose_device(device)
    if rows < 1 or cols < 1:
        raise BadInput(f"A ladder needs at least one row and one column, not ({rows}, {cols}).")
    steps = [kernel for kernel in rungs() if kernel.legal_block_sizes(cols)]
    x = torch.randn(rows, cols, generator=torch.Generator().manual_seed(0)).to(device)
    errors = {}
    for kernel in steps:
        progress(kernel.name)
        errors[kernel.name] = reference.judge(run(kernel, x), x)[0]
    if device == "cuda":
        progress("timing")
    times = _live(steps, rows, cols) if device == "cuda" else _recorded(steps, rows, cols)
    lines = (_line(kernel, cols, errors[kernel.name], times.get(kernel.name)) for kernel in steps)
    return Ladder(device, rows, cols, tuple(lines))


def _live(steps: list[Kernel], rows: int, cols: int) -> dict[str, Measurement]:
    from softmax_lib.bench.contest import time_shape

    contenders = [(kernel.name, kernel.choose_block_size(cols)) for kernel in steps]
    return {row.provider: row for row in time_shape(contenders, rows, cols)}


def _recorded(steps: list[Kernel], rows: int, cols: int) -> dict[str, Measurement]:
    found = {}
    for kernel in steps:
        try:
            size = kernel.choose_block_size(cols)
            found[kernel.name] = recorded().find(kernel.name, rows, cols, "float32", size, "cold")
        except SoftmaxLibError:
            continue  # never recorded: the line says so by an empty time
    return found


def _line(kernel: Kernel, cols: int, error: float, time: Measurement | None) -> Rung:
    size, (reads, writes) = kernel.choose_block_size(cols), kernel.traffic(cols)
    if time is None:
        return Rung(kernel.name, size, reads, writes, error)
    times = (time.median_us, time.gb_per_s, time.copy_share)
    return Rung(kernel.name, size, reads, writes, error, *times, time.source, time.stale)
