"""The runtime's C interface: cpp/launch.h and cpp/memory.cpp, as ctypes sees them."""

from __future__ import annotations

import ctypes
import sys
from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_double,
    c_int32,
    c_int64,
    c_uint32,
    c_uint64,
    c_void_p,
)
from functools import cache
from pathlib import Path

from softmax_lib.emulator.build import runtime_library

# cpp/launch.h: FaultKind, Access, StopReason
FAULT_BARRIER, FAULT_DEADLOCK, FAULT_ADDRESS, FAULT_HANG, FAULT_OTHER, FAULT_RECORD_LIMIT = range(
    1, 7
)
ACCESS_LOAD, ACCESS_STORE = 1, 2
STOP_CANCELLED, STOP_HANG = 1, 2

RECORD_BYTES = 40
"""cpp/trace.h: Record; events.py names its fields."""
COUNTS_BYTES, HAZARD_BYTES = 56, 56
"""cpp/meter.h: LineCounts, Hazard; metering.py names their fields."""


class Array(Structure):
    """A stretch of emulated memory: address and length in bytes."""

    _fields_ = (("address", c_uint64), ("bytes", c_uint64))


class Line(Structure):
    """Where the instructions of a place in the source begin."""

    _fields_ = (("start", c_uint64), ("place", c_uint32), ("unused", c_uint32))


class Request(Structure):
    """One launch."""

    _fields_ = (
        ("entry", c_void_p),
        ("arguments", POINTER(c_int64)),
        ("arrays", POINTER(Array)),
        ("variables", POINTER(Array)),
        ("grid", c_uint64),
        ("first_block", c_uint64),
        ("blocks", c_uint64),
        ("array_count", c_int32),
        ("variable_count", c_int32),
        ("block_size", c_int32),
        ("warp_size", c_int32),
        ("workers", c_int32),
        ("traced", c_int32),
        ("step", c_int32),
        ("argument_count", c_int32),
        ("record_limit", c_uint64),
        ("lines", POINTER(Line)),
        ("line_count", c_int32),
        ("metered", c_int32),
        ("input_count", c_int32),
        ("unused", c_int32),
    )


class Fault(Structure):
    """What stopped a launch; `kind` is 0 when nothing did."""

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
        ("text", c_char * 1024),
    )


def runtime() -> ctypes.CDLL:
    """The runtime, built and loaded. Raises `NotAvailable`."""
    return _load_runtime(runtime_library())


@cache
def _load_runtime(path: Path) -> ctypes.CDLL:
    mode = ctypes.RTLD_GLOBAL if sys.platform == "darwin" else ctypes.RTLD_LOCAL
    library = ctypes.CDLL(str(path), mode=mode)
    signatures = {
        "start": (c_void_p, [POINTER(Request)]),
        "wait": (c_int32, [c_void_p, c_double]),
        "progress": (c_uint64, [c_void_p]),
        "stop": (None, [c_void_p, c_int32]),
        "fault": (POINTER(Fault), [c_void_p]),
        "records": (c_void_p, [c_void_p, POINTER(c_uint64)]),
        "counts": (c_void_p, [c_void_p, POINTER(c_uint64)]),
        "hazards": (c_void_p, [c_void_p, POINTER(c_uint64)]),
        "finish": (None, [c_void_p]),
        "page_size": (c_uint64, []),
        "map": (c_uint64, [c_uint64, POINTER(c_uint64)]),
        "unmap": (None, [c_uint64, c_uint64, c_uint64]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, f"emulator_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def load(path: Path) -> ctypes.CDLL:
    """A kernel's library, loaded; the runtime, which it needs, comes first."""
    runtime()
    return _load_kernel(path)


@cache
def _load_kernel(path: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(path))


def address_of(library: ctypes.CDLL, symbol: str) -> int:
    """The address of a function of `library`."""
    return ctypes.cast(getattr(library, symbol), c_void_p).value or 0
