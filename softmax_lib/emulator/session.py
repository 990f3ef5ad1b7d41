"""A library of kernels and arrays in emulated memory: what launches one after the other work on."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from softmax_lib.emulator import build, faults, native, structs, symbols, variables
from softmax_lib.emulator.dwarf import Variable
from softmax_lib.emulator.geometry import Call, Geometry
from softmax_lib.emulator.launching import Instruments, Outcome, launch, watchdog_s
from softmax_lib.emulator.memory import EmulatedArray, device_arrays
from softmax_lib.emulator.symbols import Symbols
from softmax_lib.errors import BadInput, CompileError, NotAvailable, SoftmaxLibError
from softmax_lib.kernel import Kernel, Step
from softmax_lib.parameters import Kind
from softmax_lib.signature import ROW, Signature, read_signature
from softmax_lib.source import WARP, Program


@dataclass(frozen=True)
class Library:
    """What is compiled: kernels of a program, by name expressions, with so much dynamic shared memory."""

    program: Program
    entries: tuple[str, ...]
    warp_size: int = WARP
    shared_bytes: int = 0

    def path(self, traced: bool) -> Path:
        """The library, built if it is not there; traced, with every access hooked.

        Raises as `build.kernel_library` does, and `NotAvailable` for a traced one on macOS.
        """
        if traced and sys.platform == "darwin":
            raise NotAvailable("Tracing reads ELF tables, so it runs under Linux only.")
        return build.kernel_library(
            self.program, self.entries, self.warp_size, traced, self.shared_bytes
        )

    def signature(self, path: Path, number: int) -> Signature:
        """What the entry `number` of the library at `path` takes."""
        name = self.entries[number]
        declared = self.program.source.kernel(name)
        written = (declared.parameters, declared.parameter_names) if declared else ((), ())
        return read_signature(name, *written, _signature_rows(path, number))


@cache
def _signature_rows(path: Path, number: int) -> np.ndarray:
    library = native.load(path)
    count = ctypes.c_int.in_dll(library, f"emulator_parameters_{number}").value
    rows = (ctypes.c_int * ((count + 1) * ROW)).in_dll(library, f"emulator_signature_{number}")
    return np.array(rows, int).reshape(count + 1, ROW)


def plain_names(variables: Mapping[str, bool]) -> dict[str, bool]:
    """The same without their namespaces, as a library's tables have them."""
    return {name.rpartition("::")[2]: is_constant for name, is_constant in variables.items()}


@dataclass(frozen=True)
class Session:
    """Emulated arrays by name, and the calls that work on them, in order."""

    library: Library
    path: Path
    arrays: Mapping[str, EmulatedArray]
    calls: Sequence[Call]
    inputs: frozenset[str]

    def run(self, instruments: Instruments | None = None) -> Iterator[tuple[Call, Outcome]]:
        """Launch the calls in order, up to the first that does not come to its end."""
        for step, call in enumerate(self.calls):
            outcome = self.launch(call, instruments, step)
            yield call, outcome
            if outcome.fault is not None:
                return

    def launch(self, call: Call, instruments: Instruments | None = None, step: int = 0) -> Outcome:
        """Launch one of them on the arrays as they are now."""
        return launch(self.path, call, self.arrays, instruments, step)

    def exception(self, call: Call, fault: structs.Fault) -> SoftmaxLibError:
        """What to raise for a fault of one of these launches."""
        known: dict[str, faults.Stretch] = {**self.arrays}
        known |= {v.name: _InLibrary(at, v) for v, at in self.globals()}
        return faults.exception_for(fault, self.path, call.geometry, known, watchdog_s())

    def traced(self) -> Session:
        """The same on the library that has every access hooked."""
        return replace(self, path=self.library.path(traced=True))

    def instruments(self, record_limit: int = 0, lines: Sequence[structs.Line] = ()) -> Instruments:
        """What watches a launch of this traced session. Raises `NotAvailable` without pyelftools."""
        found = traced_symbols(self.path)
        shared = [structs.Array(v.offset, v.bytes) for v in found.shared]
        in_library = [structs.Array(at, v.bytes) for v, at in self.globals()]
        return Instruments(shared, in_library, record_limit, lines, self.inputs)

    def globals(self) -> list[tuple[Variable, int]]:
        """The `__device__` variables, and where they lie now. Those that are constants are no arrays."""
        told = plain_names(self.library.program.source.variables)
        if not told:
            return []
        found = traced_symbols(self.path).variables
        base = variables.base_of(self.path)
        return [(v, base + v.offset) for v in found if not v.is_shared and not told.get(v.name)]


