"""What Python and the interpreter hand to each other: structs and tables of cpp/program.h, held against it when it is loaded."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_int32, c_uint32, c_uint64, c_void_p
from enum import IntEnum

import numpy as np

from softmax_lib.engine.written.structs import Layout, of

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
