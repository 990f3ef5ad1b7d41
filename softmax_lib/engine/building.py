"""Building with the machine's C++ compiler: one at a time, kept in the user's cache folder, and whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from softmax_lib.engine import caches
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.engine.toolchain import toolchain

SHARED_FOLDER = Path(__file__).parent / "cpp"
"""C++ that both paths are built of."""

LIBRARY_SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"

_FULL = (errno.ENOSPC, errno.EDQUOT)

_builds: dict[Path, threading.Lock] = {}


def build_own_once(
    path: Path, own: Sequence[str], sources: Sequence[Path], *, libraries: Sequence[str] = ()
) -> Path:
    """What `sources` of the package's own C++ make, built at `path` if it is not there. Raises `NotAvailable`."""
    command = [*toolchain().command, *own]

    def compile_one(source: Path, compiled: Path) -> None:
        _run_own([*command, "-c", str(source), "-o", str(compiled)], compiled)

    def build(folder: Path, out: Path) -> None:
        objects = [folder / f"{source.stem}.o" for source in sources]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(compile_one, sources, objects))
        _run_own([*command, *map(str, objects), *libraries, "-o", str(out)], out)

    return build_once(path, build)


def _run_own(command: list[str], out: Path) -> None:
    done = compile_in(command, out.parent)
    tools = toolchain().description
    if done.returncode:
        reason = first_error(done.stderr)
        raise NotAvailable(f"{tools} cannot build the emulator's runtime: {reason}")
    if not out.exists():
        raise NotAvailable(f"{tools} built nothing; set CXX to a C++ compiler or unset it.")


def compile_in(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """What the compiler says in `folder`. Raises `OSError` where the disk is what stops it."""
    plain = {**os.environ, "LC_ALL": "C", "TMPDIR": str(folder)}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=plain, check=False
    )
    for code in _FULL:
        if done.returncode and os.strerror(code) in done.stderr:
            raise OSError(code, os.strerror(code))
    return done


def _is_built(path: Path) -> bool:
    return caches.is_whole(path) and (path.suffix == ".gch" or os.access(path, os.X_OK))


def build_once(path: Path, build: Callable[[Path, Path], None]) -> Path:
    """Builds `path` unless it is there and whole; another process may do the same, and the last one stays."""
    with _builds.setdefault(path, threading.Lock()):
        if not _is_built(path):
            try:
                with caches.building_folder(path.parent) as folder:
                    build(folder, folder / path.name)
                    caches.keep(folder / path.name, path)
            except OSError as error:
                raise NotAvailable(
                    f"Kernels cannot be built in {path.parent}: {error.strerror}."
                ) from error
    return path


def first_error(message: str) -> str:
    """The first line of `message` that reports an error, else its first line."""
    lines = message.strip().splitlines() or ["no message."]
    return next((line for line in lines if "error" in line), lines[0])
