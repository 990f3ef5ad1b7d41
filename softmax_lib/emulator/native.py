"""The runtime's C interface, and kernels' libraries: built, loaded, and held against structs.py."""

from __future__ import annotations

import ctypes
import sys
from ctypes import POINTER, c_double, c_int32, c_uint64, c_void_p
from functools import cache
from pathlib import Path

from softmax_lib.emulator.build import runtime_library
from softmax_lib.emulator.structs import Fault, LayoutEntry, Request, layout


def runtime() -> ctypes.CDLL:
    """The runtime, built and loaded. Raises `NotAvailable`."""
    return _load_runtime(runtime_library())


@cache
def _load_runtime(path: Path) -> ctypes.CDLL:
    mode = ctypes.RTLD_GLOBAL if sys.platform == "darwin" else ctypes.RTLD_LOCAL
    library = ctypes.CDLL(str(path), mode=mode)
    signatures = {
        "layout": (POINTER(LayoutEntry), [POINTER(c_uint64)]),
        "start": (c_void_p, [POINTER(Request)]),
        "await": (c_int32, [c_void_p, c_double]),
        "progress": (c_uint64, [c_void_p]),
        "stop": (None, [c_void_p, c_int32]),
        "fault": (POINTER(Fault), [c_void_p]),
        "records": (c_void_p, [c_void_p, POINTER(c_uint64)]),
        "counts": (c_void_p, [c_void_p, POINTER(c_uint64)]),
        "hazards": (c_void_p, [c_void_p, POINTER(c_uint64)]),
        "finish": (None, [c_void_p]),
        "base_of": (c_uint64, [c_void_p]),
        "page_size": (c_uint64, []),
        "map": (c_uint64, [c_uint64, POINTER(c_uint64)]),
        "unmap": (None, [c_uint64, c_uint64, c_uint64]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, f"emulator_{name}")
        function.restype, function.argtypes = result, arguments
    check_layout(compiled_layout(library))
    return library


def compiled_layout(library: ctypes.CDLL) -> dict[str, int]:
    """The same as `layout`, as the runtime in `library` was compiled: cpp/layout.cpp."""
    count = c_uint64()
    entries = library.emulator_layout(ctypes.byref(count))
    return {entries[i].name.decode(): entries[i].value for i in range(count.value)}


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
