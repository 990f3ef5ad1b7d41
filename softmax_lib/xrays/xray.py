"""X-ray: hardware-like counters and hazards of a kernel, line by line, with no GPU.

The emulator runs the unmodified source and counts what each warp asks of memory, as Nsight Compute
would. It knows no time, no cache and no occupancy; where the lanes of a warp run a loop a different
number of times, the GPU's compiler may have unrolled it and issue more requests. Two accesses are in
order when a barrier or a warp call lies between them; those of two blocks, when one has passed a fence
and then written an atomic or volatile word that the other has read. A variable of a thread that it has not
written is seen where it is an array, or where the compiler cannot tell that it was written, and in words of
4 bytes and more; an atomic exchange counts as a read, also where nobody looks at what it returns.

On the path "machine" counts are those of the machine code that NVRTC makes, instruction by instruction as a GPU executes
it; hazards, results and faults stay those of the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from softmax_lib.arrays import address, host_view, is_array, offset
from softmax_lib.emulator.metering import Metered, meter, meter_launch
from softmax_lib.errors import BadInput, CompileError, NotAvailable
from softmax_lib.gpu.machine_code import MachineCode, check_registers, inspect
from softmax_lib.grids import Axes, blocks_of
from softmax_lib.kernel import Kernel
from softmax_lib.launch_notes import notes_on
from softmax_lib.launch_spec import LaunchSpec, specify
from softmax_lib.machine.calls import run_call
from softmax_lib.machine.cubin import SHARED_BASE
from softmax_lib.machine.launching import Counted, Progress
from softmax_lib.machine.softmaxes import run_steps
from softmax_lib.reference import noise
from softmax_lib.registry import resolve
from softmax_lib.source import WARP, Program, Source
from softmax_lib.whole_numbers import whole
from softmax_lib.xrays.hazards import Hazard, read_hazards
from softmax_lib.xrays.lines import Counted as Counts
from softmax_lib.xrays.lines import LineCounters, add_up, differing, read_lines
from softmax_lib.xrays.machine_lines import (
    LineInstructions,
    read_instructions,
    read_machine_lines,
)

MOST_ELEMENTS = 1 << 22
"""Elements of the matrix at most: each word has a history of 20 bytes, and 20 for each of its readers."""

RAGGED = ((3, 1), (2, 3), (3, 33), (70, 5), (3, 257), (2, 1001))
"""Shapes at which careless kernels break: rows shorter than a vector, a warp or a block, and longer than one that
no vector divides; more rows than a warp has lanes."""

MOST_BYTES = 1 << 26
"""Of all arrays together, for any kernel."""

PATHS = ("written", "machine")
"""What is counted: the source as it is written, or the machine code that NVRTC makes of it."""

ARCH = 90
"""For which machine code is made if nothing else is said: sm_90, the H100 and H200."""


@dataclass(frozen=True)
class XRay:
    """Counters and hazards of one launch of `blocks` blocks; a fault ends the counts where it happened.

    `rows` and `cols` are those of the matrix that a softmax was launched on, None of any other
    kernel; `grid` and `block` are of its last step. `notes` say what a reader may not expect of it;
    `ragged` are the shapes of other matrices on which hazards were looked for. `path` is one of `PATHS`;
    of machine code for sm_`arch` there are the `instructions` executed too, and the lines as `written`.
    """

    kernel: str
    blocks: int
    grid: Axes
    block: Axes
    lines: tuple[LineCounters, ...]
    hazards: tuple[Hazard, ...]
    program: Program = field(repr=False)
    rows: int | None = None
    cols: int | None = None
    ragged: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()
    path: str = PATHS[0]
    arch: int | None = None
    instructions: tuple[LineInstructions, ...] = ()
    written: tuple[LineCounters, ...] = ()

    @property
    def block_size(self) -> int:
        """Threads of a block."""
        return prod(self.block)

    @property
    def words(self) -> str:
        """What was launched, such as "naive on (64, 4096), 2 blocks of 32 threads"."""
        if self.rows is not None:
            shape = f"({self.rows}, {self.cols})"
            return f"{self.kernel} on {shape}, {self.blocks} blocks of {self.block_size} threads"
        blocks = "1 block" if self.blocks == 1 else f"{_by(self.grid)} blocks"
        return f"{self.kernel}, {blocks} of {_by(self.block)} threads"

    @property
    def total(self) -> dict[str, int]:
        """Counters of all lines, under the names that `schema.METRICS` gives ncu's, and a few more."""
        executed = sum(one.warps for one in self.instructions)
        return add_up(self.lines) | ({"instructions": executed} if self.instructions else {})

    @property
    def differences(self) -> dict[tuple[str, int, str, str], tuple[Counts, Counts]]:
        """Lines that machine code counts otherwise than the source: see `lines.differing`."""
        return differing(self.written, self.lines) if self.path == "machine" else {}

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
        facts = (
            "kernel", "rows", "cols", "ragged", "grid", "block", "block_size", "blocks", "warps", "threads", "total",
            "path", "arch",
        )  # fmt: skip
        return {
            **{name: getattr(self, name) for name in facts},
            "lines": [line.as_json() for line in self.lines],
            "instructions": [asdict(one) for one in self.instructions],
            "written": [line.as_json() for line in self.written],
            "notes": list(self.notes),
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
    ragged: bool = False,
    path: str = PATHS[0],
    arch: int = ARCH,
    progress: Progress | None = None,
) -> XRay:
    """Count what `name_or_source` asks of memory on a (rows, cols) matrix of normal noise.

    With the `path` "machine" it is the machine code for sm_`arch` that is counted; `progress` hears how many
    of its threads have ended, and of how many. A launch that faults is counted as it is written.

    With `ragged` a kernel without hazards there is launched on the matrices of `RAGGED` too, for hazards
    alone; without it, and for a `grid`, on no other. `grid` replaces the number of blocks; a reader's own source has one per row. A fault of the
    running kernel is a hazard in the result. Raises what `run` raises for bad input, `CompileError`,
    and `NotAvailable` without a C++ compiler, outside Linux, or for a feature that the emulator lacks.
    """
    kernel = resolve(name_or_source)
    rows, cols, grid = whole("rows", rows), whole("cols", cols), blocks_of(grid)
    _check_shape(rows, cols)
    _check_path(path, arch)
    block_size = kernel.settle_block_size(block_size, cols)
    x = noise(rows, cols)
    metered = meter(kernel, x, block_size, grid)
    blocks = grid or sum(step.blocks(rows, cols, block_size) for step in kernel.steps)
    found = _read(kernel.name, blocks, metered, kernel.program(block_size, cols))
    found = replace(found, rows=rows, cols=cols, notes=notes_on(kernel))
    if path == "machine" and metered.fault is None:
        y = np.full_like(x, np.nan)
        steps = run_steps(kernel, x, y, block_size, arch=arch, grid=grid, progress=progress)
        found = _as_machine_code(found, tuple(steps), arch)
    return _look_elsewhere(kernel, found) if ragged and grid is None else found


