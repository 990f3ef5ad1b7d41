"""The machine's C++ compiler: which one there is; and what it builds, kept in the user's cache folder, whole or not at all."""

from __future__ import annotations

import errno
import importlib.util
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from softmax_lib.engine import caches
from softmax_lib.engine.errors import CompileError, NotAvailable

SHARED_FOLDER = Path(__file__).parent / "cpp"
"""C++ that both paths are built of."""

LIBRARY_SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"

_FULL = (errno.ENOSPC, errno.EDQUOT)

COMPILE_S = 120
"""Seconds after which a compiler counts as one that does not come back: on a template that never ends, say."""
ENDLESS = f"The compiler did not come to an end in {COMPILE_S} s, and was stopped."
_LIMITED = ("/bin/sh", "-c", 'ulimit -v 6291456 2>/dev/null; exec "$@"', "sh")
"""So many KiB of memory are enough for any kernel, and less than what would stop other programs."""

_builds: dict[Path, threading.Lock] = {}

MACHINES = ("x86_64", "amd64", "aarch64", "arm64")


@dataclass(frozen=True)
class Toolchain:
    """A C++ compiler's command and the first line of what it says about its version."""

    command: tuple[str, ...]
    version: str

    @property
    def is_clang(self) -> bool:
        """Whether it takes clang's flags rather than g++'s."""
        return "clang" in self.version.lower()

    @property
    def description(self) -> str:
        """For a person: command and version."""
        return f"{' '.join(self.command)} ({self.version})"


def compiler() -> tuple[list[str], str]:
    """The C++ compiler's command and a description: $CXX, c++, g++, clang++ or the ziglang wheel.

    Raises `NotAvailable`, with one sentence that says what to install.
    """
    found = toolchain()
    return list(found.command), found.description


def toolchain() -> Toolchain:
    """The compiler to build with. Raises `NotAvailable`."""
    return _find(os.environ.get("CXX", ""), os.environ.get("PATH", ""))


@lru_cache
def _find(given: str, path: str) -> Toolchain:
    _check_machine()
    if given.strip():
        if usable := _ask_version(_words(given)):
            return usable
        raise NotAvailable(
            f"The environment variable CXX is {given!r}, which does not run; set it to a C++ compiler "
            "or unset it."
        )
    for name in ("c++", "g++", "clang++"):
        found = shutil.which(name, path=path)
        if found and (usable := _ask_version((found,))):
            return usable
    is_there = importlib.util.find_spec("ziglang")
    if is_there and (usable := _ask_version((sys.executable, "-m", "ziglang", "c++"))):
        return usable
    raise NotAvailable(
        "Running a kernel on the CPU needs a C++ compiler and none was found: install g++ or clang++ "
        "(Debian: `apt-get install g++`; macOS: `xcode-select --install`; anywhere: `pip install ziglang`)."
    )


def _check_machine() -> None:
    machine = platform.machine()
    if os.name != "posix" or machine.lower() not in MACHINES:
        raise NotAvailable(
            "The emulator runs under Linux and macOS on x86-64 and 64-bit ARM; this is "
            f"{platform.system()} on {machine}."
        )


def _words(given: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(given))
    except ValueError:  # a quotation mark that nothing closes
        return (given,)


def _ask_version(command: tuple[str, ...]) -> Toolchain | None:
    try:
        asked = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return Toolchain(command, asked.stdout.partition("\n")[0].strip())


# ---- building, one at a time


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
    """What the compiler says in `folder`. Raises `OSError` where the disk is what stops it, `CompileError` where time is."""
    plain = {**os.environ, "LC_ALL": "C", "TMPDIR": str(folder)}
    with subprocess.Popen(
        [*_LIMITED, *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=plain, start_new_session=True,
    ) as running:  # fmt: skip
        try:
            said = running.communicate(timeout=COMPILE_S)
        except BaseException as stopped:  # Ctrl-C too does not reach it
            os.killpg(running.pid, signal.SIGKILL)
            if isinstance(stopped, subprocess.TimeoutExpired):
                raise CompileError(ENDLESS) from None
            raise
    done = subprocess.CompletedProcess(command, running.returncode, *said)
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
