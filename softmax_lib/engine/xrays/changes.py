"""What a compiler made of a line: where its machine code asks memory for something else than the source does."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from softmax_lib.engine.compiled.counters import access_of, kind_of
from softmax_lib.engine.compiled.launching import Counted as Launched
from softmax_lib.engine.compiled.listing import INSTRUCTION_BYTES, Listing, find_loops
from softmax_lib.engine.source import Source
from softmax_lib.engine.xrays.lines import Counted, Key, LineCounters, differing
from softmax_lib.engine.xrays.machine_lines import Places


@dataclass(frozen=True)
class Change:
    """A line at which machine code asks for something else: requests, and sectors or wavefronts, both ways.

    `what` says what the compiler did, in words such as "merged into loads of 16 bytes".
    """

    file: str
    line: int
    space: str
    operation: str
    written: Counted
    executed: Counted
    what: str

    @property
    def key(self) -> Key:
        """File, line, space and operation."""
        return self.file, self.line, self.space, self.operation


@dataclass(frozen=True)
class _Asked:
    """What one line asks for, both ways; of its instructions in a loop, how many stand in one piece of straight code."""

    written: tuple[LineCounters, ...]
    executed: tuple[LineCounters, ...]
    copies: int

    def _both(self, of: Callable[[Iterable[LineCounters]], int]) -> tuple[int, int]:
        return of(self.written), of(self.executed)

    @property
    def requests(self) -> tuple[int, int]:
        return self._both(lambda lines: sum(one.requests for one in lines))

    @property
    def lanes(self) -> tuple[int, int]:
        return self._both(lambda lines: sum(one.lanes for one in lines))

    @property
    def bytes(self) -> tuple[int, int]:
        """What all lanes ask for together."""
        return self._both(lambda lines: sum(one.lanes * one.size for one in lines))

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes of the widest access; 0 where there is none."""
        return self._both(lambda lines: max((one.size for one in lines), default=0))

    @property
    def is_wider(self) -> bool:
        return bool(self.written) and self.sizes[1] > self.sizes[0]


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
    asked = {key: _Asked(_at(written, key), _at(executed, key), copies[key]) for key in keys}
    return tuple(Change(*key, *pair, _explain(key, asked)) for key, pair in pairs.items())


def _at(lines: Iterable[LineCounters], key: Key) -> tuple[LineCounters, ...]:
    return tuple(one for one in lines if one.key == key)


def _explain(key: Key, every: Mapping[Key, _Asked]) -> str:
    """What was done at one of `every` line, as far as counts and instructions tell."""
    asked, operation = every[key], key[3]
    alike = {
        other[1]: one
        for other, one in every.items()
        if (other[0], *other[2:]) == (key[0], *key[2:])
    }
    if not asked.executed:
        return _left_out(operation, asked, alike)
    if not asked.written:
        return _new(key, asked, alike)
    if asked.is_wider:
        return f"merged into {operation}s of {asked.sizes[1]} bytes"
    (requests, now), (lanes, lanes_now) = asked.requests, asked.lanes
    if lanes_now > lanes:
        if moved := _moved_here(lanes_now - lanes, alike):
            return moved
        if lanes_now % lanes == 0:
            return f"asked for {lanes_now // lanes} times as often"
        return "asked for before it is known which lanes need it"
    if lanes_now < lanes:
        if lanes % lanes_now == 0 and requests * lanes_now == now * lanes:
            return f"asked for once instead of {lanes // lanes_now} times: a value is in a register, or not needed"
        return "moved below a branch: asked for only where it is needed"
    if asked.copies > 1 and now >= requests:
        return (
            f"unrolled by {asked.copies}: lanes with other numbers of turns go through other copies"
        )
    return "fewer lanes ask at once" if now > requests else "other lanes ask at once"


def _left_out(operation: str, asked: _Asked, alike: Mapping[int, _Asked]) -> str:
    for line, one in alike.items():
        if one.is_wider and one.bytes[1] - one.bytes[0] >= asked.bytes[0]:
            return f"merged with line {line} into one of {one.sizes[1]} bytes"
    for line, one in alike.items():
        if one.lanes[1] - one.lanes[0] == asked.lanes[0]:
            return f"moved to line {line}"
    where = "its value is in a register already" if operation == "load" else "another store follows"
    return f"left out: {where}, or nobody needs it"


def _new(key: Key, asked: _Asked, alike: Mapping[int, _Asked]) -> str:
    if key[2] == "local":
        return "in local memory: a thread's own array, or what its registers have no room for"
    return _moved_here(asked.lanes[1], alike) or "in compiled code alone"


def _moved_here(lanes: int, alike: Mapping[int, _Asked]) -> str:
    """Which line asked for so many lanes in the source, and does no more."""
    left = (line for line, one in alike.items() if not one.executed and one.lanes[0] == lanes)
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
