"""What an x-ray finds wrong with a kernel, in sentences that name file, line and threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from softmax_lib.engine.written.metering import Metered
from softmax_lib.engine.written.structs import HazardKind


@dataclass(frozen=True)
class Hazard:
    """Something wrong at a line of the source.

    `kind` is one of: race, uninitialised, out of bounds, misaligned, input written, absent lane,
    barrier, deadlock, waiting, hang, fault.
    """

    kind: str
    file: str
    line: int
    message: str

    @property
    def words(self) -> str:
        """The message, behind its kind where it does not begin with it."""
        begins_with_it = self.message.startswith((f"{self.kind} ", f"{self.kind}:"))
        return self.message if begins_with_it else f"{self.kind}: {self.message}"

    @property
    def stops(self) -> bool:
        """Whether the launch ended here."""
        return self.kind not in ("race", "uninitialised", "absent lane", "input written")


def read_hazards(metered: Metered) -> tuple[Hazard, ...]:
    """What stopped the launch, if anything did, and what went wrong before, from line to line."""
    fault = metered.fault
    stopped = [Hazard(fault.kind, fault.file, fault.line, str(fault))] if fault else []
    watched = sorted(_watched(metered), key=lambda hazard: (hazard.file, hazard.line))
    return tuple(dict.fromkeys((*stopped, *watched)))


_SENTENCES = {
    HazardKind.RACE: (
        "race",
        "race on {word}: {who} {does} it at {at}, {other} {other_does} it at {other_at}, and nothing orders the two",
    ),
    HazardKind.UNINITIALISED: ("uninitialised", "{who} reads {word} at {at}, which {nobody}"),
    HazardKind.ABSENT_LANE: (
        "absent lane",
        "{who} shuffles from lane {lane} at {at}, which is not in the call's mask: on a GPU the value is undefined",
    ),
    HazardKind.INPUT_WRITTEN: ("input written", "{who} writes into the input, {word}, at {at}"),
    HazardKind.UNWRITTEN_LOCAL: (
        "uninitialised",
        "{who} reads a variable of its own at {at}, which it has not written yet",
    ),
}
"""What each kind is called, and what is said of it."""


def _watched(metered: Metered) -> Iterator[Hazard]:
    for row in metered.hazards:
        kind, sentence = _SENTENCES[HazardKind(row["kind"])]
        times = f" ({row['times']} times)" if row["times"] > 1 else ""
        message = f"{sentence.format(**_words(metered, row))}{times}."
        file, line = metered.places[row["place"]]
        yield Hazard(kind, file, line, message)


def _words(metered: Metered, row: np.void) -> dict[str, str]:
    """What sentences have in their braces."""
    at, other_at = ("{}:{}".format(*metered.places[row[name]]) for name in ("place", "other_place"))
    elsewhere = " of another block" if row["other_is_elsewhere"] else ""
    return {
        "word": metered.element(row),
        "lane": str(row["address"]),
        "who": metered.geometry.who(int(row["block"]), int(row["thread"])),
        "does": "writes" if row["is_store"] else "reads",
        "at": at,
        "other": f"thread {row['other_thread']}{elsewhere}",
        "other_does": "writes" if row["other_is_store"] else "reads",
        "other_at": other_at,
        "nobody": "no thread of its block wrote" if row["is_shared"] else "nobody has written yet",
    }
