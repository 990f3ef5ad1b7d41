"""What Python and the runtime hand to each other: structs, records and enums of cpp/, held against it by process.py."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_int32,
    c_uint32,
    c_uint64,
    c_void_p,
    sizeof,
)
from enum import IntEnum

import numpy as np

# ---- enums: of launch.h, kernel_interface.h and meter.h


class FaultKind(IntEnum):
    """What stopped a launch."""

    NONE, BARRIER, DEADLOCK, WAITING, ADDRESS, HANG, OTHER, RECORD_LIMIT = range(8)


class Access(IntEnum):
    """What a thread did at an illegal address."""

    UNKNOWN, LOAD, STORE = range(3)


class StopReason(IntEnum):
    """Why Python stops a launch."""

    NONE, CANCELLED, HANG = range(3)


class Operation(IntEnum):
    """What a thread can wait at, or what a record of the trace is about."""

    LOAD, STORE, ATOMIC = range(3)
    BARRIER, BARRIER_AND, BARRIER_OR, BARRIER_COUNT, CLUSTER_BARRIER, GRID_BARRIER = range(3, 9)
    SYNCWARP, SHUFFLE, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR, BALLOT, ANY, ALL = range(9, 17)
    MATCH_ANY, MATCH_ALL, REDUCE_ADD, REDUCE_MIN, REDUCE_MAX = range(17, 22)
    REDUCE_AND, REDUCE_OR, REDUCE_XOR, POLL = range(22, 26)


class ValueType(IntEnum):
    """How the bytes of a shuffled value are to be read."""

    FLOATING, INTEGER, UNSIGNED_INTEGER = range(3)


class HazardKind(IntEnum):
    """What a metered launch can find wrong."""

    RACE, UNINITIALISED, ABSENT_LANE, INPUT_WRITTEN, UNWRITTEN_LOCAL = range(5)


ENUMS = (FaultKind, Access, StopReason, Operation, ValueType, HazardKind)

# ---- structs that Python hands over or reads: of launch.h and meter.h


class Array(Structure):
    """A stretch of emulated memory: address, length in bytes, whether it is only to be read, or holds nothing yet."""

    _fields_ = (
        ("address", c_uint64),
        ("bytes", c_uint64),
        ("is_input", c_int32),
        ("is_unwritten", c_int32),
    )


class Line(Structure):
    """Where the instructions of a place in the source begin."""

    _fields_ = (("start", c_uint64), ("place", c_uint32), ("unused", c_uint32))


class Request(Structure):
    """One launch."""

    _fields_ = (
        ("entry", c_void_p),
        ("arguments", POINTER(c_void_p)),
        ("arrays", POINTER(Array)),
        ("variables", POINTER(Array)),
        ("lines", POINTER(Line)),
        ("first_block", c_uint64),
        ("blocks", c_uint64),
        ("record_limit", c_uint64),
        ("grid", c_uint32 * 3),
        ("cluster", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("warp_size", c_int32),
        ("cooperative", c_int32),
        ("array_count", c_int32),
        ("variable_count", c_int32),
        ("line_count", c_int32),
        ("workers", c_int32),
        ("traced", c_int32),
        ("metered", c_int32),
        ("step", c_int32),
    )


class Fault(Structure):
    """What stopped a launch; `kind` is 0 when nothing did. `line` is 0 where the runtime knows none."""

    _fields_ = (
        ("kind", c_int32),
        ("access", c_int32),
        ("block", c_uint64),
        ("pc", c_uint64),
        ("address", c_uint64),
        ("thread", c_int32),
        ("size", c_int32),
        ("in_shared", c_int32),
        ("pc_is_exact", c_int32),
        ("is_misaligned", c_int32),
        ("line", c_int32),
        ("file", c_char * 256),
        ("text", c_char * 1024),
    )


class BlackBox(Structure):
    """What a process that has ended was at: as in `Fault`; `signal` is 0 where nothing is known."""

    _fields_ = (
        ("block", c_uint64),
        ("pc", c_uint64),
        ("address", c_uint64),
        ("thread", c_int32),
        ("signal", c_int32),
        ("is_guard", c_int32),
        ("pc_is_exact", c_int32),
    )


STRUCTS = (Array, Line, Request, Fault, BlackBox)

# ---- what the runtime writes many of: of trace.h and meter.h

RECORD = np.dtype(
    [
        ("address", "u8"),
        ("value", "u1", 16),
        ("site", "u4"),
        ("block", "u4"),
        ("thread", "u2"),
        ("operation", "u1"),
        ("size", "u1"),
        ("step", "u1"),
        ("type", "u1"),
        ("source_lane", "u1"),
    ],
    align=True,
)
"""One thing that one thread did."""

LINE_COUNTS = np.dtype(
    [
        ("requests", "u8"),
        ("lanes", "u8"),
        ("bytes", "u8"),
        ("sectors", "u8"),
        ("wavefronts", "u8"),
        ("ideal", "u8"),
        ("place", "u4"),
        ("operation", "i4"),
        ("is_shared", "i4"),
        ("size", "i4"),
        ("array", "i4"),
        ("unused", "i4"),
    ]
)
"""What one line asked for in all, of one array: global ones are counted first, then shared variables."""

HAZARD = np.dtype(
    [
        ("address", "u8"),
        ("times", "u8"),
        ("block", "u8"),
        ("kind", "i4"),
        ("place", "u4"),
        ("other_place", "u4"),
        ("thread", "i4"),
        ("other_thread", "i4"),
        ("is_shared", "i4"),
        ("is_store", "i4"),
        ("other_is_store", "i4"),
        ("other_is_elsewhere", "i4"),
        ("is_in_heap", "i4"),
    ]
)
"""Something wrong, the first of `times`."""

DTYPES = {"Record": RECORD, "LineCounts": LINE_COUNTS, "Hazard": HAZARD}


def layout() -> Iterator[tuple[str, int]]:
    """Size of each struct, offset of each field, value of each enumerator, as this module has them."""
    for struct in STRUCTS:
        yield struct.__name__, sizeof(struct)
        for name, *_ in struct._fields_:
            yield f"{struct.__name__}.{name}", getattr(struct, name).offset
    for title, dtype in DTYPES.items():
        yield title, dtype.itemsize
        for name, (_, offset, *_) in (dtype.fields or {}).items():
            yield f"{title}.{name}", offset
    for enum in ENUMS:
        for member in enum:
            yield f"{enum.__name__}.{member.name.lower()}", member.value


def check_layout(compiled: dict[str, int]) -> None:
    """Raises RuntimeError, naming where Python and C++ differ: then one of them has been changed alone."""
    ours = dict(layout())
    differ = [name for name in ours | compiled if ours.get(name) != compiled.get(name)]
    if differ:
        name = differ[0]
        raise RuntimeError(
            f"structs.py and cpp/layout.cpp disagree about {name}: "
            f"{ours.get(name, 'not there')} and {compiled.get(name, 'not there')}."
        )
