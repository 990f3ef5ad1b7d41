"""What each source line of a kernel asks of memory, as an x-ray counts it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

import numpy as np

from softmax_lib.engine.compiled.library import COUNTS
from softmax_lib.engine.compiled.listing import Place
from softmax_lib.engine.written.metering import Metered
from softmax_lib.engine.written.tracing import OPERATIONS

SECTOR_BYTES = 32

ACCESSES = ("load", "store", "atomic")

Key = tuple[str, int, str, str]
"""File, line, space and operation."""


@dataclass(frozen=True)
class Access:
    """An operation at a source line, by space: "global", "shared", "local", "cluster" or ""."""

    file: str
    line: int
    space: str
    operation: str

    @property
    def key(self) -> Key:
        """File, line, space and operation."""
        return self.file, self.line, self.space, self.operation


@dataclass(frozen=True)
class LineCounters(Access):
    """What one source line asked for of one array, by space and operation.

    `requests` are a warp's; of a barrier, a block's. `lanes` took part in all of them, `size` bytes
    each; `bytes_asked` counts a byte that several lanes of a request asked for once. Sectors are
    those of global memory; wavefronts and `bank_conflicts` (wavefronts that an access without
    conflict would not need) those of shared memory. The space "cluster" is shared memory of another block, of
    which neither is counted.
    """

    size: int
    requests: int
    lanes: int
    bytes_asked: int
    sectors: int
    wavefronts: int
    bank_conflicts: int
    array: str = ""

    @property
    def bytes_moved(self) -> int:
        """Bytes of the sectors that moved for them (global memory)."""
        return self.sectors * SECTOR_BYTES

    @property
    def bytes_wasted(self) -> int:
        """Bytes that moved and no lane of the request had asked for."""
        return self.bytes_moved - self.bytes_asked

    @property
    def sectors_a_request(self) -> float:
        """4 for 32 neighbouring floats, 32 when no two lanes share a sector."""
        return self.sectors / self.requests

    @property
    def lanes_a_request(self) -> float:
        """32 when every lane of each warp takes part, fewer where they diverge; 0 for a barrier."""
        return self.lanes / self.requests

    def as_json(self) -> dict:
        """The fields, and what follows from them."""
        more = ("bytes_moved", "sectors_a_request", "lanes_a_request")
        return {**asdict(self), **{name: getattr(self, name) for name in more}}


def read_lines(metered: Metered) -> tuple[LineCounters, ...]:
    """One entry per line, space, operation, size and array, from the first line to the last."""
    return merge(_line(metered, counts) for counts in metered.counts)


def _line(metered: Metered, counts: np.void) -> LineCounters:
    operation, array = OPERATIONS[counts["operation"]], counts["array"]
    space = "" if operation not in ACCESSES else "shared" if counts["is_shared"] else "global"
    name = metered.arrays[array].name if array >= 0 else ""
    place = metered.places[counts["place"]]
    return read_counts(place, space, operation, int(counts["size"]), counts, name)


def read_counts(
    place: Place, space: str, operation: str, size: int, counts: np.void, array: str
) -> LineCounters:
    """What was counted of one array, in a row of `COUNTS` or `LINE_COUNTS`."""
    numbers = dict(zip(_SUMMED, (int(counts[name]) for name in COUNTS.names or ()), strict=True))
    file, line = place
    return LineCounters(file, line, space, operation, size, array=array, **numbers)


_SUMMED = ("requests", "lanes", "bytes_asked", "sectors", "wavefronts", "bank_conflicts")


def merge(lines: Iterable[LineCounters]) -> tuple[LineCounters, ...]:
    """Each line, space, operation, size and array once, from the first line to the last."""
    merged: dict[tuple, LineCounters] = {}
    for line in lines:
        key = (*line.key, line.size, line.array)
        if before := merged.get(key):
            sums = {name: getattr(before, name) + getattr(line, name) for name in _SUMMED}
            line = replace(before, **sums)
        merged[key] = line
    return tuple(sorted(merged.values(), key=lambda line: (line.file, line.line)))


def add_up(lines: Iterable[LineCounters]) -> dict[str, int]:
    """Counters of all lines, under the names that `schema.METRICS` gives ncu's, and a few more."""
    every = list(lines)
    total = {}
    for space, unit in (("global", "sectors"), ("shared", "wavefronts")):
        for operation in ("load", "store"):
            kind = [line for line in every if (line.space, line.operation) == (space, operation)]
            total[f"{space}_{operation}_requests"] = sum(line.requests for line in kind)
            total[f"{space}_{operation}_{unit}"] = sum(getattr(line, unit) for line in kind)
    for call in ("shuffle", "barrier"):
        total[f"{call}s"] = sum(one.requests for one in every if one.operation.startswith(call))
    total["bank_conflicts"] = sum(line.bank_conflicts for line in every)
    total["bytes_asked"] = sum(line.bytes_asked for line in every if line.space == "global")
    total["bytes_moved"] = sum(line.bytes_moved for line in every)
    return total


Counted = tuple[int, int]
"""Requests, and sectors or wavefronts."""


def differing(
    one: Iterable[LineCounters], other: Iterable[LineCounters]
) -> dict[Key, tuple[Counted, Counted]]:
    """By file, line, space and operation what two ways to count do not agree on: of the one, of the other.

    Not where one of them knows that shared memory is another block's.
    """
    ours, theirs = _sums(one), _sums(other)
    pairs = {key: (ours.get(key, (0, 0)), theirs.get(key, (0, 0))) for key in (*ours, *theirs)}
    elsewhere = {(*key[:2], "shared", key[3]) for key in pairs if key[2] == "cluster"}
    return {
        key: pair
        for key, pair in sorted(pairs.items())
        if pair[0] != pair[1] and key[2] != "cluster" and key not in elsewhere
    }


def _sums(lines: Iterable[LineCounters]) -> dict[Key, Counted]:
    sums: dict[Key, Counted] = {}
    for line in lines:
        if line.operation in ("load", "store"):
            requests, units = sums.get(line.key, (0, 0))
            more = line.wavefronts if line.space == "shared" else line.sectors
            sums[line.key] = (requests + line.requests, units + more)
    return sums
