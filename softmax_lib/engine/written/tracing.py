"""Tracing: the same launch, with every access checked and written down; what every thread did, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from softmax_lib.engine.arrays import Matrix
from softmax_lib.engine.geometry import Geometry
from softmax_lib.engine.spec import LaunchSpec
from softmax_lib.engine.written import symbols
from softmax_lib.engine.written.memory import ALIGNMENT
from softmax_lib.engine.written.session import Session, open_session
from softmax_lib.engine.written.stretches import Stretch, element_bytes
from softmax_lib.engine.written.structs import RECORD, Operation, ValueType
from softmax_lib.engine.written.symbols import Symbols

OPERATIONS = tuple(operation.name.lower() for operation in Operation)
"""What an event can be, by its number in `EVENT`."""

EVENT = np.dtype(
    [*[(name, RECORD[name]) for name in RECORD.names or ()], ("line", "i4"), ("array", "i2")]
)
"""A record with its source line, and the array it touched as an index into `Trace.arrays`, or -1.

The address of an access counts from the start of its array's memory space: see `Event.address`.
"""

_KINDS = {ValueType.FLOATING: "f", ValueType.INTEGER: "i", ValueType.UNSIGNED_INTEGER: "u"}
"""As numpy calls them."""

Number = float | int

_PIECE = 65536
"""Events that iteration turns into Python objects at a time."""


class Event(NamedTuple):
    """One thing that one thread did.

    `operation` is one of `OPERATIONS`. A load, store or atomic has `array` (x, y, a scratch array
    or a shared variable), the index of the first `element` there, `size` bytes, and in `value` one
    number per element moved: a float4 has four. `address` in bytes is made up but as aligned as on a
    GPU: x, y and scratch arrays lie far apart, shared memory starts at 0; equal runs give equal
    addresses. An atomic's `value` is what it left and `received` what it found.
    A shuffle or vote has the `value` this lane gave, `received`, and a shuffle the `source_lane`
    that it came from; for them `size` is the bytes of the value.
    """

    block: int
    thread: int
    line: int
    operation: str
    array: str | None = None
    element: int | None = None
    address: int | None = None
    size: int = 0
    value: tuple[Number, ...] = ()
    source_lane: int | None = None
    received: Number | None = None
    step: int = 0


@dataclass(frozen=True, eq=False)
class Trace:
    """What every thread of a launch did, in the order in which it was done.

    `events` is a numpy array of `EVENT`s for counting and drawing; iterating gives `Event`s.
    `y` is the kernel's result, of shape (rows, cols), and what x was: numpy array or tensor; None of
    a kernel that takes something else. Threads of a block take turns at barriers, warp calls and
    where they wait only, so between those each thread's events stand together. Blocks and threads
    are numbered along x first; `geometry` has the axes.
    """

    y: Matrix | None
    events: np.ndarray
    arrays: tuple[Stretch, ...]
    steps: tuple[str, ...]
    block_size: int
    warp_size: int
    geometry: Geometry

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Event]:
        for start in range(0, len(self.events), _PIECE):
            piece = self.events[start : start + _PIECE]
            yield from map(Event._make, _columns(piece, self.arrays))


def _columns(events: np.ndarray, arrays: Sequence[Stretch]) -> Iterator[tuple]:
    """The fields of an `Event` for each of `events`."""
    is_access, is_call = events["array"] >= 0, events["operation"] >= Operation.SYNCWARP
    is_shuffle = events["operation"] >= Operation.SHUFFLE
    is_shuffle &= events["operation"] <= Operation.SHUFFLE_XOR
    values, received = _numbers(events, arrays, is_access, is_call)
    return zip(
        events["block"].tolist(),
        events["thread"].tolist(),
        events["line"].tolist(),
        np.array(OPERATIONS, object)[events["operation"]].tolist(),
        np.array([*(array.name for array in arrays), None], object)[events["array"]].tolist(),
        _optional(_elements(events, arrays), is_access),
        _optional(events["address"], is_access),
        events["size"].tolist(),
        values,
        _optional(events["source_lane"], is_shuffle),
        received,
        events["step"].tolist(),
        strict=True,
    )


def _optional(column: np.ndarray, there: np.ndarray) -> list:
    """`column` as a list, with None where it is not `there`."""
    optional = column.astype(object)
    optional[~there] = None
    return optional.tolist()


def _elements(events: np.ndarray, arrays: Sequence[Stretch]) -> np.ndarray:
    base = np.array([*(array.address for array in arrays), 0], np.uint64)[events["array"]]
    size = np.array([*(array.element_bytes for array in arrays), 1], np.uint64)[events["array"]]
    return (events["address"] - base) // size


def _numbers(
    events: np.ndarray, arrays: Sequence[Stretch], is_access: np.ndarray, is_call: np.ndarray
) -> tuple[list[tuple[Number, ...]], list[Number | None]]:
    """What was moved or given, and what an atomic, shuffle or vote received."""
    values: list[tuple[Number, ...]] = [()] * len(events)
    received: list[Number | None] = [None] * len(events)
    raw = np.ascontiguousarray(events["value"])
    for number, array in enumerate(arrays):
        for size in np.unique(events["size"][events["array"] == number]).tolist():
            here = (events["array"] == number) & (events["size"] == size)
            is_atomic = here & (events["operation"] == Operation.ATOMIC)
            code = _moved(array.code, size)
            _fill(values, here, raw, code, slice(0, size // element_bytes(code)))
            _fill(received, is_atomic, raw[:, 8:], code, 0)
    for kind, size in np.unique(events[["type", "size"]][is_call]).tolist():
        here = is_call & (events["type"] == kind) & (events["size"] == size)
        _fill(values, here, raw, f"{_KINDS[ValueType(kind)]}{size}", slice(0, 1))
        _fill(received, here, raw[:, 8:], f"{_KINDS[ValueType(kind)]}{size}", 0)
    return values, received


def _moved(code: str, size: int) -> str:
    """What an access of `size` bytes to an array of such elements moves."""
    if code[0] in "Vc" or size < element_bytes(code):
        parts = element_bytes(code) if code[0] == "V" else element_bytes(code) // 2
        return f"f{parts}" if code[0] == "c" and size >= parts else f"u{min(size, 8)}"
    return code


def _fill(column: list, here: np.ndarray, raw: np.ndarray, kind: str, taken: slice | int) -> None:
    """Reads the bytes `raw` as numbers of `kind`, and puts those `taken` where `here` says."""
    numbers = np.ascontiguousarray(raw[here]).view(kind.replace("bf2", "u2"))
    if kind == "bf2":  # the upper half of a float32
        numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
    numbers = numbers[:, taken]
    items = numbers.tolist() if isinstance(taken, int) else zip(*numbers.T.tolist(), strict=True)
    for at, item in zip(np.flatnonzero(here).tolist(), items, strict=True):
        column[at] = item


# ---- a traced launch

MOST_RECORDS = 20_000_000
"""Events that a trace keeps at most: 0.8 GB."""

_ARRAY_SPACING = 1 << 40
"""Bytes between the made-up addresses of two arrays."""


def trace(*specs: LaunchSpec) -> Trace:
    """Launch each of `specs`, which are of one program, and return what every thread did, in order.

    Arrays are written in place. Every access is checked, so that one outside of its array or misaligned raises
    `IllegalAddress`. Raises as `launch` does, and `NotAvailable` where programs are not ELF files (macOS).
    """
    with open_session(specs, counted=True) as session:
        traced = _trace(session)
        session.give_back(specs)
    return traced


def _trace(session: Session) -> Trace:
    outcomes = list(session.run(session.instruments(MOST_RECORDS)))
    call, last = outcomes[-1]
    if last.fault is not None:
        raise session.exception(call, last.fault)
    records = np.frombuffer(b"".join(outcome.records for _, outcome in outcomes), RECORD)
    named, addresses = _named_arrays(session)
    events = _resolve(records, symbols.read(session.path), named, addresses)
    steps = tuple(call.name for call in session.calls)
    geometry = call.geometry
    return Trace(None, events, named, steps, prod(geometry.block), geometry.warp_size, geometry)


def _named_arrays(session: Session) -> tuple[tuple[Stretch, ...], list[int]]:
    """Global arrays at made-up addresses as far off 256 bytes as the real ones, then shared ones.

    And the address at which each lies in truth.
    """
    named = [
        one if one.is_shared else one._replace(address=i * _ARRAY_SPACING + one.address % ALIGNMENT)
        for i, one in enumerate(session.stretches(), 1)
    ]
    return tuple(named), [one.address for one in session.stretches()]


def _resolve(
    records: np.ndarray,
    found: Symbols,
    named: Sequence[Stretch],
    addresses: Sequence[int],
) -> np.ndarray:
    """Records with lines and arrays, at addresses that do not change from run to run."""
    resolved = np.zeros(len(records), EVENT)
    for name in records.dtype.names or ():
        resolved[name] = records[name]
    if len(records):
        lines = np.zeros(int(records["site"].max()) + 1, np.int32)  # by offset in the library
        for site in np.flatnonzero(np.bincount(records["site"])).tolist():
            lines[site] = found.place(site - 1)[1]
        resolved["line"] = lines[records["site"]]
    resolved["array"] = -1
    accesses = records["operation"] <= Operation.ATOMIC
    for number, array in enumerate(named):
        offset = records["address"] - np.uint64(addresses[number])
        hit = accesses & (offset < array.elements * array.element_bytes)
        resolved["array"][hit] = number
        resolved["address"][hit] = offset[hit] + np.uint64(array.address)
    return resolved
