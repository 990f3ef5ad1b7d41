"""The `__device__` and `__constant__` variables of a kernel's library: where they lie, what they hold.

A library stays loaded in its process, so that each session gives them the first values that the source has for them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from softmax_lib.engine.arrays import host_bytes
from softmax_lib.engine.errors import BadInput, NotAvailable
from softmax_lib.engine.source import Source
from softmax_lib.engine.written import symbols
from softmax_lib.engine.written.device import Device
from softmax_lib.engine.written.dwarf import Variable


def restore(device: Device, path: Path, source: Source) -> None:
    """Give the variables of `source` in the library at `path` their first values again."""
    if not source.variables:
        return
    library = device.load(path)
    if library.first_values is None:
        places = ((library.base + v.offset, v.bytes) for v in _there(path))
        library.first_values = {start: device.read(start, count) for start, count in places}
    for start, content in library.first_values.items():
        # a const one may lie where nothing can be written
        if device.read(start, len(content)) != content:
            device.write(start, content)


def _there(path: Path) -> list[Variable]:
    found = symbols.read(path)
    if found is None:
        raise NotAvailable(
            "Variables of a kernel need the package pyelftools: `pip install pyelftools`."
        )
    return [variable for variable in found.variables if not variable.is_shared]


def fill(device: Device, path: Path, name: str, array: np.ndarray) -> None:
    """Copy `array`, or a tensor, into the variable called `name`. Raises `BadInput` where it does not fit.

    One that no launched kernel reaches is not in the library, and left alone.
    """
    start, content = _room(device, path, name, array)
    if start:
        device.write(start, content.tobytes())


def fetch(device: Device, path: Path, name: str, array: np.ndarray) -> None:
    """Copy the variable called `name` into `array`, or a tensor."""
    start, content = _room(device, path, name, array)
    if start:
        content[:] = np.frombuffer(device.read(start, content.nbytes), np.uint8)


def _room(device: Device, path: Path, name: str, array: np.ndarray) -> tuple[int, np.ndarray]:
    plain = name.rpartition("::")[2]
    variable = next((v for v in _there(path) if v.name == plain), None)
    content = host_bytes(array)
    if variable is None:
        return 0, content
    if content.nbytes > variable.bytes:
        raise BadInput(
            f"The symbol {name} is given {content.nbytes} bytes; it has {variable.bytes}."
        )
    return device.load(path).base + variable.offset, content
