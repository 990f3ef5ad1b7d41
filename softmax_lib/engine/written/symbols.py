"""What a kernel's library says of itself: the source line of each instruction, its variables.

Read from the DWARF tables with pyelftools, once a library: the result is kept beside it.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from softmax_lib.engine.caches import read_or_make
from softmax_lib.engine.written import dwarf
from softmax_lib.engine.written.dwarf import Variable


@dataclass(frozen=True)
class Symbols:
    """`starts[i]`, sorted, is the first address whose instructions belong to `places[i]`."""

    starts: tuple[int, ...]
    places: tuple[tuple[str, int], ...]
    variables: tuple[Variable, ...]

    @property
    def shared(self) -> tuple[Variable, ...]:
        """The `__shared__` variables."""
        return tuple(v for v in self.variables if v.is_shared)

    def place(self, address: int) -> tuple[str, int]:
        """File name and line of the instruction at `address`; ("", 0) when unknown."""
        at = bisect_right(self.starts, address) - 1
        return self.places[at] if at >= 0 else ("", 0)


def place(path: Path, pc: int, exact: bool) -> tuple[str, int]:
    """File and line of the offset `pc` in the library; not `exact`: of the call that returns to there.

    ("", 0) where that is not known.
    """
    symbols = read(path)
    return symbols.place(pc if exact else pc - 1) if symbols else ("", 0)


def nearest_variable(path: Path, offset: int) -> Variable | None:
    """The last shared variable that starts at or before `offset`, else the first."""
    symbols = read(path)
    variables = sorted(symbols.shared, key=lambda v: v.offset) if symbols else []
    before = [variable for variable in variables if variable.offset <= offset] or variables[:1]
    return before[-1] if before else None


@lru_cache(maxsize=256)
def read(path: Path) -> Symbols | None:
    """The symbols of the library at `path`; None where that is no ELF file."""
    with suppress(ELFError):
        return _from_json(read_or_make(path.with_suffix(".json"), lambda: _parse(path)))
    return None


def _from_json(text: bytes) -> Symbols:
    content = json.loads(text)
    places = tuple((file, line) for file, line in content["places"])
    variables = tuple(Variable(**variable) for variable in content["variables"])
    return Symbols(tuple(content["starts"]), places, variables)


def _parse(path: Path) -> bytes:
    """The symbols as JSON."""
    with path.open("rb") as file:
        rows, variables = dwarf.read(ELFFile(file))
    starts, places = (row[0] for row in rows), (row[1:] for row in rows)
    return json.dumps(asdict(Symbols(tuple(starts), tuple(places), tuple(variables)))).encode()
