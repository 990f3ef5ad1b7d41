"""Tracing: the same launch, with every access checked and written down."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from softmax_lib.engine.spec import LaunchSpec
from softmax_lib.engine.written.events import EVENT, Trace, TracedArray
from softmax_lib.engine.written.memory import ALIGNMENT
from softmax_lib.engine.written.session import Session, open_session, traced_symbols
from softmax_lib.engine.written.structs import RECORD, Operation
from softmax_lib.engine.written.symbols import Symbols

MOST_RECORDS = 20_000_000
"""Events that a trace keeps at most: 0.8 GB."""

_ARRAY_SPACING = 1 << 40
"""Bytes between the made-up addresses of two arrays."""


def trace(*specs: LaunchSpec) -> Trace:
    """Launch each of `specs`, which are of one program, and return what every thread did, in order.

    Arrays are written in place. Every access is checked, so that one outside of its array or misaligned raises
    `IllegalAddress`. Raises as `launch` does, and `NotAvailable` where programs are not ELF files (macOS).
    """
    with open_session(specs, traced=True) as session:
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
    events = _resolve(records, traced_symbols(session.path), named, addresses)
    steps = tuple(call.name for call in session.calls)
    geometry = call.geometry
    return Trace(None, events, named, steps, prod(geometry.block), geometry.warp_size, geometry)


def _named_arrays(session: Session) -> tuple[tuple[TracedArray, ...], list[int]]:
    """Global arrays at made-up addresses as far off 256 bytes as the real ones, then shared ones.

    And the address at which each lies in truth.
    """
    in_global = [(name, a.address, a.elements, a.code) for name, a in session.arrays.items()]
    in_global += [(v.name, at, v.bytes // v.element_bytes, v.code) for v, at in session.globals()]
    in_shared = [
        (v.name, v.offset, v.bytes // v.element_bytes, v.code)
        for v in traced_symbols(session.path).shared
    ]
    named = [
        TracedArray(name, (i + 1) * _ARRAY_SPACING + at % ALIGNMENT, count, code, is_shared=False)
        for i, (name, at, count, code) in enumerate(in_global)
    ]
    named += [TracedArray(*variable, is_shared=True) for variable in in_shared]
    return tuple(named), [at for _, at, _, _ in (*in_global, *in_shared)]


def _resolve(
    records: np.ndarray,
    symbols: Symbols,
    named: Sequence[TracedArray],
    addresses: Sequence[int],
) -> np.ndarray:
    """Records with lines and arrays, at addresses that do not change from run to run."""
    resolved = np.zeros(len(records), EVENT)
    for name in records.dtype.names or ():
        resolved[name] = records[name]
    if len(records):
        lines = np.zeros(int(records["site"].max()) + 1, np.int32)  # by offset in the library
        for site in np.flatnonzero(np.bincount(records["site"])).tolist():
            lines[site] = symbols.place(site - 1)[1]
        resolved["line"] = lines[records["site"]]
    resolved["array"] = -1
    accesses = records["operation"] <= Operation.ATOMIC
    for number, array in enumerate(named):
        offset = records["address"] - np.uint64(addresses[number])
        hit = accesses & (offset < array.elements * array.element_bytes)
        resolved["array"][hit] = number
        resolved["address"][hit] = offset[hit] + np.uint64(array.address)
    return resolved
