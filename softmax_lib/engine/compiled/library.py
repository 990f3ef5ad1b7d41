"""The interpreter's library: built once, loaded once, held against the tables of Python."""

from __future__ import annotations

import ctypes
import hashlib
import platform
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from softmax_lib.engine.building import LIBRARY_SUFFIX, SHARED_FOLDER, build_own_once
from softmax_lib.engine.caches import cache_folder
from softmax_lib.engine.compiled.tables import LAYOUT, Launch, Status
from softmax_lib.engine.toolchain import toolchain

_FOLDERS = (Path(__file__).parent / "cpp", SHARED_FOLDER)

FLAGS = (
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-shared",
    "-pthread",
    "-fno-strict-aliasing",
    "-ffp-contract=off",  # the same bits on every machine
    "-fno-math-errno",  # so that loops over lanes vectorise
    "-fno-trapping-math",
)


def _processor_flags() -> tuple[str, ...]:
    """For eight lanes at once where the processor has them: the results are the same.

    What the upper halves of registers hold is cleared once, at the end of a run, not by each function.
    """
    try:
        known = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ()
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    has_them = is_x86 and {"avx2", "fma", "bmi2"} <= set(known.split())
    return ("-mavx2", "-mfma", "-mbmi2", "-mno-vzeroupper") if has_them else ()


@cache
def digest() -> str:
    """Of everything that the library is made of."""
    return digest_of(path for folder in _FOLDERS for path in folder.iterdir())


def digest_of(paths: Iterable[Path]) -> str:
    """Of the names and texts of files."""
    texts = [(path.name, path.read_text(encoding="utf-8")) for path in sorted(paths)]
    return hashlib.sha256(repr(texts).encode()).hexdigest()


def library_path() -> Path:
    """The library, built if it is not there. Raises `NotAvailable` where it does not build."""
    tools = toolchain()
    flags = (*FLAGS, *_processor_flags())
    key = hashlib.sha256(repr((tools, flags, digest())).encode()).hexdigest()[:24]
    path = cache_folder("emulator") / f"machine-{key}{LIBRARY_SUFFIX}"
    sources = [path for folder in _FOLDERS for path in sorted(folder.glob("*.cpp"))]
    return build_own_once(path, (*flags, f"-I{SHARED_FOLDER}"), sources)


@cache
def library() -> ctypes.CDLL:
    """The library, loaded. Raises `NotAvailable`, and `RuntimeError` where Python and C++ disagree."""
    loaded = ctypes.CDLL(str(library_path()))
    loaded.machine_open.argtypes = (ctypes.POINTER(Launch),)
    loaded.machine_open.restype = ctypes.c_void_p
    loaded.machine_run.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(Status))
    loaded.machine_run.restype = None
    loaded.machine_read.argtypes = (ctypes.c_void_p,) * 4
    loaded.machine_read.restype = None
    loaded.machine_close.argtypes = (ctypes.c_void_p,)
    loaded.machine_close.restype = None
    for name in ("machine_operations", "machine_layout"):
        getattr(loaded, name).restype = ctypes.c_char_p
    words = (line.split() for line in loaded.machine_layout().decode().splitlines())
    LAYOUT.check({name: int(size) for name, size in words})
    return loaded


@cache
def operations() -> dict[str, int]:
    """The number of each operation of the interpreter, by its name."""
    names = library().machine_operations().decode().splitlines()
    return {name: number for number, name in enumerate(names)}
