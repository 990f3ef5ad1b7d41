"""What each source line asks of memory, as its machine code was counted, and what it executes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from softmax_lib.machine.kinds import access_of, call_of, kind_of
from softmax_lib.machine.launching import Counted
from softmax_lib.machine.listing import Place, Statement
from softmax_lib.source import Source
from softmax_lib.xrays.lines import LineCounters

_BEHIND = ("shared", "local")
"""Memory whose counts come behind those of the arrays."""


@dataclass(frozen=True)
class LineInstructions:
    """Instructions of one kind that a source line executes: by warps, and by how many lanes in all."""

    file: str
    line: int
    kind: str
    warps: int
    lanes: int


def read_machine_lines(
    steps: Sequence[Counted], source: Source, written: Iterable[LineCounters]
) -> tuple[LineCounters, ...]:
    """One entry per line, space, operation, size and array, as `read_lines` gives them of the source.

    Machine code has no names for shared arrays: they are those of the line as it is `written`.
    """
    names = _shared_names(written)
    merged: dict[tuple, LineCounters] = {}
    for line in (line for counted in steps for line in _lines(counted, source)):
        if line.space == "shared":
            line = replace(line, array=names.get((line.file, line.line, line.operation), ""))
        key = (line.file, line.line, line.space, line.operation, line.size, line.array)
        merged[key] = _together(merged[key], line) if key in merged else line
    return tuple(sorted(merged.values(), key=lambda line: (line.file, line.line)))


def read_instructions(steps: Sequence[Counted], source: Source) -> tuple[LineInstructions, ...]:
    """What each line executes, by kind, from the first line to the last."""
    sums: dict[tuple[str, int, str], list[int]] = defaultdict(lambda: [0, 0])
    for counted in steps:
        for statement, executed in zip(counted.decoded.statements, counted.executed, strict=True):
            if executed["warps"]:
                file, line = place_in(source, statement)
                both = sums[file, line, kind_of(statement)]
                both[0] += int(executed["warps"])
                both[1] += int(executed["lanes"])
    return tuple(LineInstructions(*key, *both) for key, both in sorted(sums.items()))


@lru_cache(maxsize=1)
def _own_files(source: Source) -> dict[str, str]:
    """Names of the source and of its headers, by what they are without their folders."""
    return {Path(name).name: name for name in (source.file_name, *source.headers)}


def place_in(source: Source, statement: Statement) -> Place:
    """The innermost of a statement's places that is in the source or in a header of its own; else its outermost."""
    own = _own_files(source)
    for file, line in statement.places:
        if Path(file).name in own:
            return own[Path(file).name], line
    return source.file_name, statement.places[-1][1] if statement.places else 0


def _shared_names(written: Iterable[LineCounters]) -> dict[tuple[str, int, str], str]:
    """By place and operation the one shared array that is accessed there."""
    found = defaultdict(set)
    for line in written:
        if line.space == "shared":
            found[line.file, line.line, line.operation].add(line.array)
    return {key: next(iter(names)) for key, names in found.items() if len(names) == 1}


def _lines(counted: Counted, source: Source) -> Iterator[LineCounters]:
    statements = counted.decoded.statements
    for site, number in enumerate(counted.decoded.sites):
        size = int(counted.decoded.code[number]["bytes"])
        for column, counts in enumerate(counted.counts[site]):
            if counts["requests"]:
                yield _access(counted, source, statements[number], column, counts, size)
    for number, statement in enumerate(statements):
        executed, operation = counted.executed[number], call_of(statement)
        if executed["warps"] and operation:
            is_barrier = operation.startswith("barrier")
            requests = counted.barriers[number] if is_barrier else executed["warps"]
            lanes = 0 if is_barrier else executed["lanes"]
            place = place_in(source, statement)
            yield LineCounters(*place, "", operation, 0, int(requests), int(lanes), 0, 0, 0, 0)


def _access(
    counted: Counted, source: Source, statement: Statement, column: int, counts: np.void, size: int
) -> LineCounters:
    is_array = column < len(counted.arrays)
    numbers = (int(counts[name]) for name in counts.dtype.names or ())
    requests, lanes, bytes_, sectors, wavefronts, conflicts = numbers
    return LineCounters(
        *place_in(source, statement),
        "global" if is_array else _BEHIND[column - len(counted.arrays)],
        access_of(statement),
        size, requests, lanes, bytes_, sectors, wavefronts, conflicts,
        counted.arrays[column].name if is_array else "",
    )  # fmt: skip


_SUMMED = ("requests", "lanes", "bytes_asked", "sectors", "wavefronts", "bank_conflicts")


def _together(one: LineCounters, other: LineCounters) -> LineCounters:
    return replace(one, **{name: getattr(one, name) + getattr(other, name) for name in _SUMMED})
