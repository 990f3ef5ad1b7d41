"""X-ray: hardware-like counters and hazards of a kernel, line by line, with no GPU.

The emulator runs the unmodified source and counts what each warp asks of memory, as Nsight Compute
would. It knows no time, no cache and no occupancy; where the lanes of a warp run a loop a different
number of times, the GPU's compiler may have unrolled it and issue more requests; and it takes
barriers and warp calls, but not fences and atomics, for what puts two accesses in order.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

from softmax_lib.emulator.metering import meter
from softmax_lib.errors import BadInput, CompileError, NotAvailable
from softmax_lib.gpu.machine_code import MachineCode, inspect
from softmax_lib.kernel import Kernel
from softmax_lib.reference import noise
from softmax_lib.registry import resolve
from softmax_lib.source import WARP, Program, Source
from softmax_lib.xrays.hazards import Hazard, read_hazards
from softmax_lib.xrays.lines import LineCounters, add_up, read_lines

MOST_ELEMENTS = 1 << 22
"""Elements of the matrix at most: each word has a history of 24 bytes."""


@dataclass(frozen=True)
class XRay:
    """Counters and hazards of one launch of `blocks` blocks; a fault ends the counts where it happened."""

    kernel: str
    rows: int
    cols: int
    block_size: int
    blocks: int
    lines: tuple[LineCounters, ...]
    hazards: tuple[Hazard, ...]
    program: Program = field(repr=False)

    @property
    def total(self) -> dict[str, int]:
        """Counters of all lines, under the names that `schema.METRICS` gives ncu's, and a few more."""
        return add_up(self.lines)

    @property
    def threads(self) -> int:
        """Threads of all blocks."""
        return self.blocks * self.block_size

    @property
    def warps(self) -> int:
        """Warps of all blocks."""
        return self.blocks * -(-self.block_size // WARP)

    @cached_property
    def machine_code(self) -> tuple[MachineCode, ...]:
        """What NVRTC makes of the kernel, per arch; empty where NVRTC is missing or refuses it."""
        try:
            return inspect(self.program, self.block_size)
        except (NotAvailable, CompileError):
            return ()

    def as_json(self) -> dict:
        """Plain lists and dictionaries."""
        facts = ("kernel", "rows", "cols", "block_size", "blocks", "warps", "threads", "total")
        return {
            **{name: getattr(self, name) for name in facts},
            "lines": [line.as_json() for line in self.lines],
            "hazards": [asdict(hazard) for hazard in self.hazards],
            "machine_code": [asdict(code) for code in self.machine_code],
        }


def xray(
    name_or_source: str | Path | Kernel | Source,
    rows: int = 64,
    cols: int = 4096,
    block_size: int | None = None,
    *,
    grid: int | None = None,
) -> XRay:
    """Count what `name_or_source` asks of memory on a (rows, cols) matrix of normal noise.

    `grid` replaces the number of blocks; a reader's own source has one per row. A fault of the
    running kernel is a hazard in the result. Raises what `run` raises for bad input, `CompileError`,
    and `NotAvailable` without a C++ compiler, outside Linux, or for a feature that the emulator lacks.
    """
    kernel = resolve(name_or_source)
    _check_shape(rows, cols, grid)
    block_size = kernel.settle_block_size(block_size, cols)
    metered = meter(kernel, noise(rows, cols), block_size, grid)
    blocks = grid or sum(step.blocks(rows, cols, block_size) for step in kernel.steps)
    program = kernel.program(block_size, cols)
    lines, hazards = read_lines(metered), read_hazards(metered)
    return XRay(kernel.name, rows, cols, block_size, blocks, lines, hazards, program)


def _check_shape(rows: int, cols: int, grid: int | None) -> None:
    if rows < 1 or cols < 1 or rows * cols > MOST_ELEMENTS:
        raise BadInput(
            f"x-ray takes a matrix of 1 to {MOST_ELEMENTS} elements, not ({rows}, {cols}); "
            "a smaller one shows the same pattern."
        )
    if grid is not None and grid < 1:
        raise BadInput(f"A grid has at least one block, not {grid}.")
