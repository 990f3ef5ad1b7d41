"""What Python and the interpreter hand to each other: structs and tables of cpp/program.h, held against it when it is loaded.

And the rows of a warp's file: registers first, then what stays the same throughout a launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import POINTER, Structure, c_int32, c_uint32, c_uint64, c_void_p
from enum import IntEnum

import numpy as np

from softmax_lib.engine.layouts import Layout, of

INSTRUCTION = np.dtype(
    [
        *of("u2", "operation guard d a b c p q s t bytes"),
        *of("u1", "guard_flip s_flip t_flip"),
        ("keep", "u4", 3),
        ("flip", "u4", 3),
        ("variant", "u4"),
        *of("i4", "offset target site"),
    ],
    align=True,
)
"""One instruction, its operands settled to rows."""

FIXED = np.dtype([("row", "u4"), ("bank", "i4"), ("value", "u4")])
"""A row that holds one word in each lane."""

COUNTS = np.dtype(of("u8", "requests lanes bytes sectors wavefronts conflicts"))
"""What a site asked of one array."""

EXECUTED = np.dtype(of("u8", "warps lanes"))
"""How often an instruction was executed, and by how many lanes in all."""

BANKS = 8


class Bank(Structure):
    """A constant bank."""

    _fields_ = (("bytes", c_void_p), ("size", c_uint64))


class Array(Structure):
    """A stretch of global memory: its made-up address, length and where it is."""

    _fields_ = (*of(c_uint64, "address bytes"), ("memory", c_void_p))


class Launch(Structure):
    """One launch."""

    _fields_ = (
        *of(c_void_p, "code fixed"),
        ("banks", POINTER(Bank)),
        ("arrays", POINTER(Array)),
        *of(c_uint32, "code_count fixed_count array_count site_count rows cleared predicates"),
        *of(c_uint32, "shared_base shared_bytes local_bytes"),
        *of(c_uint32 * 3, "grid block cluster"),
        *of(c_uint32, "is_cooperative first_rank"),
    )


class Status(Structure):
    """Where a launch stands, or what stopped it."""

    _fields_ = of(c_uint64, "block address finished") + of(c_int32, "ending at thread space")


class Ending(IntEnum):
    """How a launch ended, or that it has not."""

    RUNNING, DONE, OUT_OF_BOUNDS, MISALIGNED, TRAPPED, STUCK = range(6)
    NO_CODE, CONSTANT_BOUNDS, NOT_THERE, BLOCK_GONE, READ_BACK = range(6, 11)


LAYOUT = Layout(
    "tables.py and cpp/program.h",
    (Bank, Array, Launch, Status),
    {"Instruction": INSTRUCTION, "Fixed": FIXED, "Counts": COUNTS, "Executed": EXECUTED},
)

_WIDEST = 4
"""Registers that one access moves at most."""


class Rows:
    """Where each register, immediate and constant has its row; words that belong together lie behind each other.

    There are rows for so many `registers` and uniform ones.
    """

    def __init__(self, registers: int, uniforms: int):
        self._registers = registers
        self.trash = registers + uniforms
        self.cleared = self.trash + _WIDEST
        self.zero = self.cleared
        self.count = self.zero + _WIDEST
        self._fixed: list[tuple[int, int, int]] = []
        self._known: dict[tuple[tuple[int, int], ...], int] = {}

    def register(self, number: int) -> int:
        """The row of Rn."""
        return number

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
