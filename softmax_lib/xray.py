"""X-ray: hardware-like counters and hazards of a kernel, line by line, with no GPU.

The emulator runs the unmodified source and counts what each warp asks of memory, as Nsight Compute
would. It knows no time, no cache and no occupancy; and where the lanes of a warp run a loop a
different number of times, the GPU's compiler may have unrolled it and issue more requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from softmax_lib.emulator.events import OPERATIONS
from softmax_lib.emulator.metering import RACE, UNINITIALISED, Metered, meter
from softmax_lib.errors import (
    BadInput,
    BarrierFault,
    CompileError,
    Deadlock,
    Hang,
    IllegalAddress,
    NotAvailable,
    SoftmaxLibError,
)
from softmax_lib.machine_code import MachineCode, inspect
from softmax_lib.registry import Kernel, resolve
from softmax_lib.source import Source
from softmax_lib.traffic import SECTOR_BYTES

MOST_ELEMENTS = 1 << 22
"""Elements of the matrix at most: each word has a history of 36 bytes."""

_PLACE = re.compile(r"([\w.-]+\.cuh?):(\d+)")
_FAULT_KINDS = {
    BarrierFault: "barrier",
    Deadlock: "deadlock",
    IllegalAddress: "illegal address",
    Hang: "hang",
}


@dataclass(frozen=True)
class LineCounters:
    """What one source line asked for, by space ("global", "shared", "") and operation.

    `requests` are a warp's; of a barrier, a block's. `lanes` took part in all of them. Sectors are
    those of global memory, wavefronts and `bank_conflicts` (wavefronts that an access without
    conflict would not need) those of shared memory.
    """

    file: str
    line: int
    space: str
    operation: str
    size: int
    requests: int
    lanes: int
    sectors: int
    wavefronts: int
    bank_conflicts: int

    @property
    def bytes_asked(self) -> int:
        """Bytes that the lanes asked for."""
        return self.lanes * self.size

    @property
    def bytes_moved(self) -> int:
        """Bytes of the sectors that moved for them (global memory)."""
        return self.sectors * SECTOR_BYTES

    @property
    def sectors_a_request(self) -> float:
        """4 for 32 neighbouring floats, 32 when no two lanes share a sector."""
        return self.sectors / self.requests


@dataclass(frozen=True)
class Hazard:
    """Something wrong at a line of the source, in words."""

    kind: str
    line: int
    message: str


@dataclass(frozen=True)
class XRay:
    """Counters and hazards of one launch; `machine_code` is empty where NVRTC is missing."""

    kernel: str
    rows: int
    cols: int
    block_size: int
    blocks: int
    lines: tuple[LineCounters, ...]
    hazards: tuple[Hazard, ...]
    machine_code: tuple[MachineCode, ...]

    @property
    def total(self) -> dict[str, int]:
        """Counters of all lines, under the names that `counters.METRICS` gives ncu's."""
        found = {}
        for space, unit in (("global", "sectors"), ("shared", "wavefronts")):
            for operation in ("load", "store"):
                lines = [r for r in self.lines if (r.space, r.operation) == (space, operation)]
                found[f"{space}_{operation}_requests"] = sum(r.requests for r in lines)
                found[f"{space}_{operation}_{unit}"] = sum(getattr(r, unit) for r in lines)
        found["shuffles"] = self._calls("shuffle")
        found["barriers"] = self._calls("barrier")
        return found

    def _calls(self, prefix: str) -> int:
        return sum(row.requests for row in self.lines if row.operation.startswith(prefix))

    def as_json(self) -> dict:
        """Plain lists and dictionaries."""
        content = asdict(self)
        return {**content, "total": self.total}

    def __str__(self) -> str:
        return "\n".join(_describe(self))


