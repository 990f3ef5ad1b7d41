"""Launching a compiled kernel by the CUDA driver, which takes attributes that CuPy has no words for."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod

from softmax_lib.engine.errors import BadInput
from softmax_lib.engine.spec import LaunchSpec
from softmax_lib.gpu.driver_api import (
    CLUSTER,
    COOPERATIVE,
    Attribute,
    Config,
    attributes,
    check_threads,
    driver,
    meaning,
    permit,
)

_REFUSALS = frozenset({1, 701, 720, 912})  # impossible values, resources, cooperative grid, cluster


def launch_function(
    function: int, spec: LaunchSpec, stream: int, arguments: Sequence[ctypes.Array]
) -> None:
    """Launch the function at this address, with the bytes of each argument, on a stream of the current GPU.

    Raises `BadInput` for what this GPU does not take, and CuPy's `CUDADriverError` for all else.
    """
    check_threads(function, spec.kernel, prod(spec.block))
    addresses = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
    said = _attributes(spec)
    config = Config(spec.grid, spec.block, spec.shared_bytes, stream, said, len(said))
    _check(permit(function, spec.shared_bytes, prod(spec.cluster)), spec)
    call = (ctypes.byref(config), ctypes.c_void_p(function), addresses, None)
    _check(driver().cuLaunchKernelEx(*call), spec)


def _attributes(spec: LaunchSpec) -> ctypes.Array[Attribute]:
    """What the launch says beside its sizes."""
    found: dict[int, tuple[int, ...]] = {}
    if spec.cooperative:
        found[COOPERATIVE] = (1,)
    if prod(spec.cluster) > 1:
        found[CLUSTER] = spec.cluster
    return attributes(found)


def _check(status: int, spec: LaunchSpec) -> None:
    if status not in _REFUSALS:
        from cupy.cuda import driver

        driver.check_status(status)
        return
    raise BadInput(f"This GPU does not take this launch of {spec.kernel}: {meaning(status)}.")
