"""Launching a compiled kernel by the CUDA driver, which takes attributes that CuPy has no words for."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from functools import cache
from math import prod

from softmax_lib.errors import BadInput
from softmax_lib.grids import MOST_STATIC_SHARED_BYTES
from softmax_lib.launch_spec import LaunchSpec

# From cuda.h: launch attributes, two attributes of functions, and what the driver says of a launch.
_COOPERATIVE, _CLUSTER = 2, 4
_MOST_SHARED_BYTES, _ALLOWS_LARGE_CLUSTERS = 8, 14
_PORTABLE_BLOCKS_A_CLUSTER = 8
_REFUSALS = frozenset({1, 701, 720, 912})  # impossible values, resources, cooperative grid, cluster


class _Attribute(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_uint * 16))


class _Config(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


def launch_function(
    function: int, spec: LaunchSpec, stream: int, arguments: Sequence[ctypes.Array]
) -> None:
    """Launch the function at this address, with the bytes of each argument, on a stream of the current GPU.

    Raises `BadInput` for what this GPU does not take, and CuPy's `CUDADriverError` for all else.
    """
    addresses = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
    attributes = _attributes(spec)
    config = _Config(spec.grid, spec.block, spec.shared_bytes, stream, attributes, len(attributes))
    driver = _driver()
    if spec.shared_bytes > MOST_STATIC_SHARED_BYTES:
        most = (ctypes.c_void_p(function), _MOST_SHARED_BYTES, spec.shared_bytes)
        _check(driver.cuFuncSetAttribute(*most), spec)
    if prod(spec.cluster) > _PORTABLE_BLOCKS_A_CLUSTER:
        _check(
            driver.cuFuncSetAttribute(ctypes.c_void_p(function), _ALLOWS_LARGE_CLUSTERS, 1), spec
        )
    call = (ctypes.byref(config), ctypes.c_void_p(function), addresses, None)
    _check(driver.cuLaunchKernelEx(*call), spec)


def _attributes(spec: LaunchSpec) -> ctypes.Array[_Attribute]:
    """What the launch says beside its sizes."""
    found = []
    if spec.cooperative:
        found.append(_Attribute(_COOPERATIVE, 0, (1,)))
    if prod(spec.cluster) > 1:
        found.append(_Attribute(_CLUSTER, 0, spec.cluster))
    return (_Attribute * len(found))(*found)


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def _check(status: int, spec: LaunchSpec) -> None:
    if status not in _REFUSALS:
        from cupy.cuda import driver

        driver.check_status(status)
        return
    text = ctypes.c_char_p()
    _driver().cuGetErrorString(status, ctypes.byref(text))
    words = (text.value or b"").decode()
    raise BadInput(f"This GPU does not take this launch of {spec.kernel}: {words} ({status}).")
