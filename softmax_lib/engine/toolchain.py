"""The machine's C++ compiler: which one there is, and what tells one version from another."""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache

from softmax_lib.engine.errors import NotAvailable

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
        return _ask_version(_words(given)) or _refuse_given(given)
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


def _refuse_given(given: str) -> Toolchain:
    raise NotAvailable(
        f"The environment variable CXX is {given!r}, which does not run; set it to a C++ compiler "
        "or unset it."
    )
