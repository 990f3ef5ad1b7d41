"""A kernel on one pair of matrices: built, its arrays laid out, its steps launched one after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softmax_lib.emulator import build, faults, native, symbols
from softmax_lib.emulator.dwarf import Variable
from softmax_lib.emulator.launching import Geometry, Instruments, Outcome, launch, watchdog_s
from softmax_lib.emulator.memory import EmulatedArray, device_arrays
from softmax_lib.emulator.symbols import Symbols
from softmax_lib.errors import BadInput, NotAvailable, SoftmaxLibError
from softmax_lib.kernel import Kernel, Step
from softmax_lib.source import WARP


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

    def library(self, cols: int, traced: bool) -> Path:
        """The library with its kernels; traced, with every access hooked.

        Raises as `build.kernel_library` does, and `NotAvailable` for a traced one on macOS.
        """
        if traced and sys.platform == "darwin":
            raise NotAvailable("Tracing reads ELF tables, so it runs under Linux only.")
        program = self.kernel.program(self.block_size, cols)
        return build.kernel_library(program, self.kernel.steps, self.warp_size, traced)


@dataclass(frozen=True)
class Session:
    """Emulated arrays with the content of x and y, and the library that runs on them."""

    config: LaunchConfig
    path: Path
    arrays: Mapping[str, EmulatedArray]
    shape: tuple[int, int]

    def run(self, instruments: Instruments | None = None) -> Iterator[tuple[Step, Outcome]]:
        """Launch the kernel's steps in order, up to the first that does not come to its end."""
        for number, step in enumerate(self.config.kernel.steps):
            outcome = self.launch(step, self.geometry(step), instruments, number)
            yield step, outcome
            if outcome.fault is not None:
                return

    def geometry(self, step: Step) -> Geometry:
        """Which threads `step` has here."""
        config = self.config
        blocks = step.blocks(*self.shape, config.block_size) if config.grid is None else config.grid
        return Geometry(blocks, config.block_size, config.warp_size)

    def launch(
        self,
        step: Step,
        geometry: Geometry,
        instruments: Instruments | None = None,
        number: int = 0,
    ) -> Outcome:
        """Launch one step on the arrays as they are now."""
        return launch(self.path, step, geometry, self.arrays, self.shape, instruments, number)

    def exception(self, fault: native.Fault) -> SoftmaxLibError:
        """What to raise for a fault of one of these launches."""
        return faults.exception_for(fault, self.path, self.arrays, watchdog_s())


@contextmanager
def open_session(
    config: LaunchConfig, x: np.ndarray, y: np.ndarray, *, traced: bool = False
) -> Iterator[Session]:
    """A session on contiguous float32 arrays of shape (rows, cols); y may be x.

    Raises what keeps the kernel from starting: `BadInput`, `CompileError`, `NotAvailable`.
    """
    rows, cols = x.shape
    path = config.library(cols, traced)
    with device_arrays(config.kernel, x, y) as arrays:
        yield Session(config, path, arrays, (rows, cols))


def traced_symbols(path: Path) -> Symbols:
    """What a traced library says of itself. Raises `NotAvailable` without pyelftools."""
    found = symbols.read(path)
    if found is None:
        raise NotAvailable("Tracing needs the package pyelftools: `pip install pyelftools`.")
    return found


def shared_arrays(variables: tuple[Variable, ...]) -> list[native.Array]:
    """Where shared variables lie in a block's shared memory, as the runtime takes them."""
    return [native.Array(variable.offset, variable.bytes) for variable in variables]