class _InLibrary:
    """A `__device__` variable as an array."""

    guard_bytes = 0

    def __init__(self, address: int, variable: Variable):
        self.address, self.bytes = address, variable.bytes
        self.element_bytes = variable.element_bytes


def traced_symbols(path: Path) -> Symbols:
    """What a traced library says of itself. Raises `NotAvailable` without pyelftools."""
    found = symbols.read(path)
    if found is None:
        raise NotAvailable("Tracing needs the package pyelftools: `pip install pyelftools`.")
    return found


# ---- sessions of a kernel of the registry


@dataclass(frozen=True)
class LaunchConfig:
    """What is launched and how: a kernel at a block size, in warps of `warp_size` lanes.

    `grid` replaces the number of blocks that the kernel's launch facts give. Raises `BadInput` for a
    block or a warp that the emulator cannot have.
    """

    kernel: Kernel
    block_size: int
    warp_size: int = WARP
    grid: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.block_size <= 1024:
            raise BadInput(f"A block has 1 to 1024 threads, not {self.block_size}.")
        if self.warp_size not in (1, 2, 4, 8, 16, 32):
            raise BadInput(f"A warp has 1, 2, 4, 8, 16 or 32 lanes here, not {self.warp_size}.")

    def library(self, cols: int) -> Library:
        """The library with its kernels."""
        return Library(
            self.kernel.program(self.block_size, cols), self.kernel.entries, self.warp_size
        )

    def call(self, step: Step, number: int, shape: tuple[int, int]) -> Call:
        """The launch of `step`, entry `number`, for a matrix of this shape."""
        blocks = step.blocks(*shape, self.block_size) if self.grid is None else self.grid
        geometry = Geometry((blocks, 1, 1), (self.block_size, 1, 1), self.warp_size)
        sizes = {
            name: size.to_bytes(4, "little")
            for name, size in zip(("rows", "cols"), shape, strict=True)
        }
        return Call(step.entry, number, geometry, tuple(sizes.get(n, n) for n in step.arguments))


@contextmanager
def open_session(
    config: LaunchConfig, x: np.ndarray, y: np.ndarray, *, traced: bool = False
) -> Iterator[Session]:
    """A session on contiguous float32 arrays of shape (rows, cols); y may be x.

    Raises what keeps the kernel from starting: `BadInput`, `CompileError`, `NotAvailable`.
    """
    library = config.library(x.shape[1])
    path = library.path(traced)
    _check_steps(config.kernel, library, path)
    calls = [
        config.call(step, library.entries.index(step.entry), x.shape)
        for step in config.kernel.steps
    ]
    variables.restore(path, library.program.source)
    with device_arrays(config.kernel, x, y) as arrays:
        yield Session(library, path, arrays, calls, frozenset({"x"}))


def _check_steps(kernel: Kernel, library: Library, path: Path) -> None:
    """Raises `CompileError` where the kernels take something else than arrays of float and int sizes."""
    for step in kernel.steps:
        taken = library.signature(path, library.entries.index(step.entry)).parameters
        expected = [
            (0, Kind.SIGNED) if n in ("rows", "cols") else (1, Kind.FLOATING)
            for n in step.arguments
        ]
        if [(p.depth, p.kind) for p in taken] != expected or any(p.size != 4 for p in taken):
            calls = ", ".join(f"{step.entry}({', '.join(step.arguments)})" for step in kernel.steps)
            raise CompileError(
                f"{kernel.source.file_name} is launched as {calls}, with arrays of float and int sizes, "
                "and its kernels take something else."
            )
