"""Tracing: the same launch as `execute`, with every access checked and written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from softmax_lib.arrays import Matrix, host_view, like
from softmax_lib.emulator.dwarf import Variable
from softmax_lib.emulator.events import EVENT, Trace, TracedArray
from softmax_lib.emulator.launching import Instruments
from softmax_lib.emulator.memory import ALIGNMENT, FLOAT_BYTES, EmulatedArray
from softmax_lib.emulator.native import RECORD, Operation
from softmax_lib.emulator.session import LaunchConfig, open_session, shared_arrays, traced_symbols
from softmax_lib.emulator.symbols import Symbols
from softmax_lib.kernel import Kernel
from softmax_lib.source import WARP

MOST_RECORDS = 20_000_000
"""Events that a trace keeps at most: 0.8 GB."""

_ARRAY_SPACING = 1 << 40
"""Bytes between the made-up addresses of two arrays."""


def trace(
    kernel: Kernel,
    x: Matrix,
    block_size: int,
    warp_size: int = WARP,
    *,
    grid: int | None = None,
) -> Trace:
    """Run `kernel` on `x`, (rows, cols), and return what every thread did, in order.

    `x` is a contiguous float32 array or CPU tensor. Every access is checked, so that one outside of
    its array or misaligned raises `IllegalAddress`. Raises as `execute` does, and `NotAvailable`
    where programs are not ELF files (macOS).
    """
    config = LaunchConfig(kernel, block_size, warp_size, grid)
    y = np.full(x.shape, np.nan, np.float32)
    with open_session(config, host_view(x), y, traced=True) as session:
        symbols = traced_symbols(session.path)
        instruments = Instruments(shared_arrays(symbols.variables), MOST_RECORDS)
        outcomes = [outcome for _, outcome in session.run(instruments)]
        if outcomes[-1].fault is not None:
            raise session.exception(outcomes[-1].fault)
        session.arrays["y"].copy_to(y)
        named = _named_arrays(session.arrays, symbols.variables)
        addresses = [array.address for array in session.arrays.values()]
    records = np.frombuffer(b"".join(outcome.records for outcome in outcomes), RECORD)
    steps = tuple(step.entry for step in kernel.steps)
    events = _resolve(records, symbols, named, addresses)
    return Trace(like(x, y), events, named, steps, block_size, warp_size)


def _named_arrays(
    arrays: Mapping[str, EmulatedArray], variables: Sequence[Variable]
) -> tuple[TracedArray, ...]:
    """Global arrays at made-up addresses as far off 256 bytes as the real ones, then shared ones."""
    in_global = [
        TracedArray(
            name,
            (number + 1) * _ARRAY_SPACING + array.address % ALIGNMENT,
            array.elements,
            FLOAT_BYTES,
            "f4",
            is_shared=False,
        )
        for number, (name, array) in enumerate(arrays.items())
    ]
    in_shared = [
        TracedArray(
            variable.name,
            variable.offset,
            variable.bytes // variable.element_bytes,
            variable.element_bytes,
            f"{'f' if variable.is_float else 'i'}{variable.element_bytes}",
            is_shared=True,
        )
        for variable in variables
    ]
    return (*in_global, *in_shared)


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
        low = array.address if array.is_shared else addresses[number]
        offset = records["address"] - np.uint64(low)
        hit = accesses & (offset < array.elements * array.element_bytes)
        resolved["array"][hit] = number
        resolved["address"][hit] = offset[hit] + np.uint64(array.address)
    return resolved
