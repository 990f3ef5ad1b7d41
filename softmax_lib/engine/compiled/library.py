"""The interpreter's library: built once, loaded once; the structs and tables that it shares with Python.

And the rows of a warp's file: registers first, then what stays the same throughout a launch.
"""

from __future__ import annotations

import ctypes
import hashlib
import platform
from collections.abc import Iterable, Sequence
from ctypes import Structure
from enum import IntEnum
from functools import cache
from pathlib import Path

import numpy as np

from softmax_lib.engine.caches import cache_folder
from softmax_lib.engine.layouts import Headers
from softmax_lib.engine.toolchain import LIBRARY_SUFFIX, SHARED_FOLDER, build_own_once, toolchain

FOLDERS = (Path(__file__).parent / "cpp", SHARED_FOLDER)

FLAGS = (
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-shared",
    "-pthread",
    "-fno-strict-aliasing",
    "-ffp-contract=off",  # the same bits on every machine
    "-fno-math-errno",  # so that loops over lanes vectorise
    "-fno-trapping-math",
)


def _processor_flags() -> tuple[str, ...]:
    """For eight lanes at once where the processor has them: the results are the same.

    What the upper halves of registers hold is cleared once, at the end of a run, not by each function.
    """
    try:
        known = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ()
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    has_them = is_x86 and {"avx2", "fma", "bmi2"} <= set(known.split())
    return ("-mavx2", "-mfma", "-mbmi2", "-mno-vzeroupper") if has_them else ()


@cache
def digest() -> str:
    """Of everything that the library is made of."""
    return digest_of(path for folder in FOLDERS for path in folder.iterdir())


def digest_of(paths: Iterable[Path]) -> str:
    """Of the names and texts of files."""
    texts = [(path.name, path.read_text(encoding="utf-8")) for path in sorted(paths)]
    return hashlib.sha256(repr(texts).encode()).hexdigest()


def library_path() -> Path:
    """The library, built if it is not there. Raises `NotAvailable` where it does not build."""
    tools = toolchain()
    flags = (*FLAGS, *_processor_flags())
    key = hashlib.sha256(repr((tools, flags, digest())).encode()).hexdigest()[:24]
    path = cache_folder("emulator") / f"machine-{key}{LIBRARY_SUFFIX}"
    sources = [path for folder in FOLDERS for path in sorted(folder.glob("*.cpp"))]
    return build_own_once(path, (*flags, f"-I{SHARED_FOLDER}"), sources)


@cache
def library() -> ctypes.CDLL:
    """The library, loaded. Raises `NotAvailable`."""
    loaded = ctypes.CDLL(str(library_path()))
    loaded.machine_open.argtypes = (ctypes.POINTER(Launch),)
    loaded.machine_open.restype = ctypes.c_void_p
    loaded.machine_run.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(Status))
    loaded.machine_run.restype = None
    loaded.machine_read.argtypes = (ctypes.c_void_p,) * 4
    loaded.machine_read.restype = None
    loaded.machine_hazards.argtypes = (ctypes.c_void_p,) * 2
    loaded.machine_hazards.restype = ctypes.c_uint32
    loaded.machine_close.argtypes = (ctypes.c_void_p,)
    loaded.machine_close.restype = None
    loaded.machine_operations.restype = ctypes.c_char_p
    return loaded


@cache
def operations() -> dict[str, int]:
    """The number of each operation of the interpreter, by its name."""
    names = library().machine_operations().decode().splitlines()
    return {name: number for number, name in enumerate(names)}


# ---- what Python and the interpreter hand to each other

_HEADERS = Headers(
    *(SHARED_FOLDER / name for name in ("rules.h", "hazards.h")), FOLDERS[0] / "program.h"
)

INSTRUCTION = _HEADERS.dtype("Instruction")
"""One instruction, its operands settled to rows."""

FIXED = _HEADERS.dtype("Fixed")
"""A row that holds one word in each lane."""

COUNTS = _HEADERS.dtype("Counts")
"""What a site asked of one array."""

EXECUTED = _HEADERS.dtype("Executed")
"""How often an instruction was executed, and by how many lanes in all."""

HAZARD = _HEADERS.dtype("Hazard")
"""Something wrong, the first of `times`; its places are indices of instructions."""

BANKS = 8


class Bank(Structure):
    """A constant bank."""

    _fields_ = _HEADERS.fields("Bank")


class Array(Structure):
    """A stretch of global memory: its made-up address, length and where it is."""

    _fields_ = _HEADERS.fields("Array")


class Launch(Structure):
    """One launch."""

    _fields_ = _HEADERS.fields("Launch")


class Status(Structure):
    """Where a launch stands, or what stopped it."""

    _fields_ = _HEADERS.fields("Status")


class Ending(IntEnum):
    """How a launch ended, or that it has not."""

    RUNNING, DONE, OUT_OF_BOUNDS, MISALIGNED, TRAPPED, STUCK = range(6)
    NO_CODE, CONSTANT_BOUNDS, NOT_THERE, BLOCK_GONE, READ_BACK, FOLLOWED = range(6, 12)


_WIDEST = 4
"""Registers that one access moves at most."""


class Rows:
    """Where each immediate, constant and uniform register has its row, behind those of registers, whose numbers they are.

    Words that belong together lie behind each other. There are rows for so many `registers` and uniform ones.
    """

    def __init__(self, registers: int, uniforms: int):
        self._registers = registers
        self.trash = registers + uniforms
        self.cleared = self.zero = self.trash + _WIDEST
        self.count = self.zero + _WIDEST
        self._fixed: list[tuple[int, int, int]] = []
        self._known: dict[tuple[tuple[int, int], ...], int] = {}

    def uniform(self, number: int) -> int:
        """The row of URn."""
        return self._registers + number

    def immediate(self, *words: int) -> int:
        """The first row of these words."""
        return self._fix([(-1, word & 0xFFFFFFFF) for word in words])

    def constant(self, bank: int, offset: int, words: int) -> int:
        """The first row of so many words of a constant bank, from `offset` on."""
        return self._fix([(bank, offset + 4 * n) for n in range(words)])

    def _fix(self, words: Sequence[tuple[int, int]]) -> int:
        key = tuple(words)
        if key not in self._known:
            self._known[key] = self.count
            self._fixed += [(self.count + n, *word) for n, word in enumerate(words)]
            self.count += len(words)
        return self._known[key]

    def table(self) -> np.ndarray:
        """What the interpreter fills in, as `FIXED`."""
        return np.array(self._fixed, FIXED)
