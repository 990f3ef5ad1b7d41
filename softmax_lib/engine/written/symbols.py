"""What a kernel's library says of itself: the source line of each instruction, its variables, and what they hold.

Read from the DWARF tables with pyelftools, once a library: the result is kept beside it.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import sys
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from softmax_lib.engine.arrays import host_bytes
from softmax_lib.engine.caches import read_or_make
from softmax_lib.engine.errors import BadInput, NotAvailable
from softmax_lib.engine.source import Source
from softmax_lib.engine.written import dwarf
from softmax_lib.engine.written.device import Device
from softmax_lib.engine.written.stretches import Stretch

_READERS = (Path(__file__).with_name(f"{name}.py") for name in ("dwarf", "stretches", "symbols"))
_KEPT_AS = f".{hashlib.sha256(b''.join(one.read_bytes() for one in _READERS)).hexdigest()[:12]}"
"""What is kept is named by the code that reads it."""

_LASTING = re.compile(r"\b(static|__constant__)\b")
"""What else than `Source.variables` may outlive a launch."""


@dataclass(frozen=True)
class Symbols:
    """`starts[i]`, sorted, is the first address whose instructions belong to `places[i]`."""

    starts: tuple[int, ...]
    places: tuple[tuple[str, int], ...]
    variables: tuple[Stretch, ...]

    @property
    def shared(self) -> tuple[Stretch, ...]:
        """The `__shared__` variables."""
        return tuple(v for v in self.variables if v.is_shared)

    @property
    def globals(self) -> tuple[Stretch, ...]:
        """The `__device__`, `__constant__` and `static` variables."""
        return tuple(v for v in self.variables if not v.is_shared)

    def place(self, address: int) -> tuple[str, int]:
        """File name and line of the instruction at `address`; ("", 0) when unknown."""
        at = bisect_right(self.starts, address) - 1
        return self.places[at] if at >= 0 else ("", 0)


@lru_cache(maxsize=256)
def read(path: Path) -> Symbols:
    """The symbols of the library at `path`; none where that is no ELF file."""
    with suppress(ELFError):
        kept = read_or_make(path.with_suffix(_KEPT_AS), lambda: pickle.dumps(_parse(path)))
        found: Symbols = pickle.loads(kept)
        return found
    return Symbols((), (), ())


def _parse(path: Path) -> Symbols:
    with path.open("rb") as file:
        rows, variables = dwarf.read(ELFFile(file))
    starts, places = (row[0] for row in rows), (row[1:] for row in rows)
    return Symbols(tuple(starts), tuple(places), tuple(variables))


# ---- what `__device__`, `__constant__` and `static` variables hold


def restore(device: Device, path: Path, source: Source) -> None:
    """Give the variables of `source` in the library at `path`, which stays loaded, their first values again.

    Raises `NotAvailable` on macOS.
    """
    if not source.variables and not _LASTING.search(source.code):
        return
    if sys.platform == "darwin":
        if not source.variables:
            return
        raise NotAvailable("Variables of a kernel are found in ELF tables, so they need Linux.")
    library = device.load(path)
    if library.first_values is None:
        places = ((library.base + v.address, v.bytes) for v in read(path).globals)
        library.first_values = {start: device.read(start, count) for start, count in places}
    for start, content in library.first_values.items():
        # a const one may lie where nothing can be written
        if device.read(start, len(content)) != content:
            device.write(start, content)


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
    variable = next((v for v in read(path).globals if v.name == plain), None)
    content = host_bytes(array)
    if variable is None:
        return 0, content
    if content.nbytes > variable.bytes:
        raise BadInput(
            f"The symbol {name} is given {content.nbytes} bytes; it has {variable.bytes}."
        )
    return device.load(path).base + variable.address, content
