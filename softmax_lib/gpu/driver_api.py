"""CUDA's driver, as far as CuPy has no words for it: the structures of a launch, calls by name, launches kept prepared."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Mapping
from functools import cache
from typing import Generic, TypeVar

from softmax_lib.engine.errors import BlockSizeNotAllowed, NotAvailable
from softmax_lib.engine.grids import MOST_STATIC_SHARED_BYTES

COOPERATIVE, CLUSTER, CLUSTER_POLICY = 2, 4, 5
"""Attributes of a launch, as cuda.h counts them."""
BALANCED = 2
"""A cluster policy: blocks of a cluster go where there is most room."""
MOST_THREADS, REGISTERS, MOST_SHARED_BYTES, ALLOWS_LARGE_CLUSTERS = 0, 4, 8, 14
"""Attributes of a function."""
MOST_SHARED_BYTES_A_BLOCK = 97
"""An attribute of a device."""
PORTABLE_BLOCKS_A_CLUSTER = 8


class Attribute(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_uint * 16))


class Config(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    )


def attributes(values: Mapping[int, tuple[int, ...]]) -> ctypes.Array[Attribute]:
    """What a launch says beside its sizes, by attribute."""
    return (Attribute * len(values))(*(Attribute(name, 0, value) for name, value in values.items()))


@cache
def driver() -> ctypes.CDLL:
    """The driver's library. Raises `OSError` where there is none."""
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def permit(function: int, shared_bytes: int, blocks_a_cluster: int) -> int:
    """Let a function have more dynamic shared memory, or larger clusters, than any may; the driver's status."""
    status, handle = 0, ctypes.c_void_p(function)
    if shared_bytes > MOST_STATIC_SHARED_BYTES:
        status = driver().cuFuncSetAttribute(handle, MOST_SHARED_BYTES, shared_bytes)
    if not status and blocks_a_cluster > PORTABLE_BLOCKS_A_CLUSTER:
        status = driver().cuFuncSetAttribute(handle, ALLOWS_LARGE_CLUSTERS, 1)
    return status


def check_threads(function: int, name: str, threads: int) -> None:
    """Raise `BlockSizeNotAllowed` where a block of so many threads does not fit a function's registers or bounds."""
    most = _ask(function, MOST_THREADS)
    if threads > most:
        raise BlockSizeNotAllowed(
            f"{name} takes at most {most} threads per block on this GPU, with "
            f"{_ask(function, REGISTERS)} registers each; this block has {threads}."
        )


def _ask(function: int, attribute: int) -> int:
    value = ctypes.c_int()
    asked = (ctypes.byref(value), attribute, ctypes.c_void_p(function))
    require(driver().cuFuncGetAttribute(*asked), "tell what a kernel takes")
    return value.value


def require(status: int, doing: str) -> None:
    """Raise `NotAvailable` unless the driver's `status` says that it did: "load a kernel"."""
    if status:
        raise NotAvailable(f"The driver does not {doing}: {meaning(status)}.")


def meaning(status: int) -> str:
    """A status of the driver in its own words: "invalid argument (1)"."""
    text = ctypes.c_char_p()
    driver().cuGetErrorString(status, ctypes.byref(text))
    return f"{(text.value or b'unknown error').decode()} ({status})"


T = TypeVar("T")


class OfThisThread(threading.local, Generic[T]):
    """Prepared launches by key: addresses are written into them at each call, so each thread has its own."""

    def __init__(self) -> None:
        self.table: dict[tuple, T] = {}

    def keep(self, key: tuple, prepared: T, at_most: int) -> None:
        """Keep one more; all others go first where there are `at_most` already."""
        if len(self.table) >= at_most:
            self.table.clear()
        self.table[key] = prepared
