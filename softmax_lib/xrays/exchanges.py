"""What the lanes of a warp hand each other by shuffles, read from a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from softmax_lib.emulator import Event


@dataclass(frozen=True)
class Exchange:
    """One shuffle of each warp, by thread: what a lane gave, from which thread it received what.

    `kept` is what the lane has afterwards, where the trace shows it (given in the next shuffle, or
    stored) or it can be told. `counts` are the threads whose `kept` the result depends on.
    """

    given: dict[int, float]
    sources: dict[int, int]
    received: dict[int, float]
    kept: dict[int, float]
    counts: frozenset[int]


def exchanges(
    stretch: Sequence[Event],
    warp_size: int,
    first: int | None = None,
    combine: Callable[[float, float], float] | None = None,
) -> list[Exchange]:
    """The shuffles of all warps between two barriers, in order; of them the `first` ones, if told.

    `combine` says what each lane makes of its own value and the one received in the last of these,
    where it stays in a register and no trace shows it; all of them count then.
    """
    rounds = _rounds(stretch)[:first]
    found: list[Exchange] = []
    counts: frozenset[int] = frozenset()
    if combine is not None:
        last = _exchange(rounds.pop(), warp_size, counts)
        kept = {t: combine(own, last.received[t]) for t, own in last.given.items()}
        counts = frozenset(kept)
        found = [replace(last, kept=kept, counts=counts)]
    # what counts is known from the end: what was stored, and its sources
    for pairs in reversed(rounds):
        exchange = _exchange(pairs, warp_size, counts)
        counts = exchange.counts | {exchange.sources[thread] for thread in exchange.counts}
        found.insert(0, exchange)
    return found


def _rounds(stretch: Sequence[Event]) -> list[list[tuple[Event, Event | None]]]:
    """For each shuffle of a warp, the events of all threads, each with the thread's next event."""
    by_thread: dict[int, list[Event]] = {}
    for event in stretch:
        by_thread.setdefault(event.thread, []).append(event)
    rounds: list[list[tuple[Event, Event | None]]] = []
    for events in by_thread.values():
        followed = zip(events, [*events[1:], None], strict=True)
        shuffles = [pair for pair in followed if pair[0].operation.startswith("shuffle")]
        rounds += [[] for _ in shuffles[len(rounds) :]]
        for together, pair in zip(rounds, shuffles, strict=False):
            together.append(pair)
    return rounds


def _exchange(
    pairs: Sequence[tuple[Event, Event | None]], warp_size: int, counts: frozenset[int]
) -> Exchange:
    given, sources, received, kept = {}, {}, {}, {}
    for shuffle, following in pairs:
        thread = shuffle.thread
        given[thread] = shuffle.value[0]
        sources[thread] = thread // warp_size * warp_size + (shuffle.source_lane or 0)
        received[thread] = shuffle.received or 0.0
        if following and following.value and following.operation != "load":
            kept[thread] = following.value[0]
    return Exchange(given, sources, received, kept, counts or frozenset(kept))
