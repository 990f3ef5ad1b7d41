"""What Python and the runtime hand to each other: structs, records and enums of cpp/, held against it by process.py."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_char, c_int32, c_uint32, c_uint64, c_void_p
from enum import IntEnum

import numpy as np

from softmax_lib.engine.layouts import Layout, of

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


# ---- structs that Python hands over or reads: of launch.h and meter.h


class Array(Structure):
    """A stretch of emulated memory: address, length in bytes, whether it is only to be read, or holds nothing yet."""

    _fields_ = of(c_uint64, "address bytes") + of(c_int32, "is_input is_unwritten")


class Line(Structure):
    """Where the instructions of a place in the source begin."""

    _fields_ = of(c_uint64, "start") + of(c_uint32, "place unused")


class Request(Structure):
    """One launch."""

    _fields_ = (
        ("entry", c_void_p),
        ("arguments", POINTER(c_void_p)),
        *of(POINTER(Array), "arrays variables"),
        ("lines", POINTER(Line)),
        *of(c_uint64, "first_block blocks record_limit"),
        *of(c_uint32 * 3, "grid cluster block"),
        *of(c_int32, "warp_size cooperative array_count variable_count line_count workers"),
        *of(c_int32, "traced metered step"),
    )


class Fault(Structure):
    """What stopped a launch; `kind` is 0 when nothing did. `line` is 0 where the runtime knows none."""

    _fields_ = (
        *of(c_int32, "kind access"),
        *of(c_uint64, "block pc address"),
        *of(c_int32, "thread size in_shared pc_is_exact is_misaligned line"),
        ("file", c_char * 256),
        ("text", c_char * 1024),
    )


class BlackBox(Structure):
    """What a process that has ended was at: as in `Fault`; `signal` is 0 where nothing is known."""

    _fields_ = of(c_uint64, "block pc address") + of(c_int32, "thread signal is_guard pc_is_exact")


# ---- what the runtime writes many of: of trace.h and meter.h

RECORD = np.dtype(
    [
        ("address", "u8"),
        ("value", "u1", 16),
        *of("u4", "site block"),
        ("thread", "u2"),
        *of("u1", "operation size step type source_lane"),
    ],
    align=True,
)
"""One thing that one thread did."""

LINE_COUNTS = np.dtype(
    [
        *of("u8", "requests lanes bytes sectors wavefronts conflicts"),
        ("place", "u4"),
        *of("i4", "operation is_shared size array unused"),
    ]
)
"""What one line asked for in all, of one array: global ones are counted first, then shared variables."""

HAZARD = np.dtype(
    [
        *of("u8", "address times block"),
        ("kind", "i4"),
        *of("u4", "place other_place"),
        *of(
            "i4",
            "thread other_thread is_shared is_store other_is_store other_is_elsewhere is_in_heap",
        ),
    ]
)
"""Something wrong, the first of `times`."""

LAYOUT = Layout(
    "structs.py and cpp/layout.cpp",
    (Array, Line, Request, Fault, BlackBox),
    {"Record": RECORD, "LineCounts": LINE_COUNTS, "Hazard": HAZARD},
    (FaultKind, Access, StopReason, Operation, ValueType, HazardKind),
)
