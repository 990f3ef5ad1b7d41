"""What Python and the interpreter hand to each other: structs and tables of cpp/program.h, held against it when it is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ctypes import POINTER, Structure, c_int32, c_uint32, c_uint64, c_void_p, sizeof
from enum import IntEnum

import numpy as np

INSTRUCTION = np.dtype(
    [
        ("operation", "u2"),
        ("guard", "u2"),
        ("d", "u2"),
        ("a", "u2"),
        ("b", "u2"),
        ("c", "u2"),
        ("p", "u2"),
        ("q", "u2"),
        ("s", "u2"),
        ("t", "u2"),
        ("bytes", "u2"),
        ("guard_flip", "u1"),
        ("s_flip", "u1"),
        ("t_flip", "u1"),
        ("keep", "u4", 3),
        ("flip", "u4", 3),
        ("variant", "u4"),
        ("offset", "i4"),
        ("target", "i4"),
        ("site", "i4"),
    ],
    align=True,
)
"""One instruction, its operands settled to rows."""

FIXED = np.dtype([("row", "u4"), ("bank", "i4"), ("value", "u4")])
"""A row that holds one word in each lane."""

COUNTS = np.dtype(
    [(n, "u8") for n in ("requests", "lanes", "bytes", "sectors", "wavefronts", "conflicts")]
)
"""What a site asked of one array."""

EXECUTED = np.dtype([("warps", "u8"), ("lanes", "u8")])
"""How often an instruction was executed, and by how many lanes in all."""

BANKS = 8


class Bank(Structure):
    """A constant bank."""

    _fields_ = (("bytes", c_void_p), ("size", c_uint64))


class Array(Structure):
    """A stretch of global memory: its made-up address, length and where it is."""

    _fields_ = (("address", c_uint64), ("bytes", c_uint64), ("memory", c_void_p))


class Launch(Structure):
    """One launch."""

    _fields_ = (
        ("code", c_void_p),
        ("fixed", c_void_p),
        ("banks", POINTER(Bank)),
        ("arrays", POINTER(Array)),
        ("code_count", c_uint32),
        ("fixed_count", c_uint32),
        ("array_count", c_uint32),
        ("site_count", c_uint32),
        ("rows", c_uint32),
        ("cleared", c_uint32),
        ("predicates", c_uint32),
        ("shared_base", c_uint32),
        ("shared_bytes", c_uint32),
        ("local_bytes", c_uint32),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("cluster", c_uint32 * 3),
        ("is_cooperative", c_uint32),
        ("first_rank", c_uint32),
    )


class Status(Structure):
    """Where a launch stands, or what stopped it."""

    _fields_ = (
        ("block", c_uint64),
        ("address", c_uint64),
        ("finished", c_uint64),
        ("ending", c_int32),
        ("at", c_int32),
        ("thread", c_int32),
        ("space", c_int32),
    )


class Ending(IntEnum):
    """How a launch ended, or that it has not."""

    RUNNING, DONE, OUT_OF_BOUNDS, MISALIGNED, TRAPPED, STUCK = range(6)
    NO_CODE, CONSTANT_BOUNDS, NOT_THERE, BLOCK_GONE, READ_BACK = range(6, 11)


_DTYPES = {"Instruction": INSTRUCTION, "Fixed": FIXED, "Counts": COUNTS, "Executed": EXECUTED}
_STRUCTS = (Bank, Array, Launch, Status)


def layout() -> Iterator[tuple[str, int]]:
    """Size of each struct and offset of each field, as this module has them."""
    for title, dtype in _DTYPES.items():
        yield title, dtype.itemsize
        for name, (_, offset, *_) in (dtype.fields or {}).items():
            yield f"{title}.{name}", offset
    for struct in _STRUCTS:
        yield struct.__name__, sizeof(struct)
        for name, *_ in struct._fields_:
            yield f"{struct.__name__}.{name}", getattr(struct, name).offset


def check_layout(compiled: Mapping[str, int]) -> None:
    """Raises RuntimeError, naming where Python and C++ differ: then one of them has been changed alone."""
    ours = dict(layout())
    differ = [name for name in ours | dict(compiled) if ours.get(name) != compiled.get(name)]
    if differ:
        raise RuntimeError(f"tables.py and cpp/program.h disagree about {differ[0]}.")