def _look_elsewhere(kernel: Kernel, found: XRay) -> XRay:
    """With the hazards of the first ragged matrix that has some, unless it has hazards already."""
    shapes = tuple(shape for shape in RAGGED if shape[1] <= kernel.max_cols(found.block_size))
    if found.hazards:
        return found
    for shape in shapes:
        hazards = read_hazards(meter(kernel, noise(*shape), found.block_size))
        if hazards:
            there = tuple(
                replace(one, message=f"{one.message.removesuffix('.')}, on a matrix of {shape}.")
                for one in hazards
            )
            return replace(found, hazards=there, ragged=shapes)
    return replace(found, ragged=shapes)


def xray_launch(
    source: str | Path | Source,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    *,
    path: str = PATHS[0],
    arch: int = ARCH,
    **how: Any,
) -> XRay:
    """Count what any kernel of `source` asks of memory, launched by the words of `emulator.launch`.

    With the `path` "machine" it is the machine code for sm_`arch` that is counted.

    The arrays among `args` are written in place, unless the kernel faults: that is a hazard in the
    result. Raises what `emulator.launch` raises for bad input, `CompileError`, and `NotAvailable`.
    """
    _check_path(path, arch)
    spec = specify(source, grid, block, args, **how)
    bytes_ = sum(array.nbytes for array in spec.arguments if is_array(array))
    if bytes_ > MOST_BYTES:
        raise BadInput(
            f"x-ray takes arrays of up to {MOST_BYTES} bytes in all, not {bytes_}; smaller ones show "
            "the same pattern."
        )
    again = _copied(spec) if path == "machine" else spec
    metered = meter_launch(spec)
    found = _read(spec.kernel, prod(spec.grid), metered, spec.program)
    if path == "machine" and metered.fault is None:
        found = _as_machine_code(found, (run_call(again, arch),), arch)
    return found


def _copied(spec: LaunchSpec) -> LaunchSpec:
    """The same launch on arrays of its own, which lie as the caller's do; one that is passed twice stays one."""
    copies: dict[int, np.ndarray] = {}

    def copy(given: Any) -> Any:
        if isinstance(given, list):
            return [copy(one) for one in given]
        if not is_array(given):
            return given
        host = host_view(given)
        if address(host) not in copies:
            room = np.empty(offset(host) + host.size, host.dtype)
            copies[address(host)] = room[offset(host) :].reshape(host.shape)
            copies[address(host)][...] = host
        return copies[address(host)]

    symbols = {name: copy(array) for name, array in spec.symbols.items()}
    return replace(spec, arguments=tuple(map(copy, spec.arguments)), symbols=symbols)


def _as_machine_code(found: XRay, steps: Sequence[Counted], arch: int) -> XRay:
    """The same launch, counted by its machine code."""
    source = found.program.source
    return replace(
        found,
        lines=read_machine_lines(steps, source, found.lines),
        instructions=read_instructions(steps, source),
        written=found.lines,
        path="machine",
        arch=arch,
    )


def _check_path(path: str, arch: int) -> None:
    if path not in PATHS:
        raise BadInput(f"path is {path!r}; it is one of {', '.join(PATHS)}.")
    if arch not in SHARED_BASE:
        known = ", ".join(map(str, SHARED_BASE))
        raise BadInput(f"arch is {arch!r}; machine code is run for {known}.")


def _read(name: str, blocks: int, metered: Metered, program: Program) -> XRay:
    geometry, lines, hazards = metered.geometry, read_lines(metered), read_hazards(metered)
    with suppress(NotAvailable, CompileError):
        check_registers(program, prod(geometry.block))
    return XRay(name, blocks, geometry.grid, geometry.block, lines, hazards, program)


def _by(axes: Axes) -> str:
    """ "8", or "8 x 4" of more than one axis."""
    used = axes[: max((i for i, length in enumerate(axes, 1) if length > 1), default=1)]
    return " x ".join(map(str, used))


def _check_shape(rows: int, cols: int) -> None:
    if rows < 1 or cols < 1 or rows * cols > MOST_ELEMENTS:
        raise BadInput(
            f"x-ray takes a matrix of 1 to {MOST_ELEMENTS} elements, not ({rows}, {cols}); "
            "a smaller one shows the same pattern."
        )
