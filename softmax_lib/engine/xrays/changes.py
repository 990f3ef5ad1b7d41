"""What a compiler made of a line: where its machine code asks memory for something else than the source does."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from softmax_lib.engine.compiled.counters import access_of, kind_of
from softmax_lib.engine.compiled.launching import Counted as Launched
from softmax_lib.engine.compiled.listing import INSTRUCTION_BYTES, Listing, find_loops
from softmax_lib.engine.source import Source
from softmax_lib.engine.xrays.lines import Access, Counted, Key, LineCounters, differing
from softmax_lib.engine.xrays.machine_lines import Places


@dataclass(frozen=True)
class Change(Access):
    """A line at which machine code asks for something else: requests, and sectors or wavefronts, both ways.

    `what` says what the compiler did, in words such as "merged into loads of 16 bytes".
    """

    written: Counted
    executed: Counted
    what: str


class _Asked(NamedTuple):
    """What one line asks for in all: `bytes` of all lanes together, `size` of the widest access."""

    requests: int
    lanes: int
    bytes: int
    size: int


_BothWays = tuple[_Asked, _Asked]
"""As it is written, and as it is executed."""


def read_changes(
    steps: Sequence[Launched],
    source: Source,
    written: tuple[LineCounters, ...],
    executed: tuple[LineCounters, ...],
) -> tuple[Change, ...]:
    """Each line that the machine code of `steps` asks memory about otherwise than the source; none where that was not run."""
    pairs = differing(written, executed) if written else {}
    if not pairs:
        return ()
    copies = _copies(steps, Places(source, written))
    keys = dict.fromkeys(one.key for one in (*written, *executed))
    every = {key: (_ask(written, key), _ask(executed, key)) for key in keys}
    return tuple(
        Change(*key, *pair, _explain(key, every, copies[key])) for key, pair in pairs.items()
    )


def _ask(lines: Iterable[LineCounters], key: Key) -> _Asked:
    those = [one for one in lines if one.key == key]
    return _Asked(
        sum(one.requests for one in those),
        sum(one.lanes for one in those),
        sum(one.lanes * one.size for one in those),
        max((one.size for one in those), default=0),
    )


def _is_wider(before: _Asked, now: _Asked) -> bool:
    return bool(before.requests) and now.size > before.size


def _explain(key: Key, every: Mapping[Key, _BothWays], copies: int) -> str:
    """What was done at one of `every` line, as far as counts and instructions tell.

    Of its instructions in a loop so many `copies` stand in one piece of straight code.
    """
    operation, (before, now) = key[3], every[key]
    alike = {
        other[1]: both
        for other, both in every.items()
        if (other[0], *other[2:]) == (key[0], *key[2:])
    }
    if not now.requests:
        return _left_out(operation, before, alike)
    if not before.requests and key[2] == "local":
        return "in local memory: a thread's own array, or what its registers have no room for"
    if not before.requests:
        return _moved_here(now.lanes, alike) or "in compiled code alone"
    if _is_wider(before, now):
        return f"merged into {operation}s of {now.size} bytes"
    if now.lanes > before.lanes:
        if moved := _moved_here(now.lanes - before.lanes, alike):
            return moved
        if now.lanes % before.lanes == 0:
            return f"asked for {now.lanes // before.lanes} times as often"
        return "asked for before it is known which lanes need it"
    if now.lanes < before.lanes:
        times, rest = divmod(before.lanes, now.lanes)
        if not rest and before.requests == times * now.requests:
            return (
                f"asked for once instead of {times} times: a value is in a register, or not needed"
            )
        return "moved below a branch: asked for only where it is needed"
    if copies > 1 and now.requests >= before.requests:
        return f"unrolled by {copies}: lanes with other numbers of turns go through other copies"
    return (
        "fewer lanes ask at once" if now.requests > before.requests else "other lanes ask at once"
    )


def _left_out(operation: str, asked: _Asked, alike: Mapping[int, _BothWays]) -> str:
    for line, (before, now) in alike.items():
        if _is_wider(before, now) and now.bytes - before.bytes >= asked.bytes:
            return f"merged with line {line} into one of {now.size} bytes"
    for line, (before, now) in alike.items():
        if now.lanes - before.lanes == asked.lanes:
            return f"moved to line {line}"
    where = "its value is in a register already" if operation == "load" else "another store follows"
    return f"left out: {where}, or nobody needs it"


def _moved_here(lanes: int, alike: Mapping[int, _BothWays]) -> str:
    """Which line asked for so many lanes in the source, and does no more."""
    left = (
        line for line, (before, now) in alike.items() if not now.requests and before.lanes == lanes
    )
    return next((f"moved here from line {line}" for line in left), "")


def _copies(steps: Sequence[Launched], places: Places) -> Counter[Key]:
    """By line: how many instructions for it stand in one piece of straight code, which unrolling makes of one."""
    most: Counter[Key] = Counter()
    for launched in steps:
        listing, found = launched.decoded.listing, Counter[tuple[int, Key]]()
        starts, loops = _starts(listing), find_loops(listing)
        for site, number in enumerate(launched.decoded.sites):
            asked = launched.counts[site]["requests"].nonzero()[0]
            if asked.size and any(number in loop for loop in loops):
                statement = listing.statements[number]
                space, operation = launched.space_of(int(asked[0])), access_of(statement)
                key = (*places.of(statement), space, operation)
                found[bisect(starts, number), key] += 1
        for (_, key), count in found.items():
            most[key] = max(most[key], count)
    return most


def _starts(listing: Listing) -> list[int]:
    """Numbers of the statements at which a piece of straight code begins."""
    after = (n + 1 for n, one in enumerate(listing.statements) if kind_of(one) == "control")
    return sorted({*after, *(at // INSTRUCTION_BYTES for at in listing.labels.values())})
