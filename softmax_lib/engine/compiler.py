"""Who compiles for GPUs: NVRTC, as whoever uses the engine brings it, and what was compiled before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from softmax_lib.engine.errors import NotAvailable
from softmax_lib.engine.folders import set_library

if TYPE_CHECKING:
    from pathlib import Path

    from softmax_lib.engine.source import Program

LINES_A_FILE = 1_000_000
"""How far apart the lines of two files are numbered where machine code is to know them."""


class Resources(NamedTuple):
    """What one thread or block of a compiled entry takes: the assembler's own report."""

    entry: str
    registers: int
    shared_bytes: int
    stack_bytes: int
    spill_bytes: int


class Compiler(Protocol):
    """What is asked of one, such as `softmax_lib.gpu.compile`; it raises `NotAvailable` and `CompileError`."""

    def compiler(self) -> str:
        """Its name and version, "NVRTC 12.9"."""

    def supported_archs(self) -> tuple[int, ...]:
        """Archs that it compiles for: (75, 80, ...)."""

    def compile_kernel(self, program: Program, arch: int) -> tuple[bytes, str]:
        """A cubin with lines, and what the program's `entry` is called there, "" without one."""

    def compile_ptx(self, program: Program, arch: int) -> tuple[str, str]:
        """PTX of the same."""

    def resources(self, program: Program, arch: int) -> tuple[Resources, ...]:
        """Registers, shared memory, stack and spills of each kernel."""


_find: Callable[[], Compiler] | None = None


def set_compiler(
    find: Callable[[], Compiler] | None, library: Callable[[], Path] | None = None
) -> None:
    """Let what `find` gives, a module or an object, compile from now on; it is called when something is to be compiled.

    `library` gives a folder whose headers every source may include, and whose `listings` are machine code that was
    made before. Without both, sources are run as they are written, and in no other way.
    """
    global _find
    _find = find
    set_library(library)


def nvrtc() -> Compiler:
    """The compiler. Raises `NotAvailable` where none was set."""
    if _find is None:
        raise NotAvailable("Nothing here compiles for GPUs; `set_compiler` takes what does.")
    return _find()
