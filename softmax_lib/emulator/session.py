"""A library of kernels and arrays in emulated memory: what launches one after the other work on."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from softmax_lib.arrays import address, offset
from softmax_lib.emulator import build, faults, structs, symbols, variables
from softmax_lib.emulator.device import Device, open_device
from softmax_lib.emulator.dwarf import Variable
from softmax_lib.emulator.geometry import Call, Geometry
from softmax_lib.emulator.launching import Instruments, Outcome, launch, watchdog_s
from softmax_lib.emulator.memory import ALIGNMENT, EmulatedArray
from softmax_lib.emulator.symbols import Symbols
from softmax_lib.errors import BadInput, CompileError, NotAvailable, SoftmaxLibError
from softmax_lib.grids import MOST_SHARED_BYTES, MOST_STATIC_SHARED_BYTES
from softmax_lib.kernel import Kernel, Step
from softmax_lib.parameters import Kind
from softmax_lib.signature import ROW, Signature, read_signature
from softmax_lib.source import WARP, Program

_UNSIZED = re.compile(r"\b(\w+)\s*\[\s*\]\s*;")
"""An `extern __shared__` array, which has no length."""


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

    def check_shared(self, path: Path, name: str, is_unsized_refused: bool = False) -> None:
        """Raises `BadInput` where a block of the kernel `name`, in the library at `path`, has more shared memory than a GPU.

        Or where it has an array that the launch has to size, and cannot.
        """
        code = self.program.source.code
        if "__shared__" not in code:
            return
        unsized = _UNSIZED.findall(code)
        found = symbols.read(path)
        shared = found.shared if found else ()
        dynamic = [v.name for v in shared if v.bytes == self.shared_bytes and v.name in unsized]
        static = sum(v.bytes for v in shared if v.name not in dynamic)
        if dynamic and is_unsized_refused:
            raise BadInput(
                f"{dynamic[0]} in {name} is `extern __shared__`, which is as large as the launch says, and "
                "a softmax of rows is launched with 0 bytes of it."
            )
        if static > MOST_STATIC_SHARED_BYTES:
            raise BadInput(
                f"{name} declares {static} bytes of shared memory; a kernel can declare "
                f"{MOST_STATIC_SHARED_BYTES}, and have more as dynamic shared memory."
            )
        if static + self.shared_bytes > MOST_SHARED_BYTES:
            raise BadInput(
                f"{name} has {static} + {self.shared_bytes} bytes of shared memory; a block has at "
                f"most {MOST_SHARED_BYTES} (sm_90)."
            )

    def signature(self, device: Device, path: Path, number: int) -> Signature:
        """What the entry `number` of the library at `path` takes, as the device has it loaded."""
        name = self.entries[number]
        declared = self.program.source.kernel(name)
        written = (declared.parameters, declared.parameter_names) if declared else ((), ())
        return read_signature(name, *written, _signature_rows(device, path, number))


def _signature_rows(device: Device, path: Path, number: int) -> np.ndarray:
    def integers(name: str, count: int) -> np.ndarray:
        start = device.symbol(path, f"emulator_{name}_{number}")
        return np.frombuffer(device.read(start, 4 * count), np.int32)

    rows = int(integers("parameters", 1)[0]) + 1
    return integers("signature", rows * ROW).reshape(rows, ROW)


def plain_names(variables: Mapping[str, bool]) -> dict[str, bool]:
    """The same without their namespaces, as a library's tables have them."""
    return {name.rpartition("::")[2]: is_constant for name, is_constant in variables.items()}


@dataclass(frozen=True)
class Session:
    """Emulated arrays of a device by name, and the calls that work on them, in order.

    `inputs` are only to be read; `unwritten` hold nothing before the first call.
    """

    device: Device
    library: Library
    path: Path
    arrays: Mapping[str, EmulatedArray]
    calls: Sequence[Call]
    inputs: frozenset[str]
    unwritten: frozenset[str] = frozenset()

    def run(self, instruments: Instruments | None = None) -> Iterator[tuple[Call, Outcome]]:
        """Launch the calls in order, up to the first that does not come to its end."""
        for step, call in enumerate(self.calls):
            if instruments and step:
                instruments = replace(instruments, unwritten=())
            outcome = self.launch(call, instruments, step)
            outcome.show_printed()
            yield call, outcome
            if outcome.fault is not None:
                return

    def launch(
        self,
        call: Call,
        instruments: Instruments | None = None,
        step: int = 0,
        limit_s: float | None = None,
    ) -> Outcome:
        """Launch one of them on the arrays as they are now; `limit_s` is as for `launching.launch`."""
        return launch(self.device, self.path, call, self.arrays, instruments, step, limit_s)

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
        return Instruments(shared, in_library, record_limit, lines, self.inputs, self.unwritten)

    def globals(self) -> list[tuple[Variable, int]]:
        """The `__device__` variables, and where they lie now. Those that are constants are no arrays."""
        told = plain_names(self.library.program.source.variables)
        if not told:
            return []
        found = traced_symbols(self.path).variables
        base = self.device.load(self.path).base
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
    calls = [
        config.call(step, library.entries.index(step.entry), x.shape)
        for step in config.kernel.steps
    ]
    with open_device(path) as device:
        library.check_shared(path, config.kernel.name, is_unsized_refused=True)
        _check_steps(device, config.kernel, library, path)
        variables.restore(device, path, library.program.source)
        arrays = _lay_out(device, config.kernel, x, y)
        unwritten = frozenset(arrays) - {name for name in arrays if arrays[name] is arrays["x"]}
        yield Session(device, library, path, arrays, calls, frozenset({"x"}), unwritten)


def _lay_out(
    device: Device, kernel: Kernel, x: np.ndarray, y: np.ndarray
) -> dict[str, EmulatedArray]:
    """Arrays x, y and the kernel's scratch, by name, filled as the host's matrices are.

    When y is x, they share one array.
    """

    def make(name: str, host: np.ndarray) -> EmulatedArray:
        floats_off = offset(host) * host.itemsize % ALIGNMENT
        array = device.memory.array(name, host.size, floats_off)
        array.copy_from(host)
        return array

    arrays = {"x": make("x", x)}
    arrays["y"] = arrays["x"] if address(y) == address(x) else make("y", y)
    for name in kernel.scratch:
        arrays[name] = device.memory.array(name, x.shape[0])
        arrays[name].fill_with_nan()
    return arrays


def _check_steps(device: Device, kernel: Kernel, library: Library, path: Path) -> None:
    """Raises `CompileError` where the kernels take something else than arrays of float and int sizes."""
    for step in kernel.steps:
        taken = library.signature(device, path, library.entries.index(step.entry)).parameters
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
