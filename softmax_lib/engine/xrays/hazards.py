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


def _watched(metered: Metered) -> Iterator[Hazard]:
    sentences = {
        HazardKind.RACE: ("race", _race),
        HazardKind.UNINITIALISED: ("uninitialised", _uninitialised),
        HazardKind.ABSENT_LANE: ("absent lane", _absent_lane),
        HazardKind.INPUT_WRITTEN: ("input written", _input_written),
        HazardKind.UNWRITTEN_LOCAL: ("uninitialised", _unwritten_local),
    }
    for row in metered.hazards:
        kind, sentence = sentences[HazardKind(row["kind"])]
        file, line = metered.places[row["place"]]
        times = f" ({row['times']} times)" if row["times"] > 1 else ""
        yield Hazard(kind, file, line, f"{sentence(metered, row)}{times}.")


def _race(metered: Metered, row: np.void) -> str:
    other = f"thread {row['other_thread']}"
    if row["other_is_elsewhere"]:
        other += " of another block"
    return (
        f"race on {metered.element(row)}: {_who(metered, row)} {_verb(row['is_store'])} it at "
        f"{_at(metered, row['place'])}, {other} {_verb(row['other_is_store'])} it at "
        f"{_at(metered, row['other_place'])}, and nothing orders the two"
    )


def _uninitialised(metered: Metered, row: np.void) -> str:
    place = _at(metered, row["place"])
    nobody = "no thread of its block wrote" if row["is_shared"] else "nobody has written yet"
    return f"{_who(metered, row)} reads {metered.element(row)} at {place}, which {nobody}"


def _absent_lane(metered: Metered, row: np.void) -> str:
    place = _at(metered, row["place"])
    return (
        f"{_who(metered, row)} shuffles from lane {row['address']} at {place}, which is not in the call's "
        "mask: on a GPU the value is undefined"
    )


def _input_written(metered: Metered, row: np.void) -> str:
    return f"{_who(metered, row)} writes into the input, {metered.element(row)}, at {_at(metered, row['place'])}"


def _unwritten_local(metered: Metered, row: np.void) -> str:
    return f"{_who(metered, row)} reads a variable of its own at {_at(metered, row['place'])}, which it has not written yet"


def _who(metered: Metered, row: np.void) -> str:
    return metered.geometry.who(int(row["block"]), int(row["thread"]))


def _at(metered: Metered, place: int) -> str:
    file, line = metered.places[place]
    return f"{file}:{line}"


def _verb(is_store: int) -> str:
    return "writes" if is_store else "reads"
