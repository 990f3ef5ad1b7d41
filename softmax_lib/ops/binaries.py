"""Machine code of the kernels in kernels/fast: from the disk, or compiled, and loaded by the driver."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import threading
from functools import cache
from pathlib import Path

import torch

from softmax_lib.engine.caches import cache_folder, read_or_make
from softmax_lib.engine.source import FLAGS, PRELUDE
from softmax_lib.gpu.compile import run_nvrtc
from softmax_lib.gpu.driver_api import driver, require
from softmax_lib.gpu.presence import arch_of
from softmax_lib.ops.outlines import Build

_log = logging.getLogger("softmax_lib")
_loading = threading.Lock()


def function(build: Build, device: int) -> int:
    """Where a kernel lies on this GPU.

    It is compiled once for a kind of GPU, which the log tells, and then kept on disk. Raises
    `NotAvailable` where it would have to be compiled and cannot be.
    """
    with _loading:
        return _function(build, device)


def cubin(build: Build, arch: int) -> tuple[bytes, str]:
    """Machine code for sm_`arch`, and the kernel's name in it; from the disk when it is there.

    Whichever NVRTC made it: a later one makes it anew when the cache is cleared, or a source changed.
    """
    path = path_of(build, arch)

    def make() -> bytes:
        _tell(arch, path.parent)
        text, flags = build.source.with_prelude(), (*FLAGS, *build.flags)
        code, _, (name,) = run_nvrtc(build.source, text, arch, flags, (build.expression,))
        return name.encode() + b"\n" + code

    name, _, code = read_or_make(path, make).partition(b"\n")
    return code, name.decode()


def path_of(build: Build, arch: int) -> Path:
    """Where its machine code for sm_`arch` is kept."""
    parts = (build.source.code, PRELUDE, FLAGS, build.flags, build.expression, arch)
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()
    return cache_folder("fast") / f"{build.stem}-sm_{arch}-{digest[:32]}.cubin"


@cache
def _tell(arch: int, folder: Path) -> None:
    """Once for a kind of GPU: something takes a moment now, and will not the next time."""
    _log.warning("softmax_lib compiles kernels for sm_%s, once; they are kept in %s.", arch, folder)


@cache
def _function(build: Build, device: int) -> int:
    torch.cuda.set_device(device)  # a new thread has no CUDA context until it asks for one
    code, name = cubin(build, arch_of(device))
    module, found = ctypes.c_void_p(), ctypes.c_void_p()
    require(driver().cuModuleLoadData(ctypes.byref(module), code), "load a kernel")
    asked = (ctypes.byref(found), module, name.encode())
    require(driver().cuModuleGetFunction(*asked), "find a kernel")
    return found.value or 0
