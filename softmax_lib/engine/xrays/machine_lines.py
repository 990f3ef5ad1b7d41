"""What each source line asks of memory, as its machine code was counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from softmax_lib.engine.compiled.counters import KINDS, access_of, call_of, kind_of
from softmax_lib.engine.compiled.launching import VARIABLES, Counted
from softmax_lib.engine.compiled.listing import TARGET, Place, Statement, goal_of
from softmax_lib.engine.compiled.program import Decoded, count_registers
from softmax_lib.engine.source import Source
from softmax_lib.engine.xrays.lines import Key, LineCounters, merge, read_counts


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

    def named(line: LineCounters) -> LineCounters:
        is_nameless = line.space == "shared" or line.array == VARIABLES
        return replace(line, array=names.get(line.key, line.array)) if is_nameless else line

    return merge(named(line) for launched in steps for line in _lines(launched, places))


def tell_lines(
    decoded: Decoded, source: Source, written: Iterable[LineCounters], arguments: Container[str]
) -> dict[str, Any]:
    """What makes lines of counts, for who counts elsewhere.

    `places` are files and lines, which the others give by number: `statements` that of each, with its kind among `KINDS`;
    `sites` that of each with its access, bytes, and the array where that is none of the `arguments`; and `meetings` the
    number, place and operation of each statement at which lanes or warps meet. `texts` are statements as they are
    printed, where a branch leads to by its number; `registers` tells behind how many the uniform ones come.
    """
    written = tuple(written)
    names, places = _names(written, arguments), Places(source, written)
    numbers: dict[Place, int] = {}
    at = [
        numbers.setdefault(places.of(statement), len(numbers)) for statement in decoded.statements
    ]
    found, sites = [*numbers], []
    for number in decoded.sites:
        access, size = access_of(decoded.statements[number]), int(decoded.code[number]["bytes"])
        own = {
            space: names.get((*found[at[number]], space, access), "")
            for space in ("global", "shared")
        }
        sites.append([at[number], access, size, own["shared"], own["global"]])
    return {
        "places": found,
        "statements": [[at[i], KINDS.index(kind_of(one))] for i, one in enumerate(decoded.statements)],
        "sites": sites,
        "texts": [TARGET.sub(f"-> {goal_of(decoded.listing, one)}", one.text) for one in decoded.statements],
        "registers": count_registers(decoded.statements, "R"),
        "meetings": [[i, at[i], call] for i, one in enumerate(decoded.statements) if (call := call_of(one))],
    }  # fmt: skip


def _names(written: Iterable[LineCounters], arguments: Container[str]) -> dict[Key, str]:
    """By place, space and operation the one array that is accessed there and is no argument."""
    found = defaultdict(set)
    for line in written:
        if line.array not in arguments:
            found[line.key].add(line.array)
    return {key: next(iter(names)) for key, names in found.items() if len(names) == 1}


def _lines(launched: Counted, places: Places) -> Iterator[LineCounters]:
    decoded, arrays = launched.decoded, launched.arrays
    for site, number in enumerate(decoded.sites):
        statement, size = decoded.statements[number], int(decoded.code[number]["bytes"])
        for column, counts in enumerate(launched.counts[site]):
            if counts["requests"]:
                what = (places.of(statement), launched.space_of(column), access_of(statement))
                name = arrays[column].name if column < len(arrays) else ""
                yield read_counts(*what, size, counts, name)
    for number, statement in enumerate(decoded.statements):
        executed, operation = launched.executed[number], call_of(statement)
        if executed["warps"] and operation:
            is_barrier = operation.startswith("barrier")
            requests = launched.barriers[number] if is_barrier else executed["warps"]
            lanes = 0 if is_barrier else executed["lanes"]
            place = places.of(statement)
            yield LineCounters(*place, "", operation, 0, int(requests), int(lanes), 0, 0, 0, 0)
