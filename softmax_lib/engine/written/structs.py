"""What Python and the runtime hand to each other: structs and records as the headers in cpp/ have them, and their enums."""

from __future__ import annotations

from ctypes import Structure
from enum import IntEnum

from softmax_lib.engine.layouts import Headers
from softmax_lib.engine.toolchain import SHARED_FOLDER
from softmax_lib.engine.written.flags import CPP_FOLDER

_HEADERS = Headers(
    *(SHARED_FOLDER / name for name in ("rules.h", "hazards.h")),
    *(CPP_FOLDER / f"{name}.h" for name in "kernel_interface launch meter requests trace".split()),
)

# ---- enums: of launch.h, kernel_interface.h and meter.h


class FaultKind(IntEnum):
    """What stopped a launch."""

    NONE, BARRIER, DEADLOCK, WAITING, ADDRESS, HANG, OTHER, RECORD_LIMIT = range(8)


class Access(IntEnum):
    """What a thread did at an illegal address."""

    UNKNOWN, LOAD, STORE = range(3)


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
    TWO_BARRIERS, OVERFLOW, IN_FLIGHT, RACE_OVER_CALL, RACE_IN_STEP, SAME_VALUE = range(5, 11)


# ---- structs that Python hands over or reads


class Array(Structure):
    """A stretch of emulated memory: address, length in bytes, whether it is only to be read, holds nothing yet, or is a constant."""

    _fields_ = _HEADERS.fields("Array")


class Line(Structure):
    """Where the instructions of a place in the source begin."""

    _fields_ = _HEADERS.fields("Line")


class Request(Structure):
    """One launch."""

    _fields_ = _HEADERS.fields("Request")


class Fault(Structure):
    """What stopped a launch; `kind` is 0 when nothing did. `line` is 0 where the runtime knows none."""

    _fields_ = _HEADERS.fields("Fault")


class BlackBox(Structure):
    """What a process that has ended was at: as in `Fault`; `signal` is 0 where nothing is known."""

    _fields_ = _HEADERS.fields("BlackBox")


# ---- what the runtime writes many of

RECORD = _HEADERS.dtype("Record")
"""One thing that one thread did."""

LINE_COUNTS = _HEADERS.dtype("LineCounts")
"""What one line asked for in all, of one array: global ones are counted first, then shared variables."""

HAZARD = _HEADERS.dtype("Hazard")
"""Something wrong, the first of `times`."""
