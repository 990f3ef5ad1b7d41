"""Metering: the same launch as `trace`, counted as the hardware counts it and watched for hazards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softmax_lib.engine.arrays import address
from softmax_lib.engine.errors import BadInput, EngineError, KernelFault
from softmax_lib.engine.geometry import Geometry
from softmax_lib.engine.source import Source
from softmax_lib.engine.spec import LaunchSpec
from softmax_lib.engine.written import structs, symbols
from softmax_lib.engine.written.session import Session, open_session, plain_names
from softmax_lib.engine.written.stretches import Stretch
from softmax_lib.engine.written.structs import HAZARD, LINE_COUNTS, HazardKind
from softmax_lib.engine.written.symbols import Symbols

Place = tuple[str, int]
"""A file and a line of it."""


@dataclass(frozen=True, eq=False)
class Metered:
    """What a launch asked of memory: `counts` and `hazards` are arrays of `LINE_COUNTS` and `HAZARD`.

    Their places are indices into `places`. `fault` is what stopped the launch early, if anything
    did; the counts then end there. `arrays` are the global ones and then the shared variables; `given` are those
    of them that a caller's arrays are copied to, by the address of the caller's, and `printed` is what printf wrote.
    """

    counts: np.ndarray
    hazards: np.ndarray
    places: tuple[Place, ...]
    fault: KernelFault | None
    arrays: tuple[Stretch, ...]
    given: Mapping[int, Stretch]
    geometry: Geometry
    source: Source
    printed: str

    def element(self, hazard: np.void) -> str:
        """The word that a hazard is about: "partial[3]"."""
        address, is_shared = int(hazard["address"]), bool(hazard["is_shared"])
        if hazard["is_in_heap"]:
            return f"byte {address} of what malloc() gave"
        for array in self.arrays:
            if array.is_shared == is_shared and 0 <= address - array.address < array.bytes:
                return f"{array.name}[{(address - array.address) // array.element_bytes}]"
        return f"byte {address} of shared memory"


def meter(*specs: LaunchSpec) -> Metered:
    """Launch each of `specs`, which are of one program, with all counted; arrays are written in place unless it faults.

    Raises as `launch` does for what keeps a kernel from starting, and `BadInput` when a line is gone through too
    often to be counted; a fault of a running kernel is in the result.
    """
    with open_session(specs, counted=True) as session:
        metered = _meter(session, specs)
        if metered.fault is None:
            metered = _without_unused(metered, session, specs)
            session.give_back(specs)
    return metered


_FILLERS = (0x00, 0x7B, 0xF4, 0xFF)
"""Bytes of numbers that are small, large, negative and a NaN, whatever their type: one of them shows in any use."""


def _without_unused(metered: Metered, session: Session, specs: Sequence[LaunchSpec]) -> Metered:
    """Without hazards of shuffles from absent lanes where what these give changes nothing: not what is left in arrays or
    printed, and not what is asked of memory."""
    are_absent = metered.hazards["kind"] == HazardKind.ABSENT_LANE
    for filler in _FILLERS if are_absent.any() else ():
        with open_session(specs, counted=True) as other:
            again = _meter(other, specs, filler)
            if (
                again.fault is not None
                or again.printed != metered.printed
                or not np.array_equal(again.counts, metered.counts)
                or not all(map(np.array_equal, _contents(session), _contents(other)))
            ):
                return metered
    return replace(metered, hazards=metered.hazards[~are_absent])


def _contents(session: Session) -> Iterator[Any]:
    yield from (array.content for array in session.arrays.values())
    yield from (session.device.read(one.address, one.bytes) for one in session.globals())


def _meter(session: Session, specs: Sequence[LaunchSpec], filler: int = -1) -> Metered:
    places, lines = _lines(symbols.read(session.path))
    instruments = replace(session.instruments(lines=lines), filler=filler)
    outcomes = list(session.run(instruments))
    call, last = outcomes[-1]
    stopped = session.exception(call, last.fault) if last.fault is not None else None
    counts = np.frombuffer(b"".join(outcome.counts for _, outcome in outcomes), LINE_COUNTS)
    hazards = np.frombuffer(b"".join(outcome.hazards for _, outcome in outcomes), HAZARD)
    arrays = tuple(session.stretches())
    printed = "".join(outcome.printed for _, outcome in outcomes)
    source = session.library.program.source
    given = _given(session, specs, arrays)
    return Metered(
        counts, hazards, places, _of_kernel(stopped), arrays, given, call.geometry, source, printed
    )


def _given(
    session: Session, specs: Sequence[LaunchSpec], arrays: Sequence[Stretch]
) -> Mapping[int, Stretch]:
    symbols_ = plain_names({n: a for spec in specs for n, a in spec.symbols.items()})
    hosts = {**session.hosts, **symbols_}
    known = {array.name: array for array in arrays if not array.is_shared}
    return {address(host): known[name] for name, host in hosts.items() if name in known}


def _of_kernel(stopped: EngineError | None) -> KernelFault | None:
    """The fault, if it is the kernel's; raises what is about this machine's memory."""
    if isinstance(stopped, BadInput):
        raise stopped
    assert stopped is None or isinstance(stopped, KernelFault)
    return stopped


def _lines(found: Symbols) -> tuple[tuple[Place, ...], list[structs.Line]]:
    """The places of a library, each once, and where the instructions of each begin."""
    places = tuple(dict.fromkeys([("", 0), *found.places]))
    number = {place: index for index, place in enumerate(places)}
    starts = zip(found.starts, found.places, strict=True)
    return places, [structs.Line(start, number[place]) for start, place in starts]