def xray(
    name_or_source: str | Path | Kernel | Source,
    rows: int = 64,
    cols: int = 4096,
    block_size: int | None = None,
    *,
    grid: int | None = None,
) -> XRay:
    """Count what `name_or_source` asks of memory on a (rows, cols) matrix of normal noise.

    `grid` replaces the number of blocks; a reader's own source has one a row. A fault of the
    running kernel is a hazard in the result. Raises what `run` raises for bad input, `CompileError`,
    and `NotAvailable` without a C++ compiler or outside Linux.
    """
    kernel = resolve(name_or_source)
    if rows < 1 or cols < 1 or rows * cols > MOST_ELEMENTS:
        raise BadInput(
            f"x-ray takes a matrix of 1 to {MOST_ELEMENTS} elements, not ({rows}, {cols}); "
            "a smaller one shows the same pattern."
        )
    if grid is not None and grid < 1:
        raise BadInput(f"A grid has at least one block, not {grid}.")
    block_size = kernel.settle_block_size(block_size, cols)
    x = torch.randn(rows, cols, generator=torch.Generator().manual_seed(0))
    metered = meter(kernel, x, block_size, grid)
    blocks = grid or sum(step.blocks(rows, cols, block_size) for step in kernel.steps)
    return XRay(
        kernel.name, rows, cols, block_size, blocks,
        tuple(sorted(_lines(metered), key=lambda row: (row.file, row.line))),
        tuple(_hazards(metered)), _machine_code(kernel, block_size, cols),
    )  # fmt: skip


def _lines(metered: Metered) -> Iterable[LineCounters]:
    for row in metered.counts:
        operation = OPERATIONS[row["operation"]]
        is_access = operation in ("load", "store", "atomic")
        space = "" if not is_access else "shared" if row["is_shared"] else "global"
        file, line = metered.places[row["place"]]
        numbers = (
            int(row[name]) for name in ("size", "requests", "lanes", "sectors", "wavefronts")
        )
        conflicts = int(row["wavefronts"]) - int(row["ideal"])
        yield LineCounters(file, line, space, operation, *numbers, conflicts)


def _hazards(metered: Metered) -> Iterable[Hazard]:
    if metered.fault is not None:
        yield _fault(metered.fault)
    for row in metered.hazards:
        file, line = metered.places[row["place"]]
        where = f"thread {row['thread']} of block {row['block']}"
        times = f" ({row['times']} times)" if row["times"] > 1 else ""
        if row["kind"] == RACE:
            other_file, other_line = metered.places[row["other_place"]]
            message = (
                f"race on {metered.element(row)}: {where} {_verb(row['is_store'])} it at {file}:{line}, "
                f"thread {row['other_thread']} {_verb(row['other_is_store'])} it at "
                f"{other_file}:{other_line}, and nothing orders the two{times}"
            )
            yield Hazard("race", line, message)
        elif row["kind"] == UNINITIALISED:
            message = f"{where} reads {metered.element(row)} at {file}:{line}, which nobody has written{times}"
            yield Hazard("uninitialised", line, message)
        else:
            message = f"{where} shuffles from lane {row['address']} at {file}:{line}, which takes no part{times}"
            yield Hazard("absent lane", line, message)


def _verb(is_store: int) -> str:
    return "writes" if is_store else "reads"


def _fault(fault: SoftmaxLibError) -> Hazard:
    kind = next((word for kind, word in _FAULT_KINDS.items() if isinstance(fault, kind)), "fault")
    place = _PLACE.search(str(fault))
    return Hazard(kind, int(place[2]) if place else 0, str(fault))


def _machine_code(kernel: Kernel, block_size: int, cols: int) -> tuple[MachineCode, ...]:
    try:
        return inspect(kernel.program(block_size, cols), block_size)
    except (NotAvailable, CompileError):
        return ()


def _describe(found: XRay) -> Iterable[str]:
    yield f"{found.kernel} on ({found.rows}, {found.cols}), {found.blocks} blocks of {found.block_size} threads"
    for row in found.lines:
        detail = ""
        if row.space == "global":
            detail = f", {row.sectors} sectors ({row.sectors_a_request:.1f} a request)"
        elif row.space == "shared":
            detail = (
                f", {row.wavefronts} wavefronts, {row.bank_conflicts} of them for bank conflicts"
            )
        yield f"  {row.file}:{row.line}  {row.space} {row.operation}: {row.requests} requests{detail}"
    for code in found.machine_code:
        widths = ", ".join(f"{count} x {name}" for name, count in code.accesses.items())
        yield (
            f"  sm_{code.arch} {code.entry}: {code.registers} registers, {code.shared_bytes} B shared, "
            f"{code.spill_bytes} B spilled, {code.blocks_a_multiprocessor} blocks a multiprocessor "
            f"(limit: {code.limit}){'; ' + widths if widths else ''}"
        )
    for hazard in found.hazards:
        yield f"  {hazard.kind}: {hazard.message}"
    if not found.hazards:
        yield "  no hazard found"
