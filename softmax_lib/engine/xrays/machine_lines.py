"""What each source line asks of memory, as its machine code was counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from softmax_lib.engine.compiled.counters import access_of, call_of
from softmax_lib.engine.compiled.launching import VARIABLES, Counted
from softmax_lib.engine.compiled.listing import Place, Statement
from softmax_lib.engine.source import Source
from softmax_lib.engine.xrays.lines import Key, LineCounters


class Places:
    """Where instructions are shown: at a line of the source or of a header of its own.

    Of a function that was inlined there is a choice: the line in the function, or the one that calls it.
    The innermost one at which the source's own counts have something is taken, else the innermost one.
    """

    def __init__(self, source: Source, written: Iterable[LineCounters]) -> None:
        self._source = source
        self._own = {Path(name).name: name for name in (source.file_name, *source.headers)}
        self._written = {(line.file, line.line) for line in written}

    def of(self, statement: Statement) -> Place:
        """File and line of a statement; line 0 where none is known."""
        own = [
            (self._own[Path(file).name], line)
            for file, line in statement.places
            if Path(file).name in self._own
        ]
        known = (place for place in own if place in self._written)
        outermost = statement.places[-1][1] if statement.places else 0
        return next(known, own[0] if own else (self._source.file_name, outermost))


def read_machine_lines(
    steps: Sequence[Counted], source: Source, written: Iterable[LineCounters]
) -> tuple[LineCounters, ...]:
    """One entry per line, space, operation, size and array, as `read_lines` gives them of the source.

    Machine code has no names for shared arrays and variables: they are those of the line as it is `written`.
    """
    written = tuple(written)
    arguments = {array.name for counted in steps for array in counted.arrays}
    names, places = _names(written, arguments), Places(source, written)
    merged: dict[tuple, LineCounters] = {}
    for line in (line for counted in steps for line in _lines(counted, places)):
        if line.space == "shared" or line.array == VARIABLES:
            line = replace(line, array=names.get(line.key, line.array))
        key = (line.file, line.line, line.space, line.operation, line.size, line.array)
        merged[key] = _together(merged[key], line) if key in merged else line
    return tuple(sorted(merged.values(), key=lambda line: (line.file, line.line)))


def _names(written: Iterable[LineCounters], arguments: Container[str]) -> dict[Key, str]:
    """By place, space and operation the one array that is accessed there and is no argument."""
    found = defaultdict(set)
    for line in written:
        if line.array not in arguments:
            found[line.key].add(line.array)
    return {key: next(iter(names)) for key, names in found.items() if len(names) == 1}


def _lines(counted: Counted, places: Places) -> Iterator[LineCounters]:
    statements = counted.decoded.statements
    for site, number in enumerate(counted.decoded.sites):
        size = int(counted.decoded.code[number]["bytes"])
        for column, counts in enumerate(counted.counts[site]):
            if counts["requests"]:
                yield _access(counted, places, statements[number], column, counts, size)
    for number, statement in enumerate(statements):
        executed, operation = counted.executed[number], call_of(statement)
        if executed["warps"] and operation:
            is_barrier = operation.startswith("barrier")
            requests = counted.barriers[number] if is_barrier else executed["warps"]
            lanes = 0 if is_barrier else executed["lanes"]
            place = places.of(statement)
            yield LineCounters(*place, "", operation, 0, int(requests), int(lanes), 0, 0, 0, 0)


def _access(
    counted: Counted, places: Places, statement: Statement, column: int, counts: np.void, size: int
) -> LineCounters:
    is_array = column < len(counted.arrays)
    numbers = (int(counts[name]) for name in counts.dtype.names or ())
    requests, lanes, bytes_, sectors, wavefronts, conflicts = numbers
    space = counted.space_of(column)
    operation = access_of(statement)
    return LineCounters(
        *places.of(statement), space, operation,
        size, requests, lanes, bytes_, sectors, wavefronts, conflicts,
        counted.arrays[column].name if is_array else "",
    )  # fmt: skip


_SUMMED = ("requests", "lanes", "bytes_asked", "sectors", "wavefronts", "bank_conflicts")


def _together(one: LineCounters, other: LineCounters) -> LineCounters:
    return replace(one, **{name: getattr(one, name) + getattr(other, name) for name in _SUMMED})
