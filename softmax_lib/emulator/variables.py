"""The `__device__` and `__constant__` variables of a kernel's library: where they lie, what they hold.

A library stays loaded, so that each session gives them the first values that the source has for them.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np

from softmax_lib.arrays import address, host_bytes
from softmax_lib.emulator import native, symbols
from softmax_lib.emulator.dwarf import Variable
from softmax_lib.errors import BadInput, NotAvailable
from softmax_lib.source import Source


def base_of(path: Path) -> int:
    """Where the library at `path` is loaded: what offsets in it count from."""
    return int(native.runtime().emulator_base_of(_entry(path)))


def _entry(path: Path) -> int:
    return native.address_of(native.load(path), "emulator_call_0")


def restore(path: Path, source: Source) -> None:
    """Give the variables of `source` in the library at `path` their first values again."""
    if source.variables:
        for start, content in _first_values(path):
            ctypes.memmove(start, content, len(content))


@cache
def _first_values(path: Path) -> list[tuple[int, bytes]]:
    """Address and content of each variable of a library that no kernel has run in yet."""
    base = base_of(path)
    return [(base + v.offset, ctypes.string_at(base + v.offset, v.bytes)) for v in _there(path)]


def _there(path: Path) -> list[Variable]:
    found = symbols.read(path)
    if found is None:
        raise NotAvailable(
            "Variables of a kernel need the package pyelftools: `pip install pyelftools`."
        )
    return [variable for variable in found.variables if not variable.is_shared]


def fill(path: Path, name: str, array: np.ndarray) -> None:
    """Copy `array`, or a tensor, into the variable called `name`. Raises `BadInput` where it does not fit.

    One that no launched kernel reaches is not in the library, and left alone.
    """
    start, content = _room(path, name, array)
    if start:
        ctypes.memmove(start, address(content), content.nbytes)


def fetch(path: Path, name: str, array: np.ndarray) -> None:
    """Copy the variable called `name` into `array`, or a tensor."""
    start, content = _room(path, name, array)
    if start:
        ctypes.memmove(address(content), start, content.nbytes)


def _room(path: Path, name: str, array: np.ndarray) -> tuple[int, np.ndarray]:
    plain = name.rpartition("::")[2]
    variable = next((v for v in _there(path) if v.name == plain), None)
    content = host_bytes(array)
    if variable is None:
        return 0, content
    if content.nbytes > variable.bytes:
        raise BadInput(
            f"The symbol {name} is given {content.nbytes} bytes; it has {variable.bytes}."
        )
    return base_of(path) + variable.offset, content
