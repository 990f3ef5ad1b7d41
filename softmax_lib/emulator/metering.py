"""Metering: the same launch as `trace`, counted as the hardware counts it and watched for hazards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softmax_lib.emulator import native, symbols
from softmax_lib.emulator.launching import Instruments
from softmax_lib.emulator.memory import FLOAT_BYTES
from softmax_lib.emulator.native import HAZARD, LINE_COUNTS
from softmax_lib.emulator.session import LaunchConfig, open_session, shared_arrays, traced_symbols
from softmax_lib.emulator.symbols import Symbols
from softmax_lib.errors import BadInput, KernelFault, SoftmaxLibError
from softmax_lib.kernel import Kernel

Place = tuple[str, int]
"""A file and a line of it."""


@dataclass(frozen=True, eq=False)
class Metered:
    """What a launch asked of memory: `counts` and `hazards` are arrays of `LINE_COUNTS` and `HAZARD`.

    Their places are indices into `places`. `fault` is what stopped the launch early, if anything
    did; the counts then end there. `arrays` gives name, first address and bytes of every global
    array.
    """

    counts: np.ndarray
    hazards: np.ndarray
    places: tuple[Place, ...]
    fault: KernelFault | None
    library: Path
    arrays: tuple[tuple[str, int, int], ...]

    def merged_counts(self) -> list[dict[str, int]]:
        """The counts as numbers by name, with those of equal lines in several steps added up."""
        facts = ("place", "operation", "is_shared", "size")
        merged: dict[tuple, dict[str, int]] = {}
        for row in self.counts:
            numbers = {name: int(row[name]) for name in LINE_COUNTS.names or ()}
            key = tuple(numbers[name] for name in facts)
            before = merged.get(key, {})
            added = {name: n + before.get(name, 0) for name, n in numbers.items()}
            merged[key] = added | {name: numbers[name] for name in facts}
        return list(merged.values())

    def element(self, hazard: np.void) -> str:
        """The word that a hazard is about: "partial[3]"."""
        address = int(hazard["address"])
        if hazard["is_shared"]:
            variable = symbols.nearest_variable(self.library, address)
            if variable is None:
                return f"byte {address} of shared memory"
            return f"{variable.name}[{(address - variable.offset) // variable.element_bytes}]"
        name, low, _ = next(a for a in self.arrays if 0 <= address - a[1] < a[2])
        return f"{name}[{(address - low) // FLOAT_BYTES}]"


def meter(kernel: Kernel, x: np.ndarray, block_size: int, grid: int | None = None) -> Metered:
    """Run `kernel` on `x`, a contiguous float32 array of shape (rows, cols), with all counted.

    Raises as `execute` does for what keeps the kernel from starting, and `BadInput` when a line
    is gone through too often to be counted; a fault of a running kernel is in the result.
    """
    y = np.full_like(x, np.nan)
    with open_session(LaunchConfig(kernel, block_size, grid=grid), x, y, traced=True) as session:
        found = traced_symbols(session.path)
        places, lines = _lines(found)
        instruments = Instruments(shared_arrays(found.variables), lines=lines, inputs=1)
        outcomes = [outcome for _, outcome in session.run(instruments)]
        fault = outcomes[-1].fault
        stopped = session.exception(fault) if fault is not None else None
        arrays = tuple((name, a.address, a.bytes) for name, a in session.arrays.items())
    counts = np.frombuffer(b"".join(outcome.counts for outcome in outcomes), LINE_COUNTS)
    hazards = np.frombuffer(b"".join(outcome.hazards for outcome in outcomes), HAZARD)
    return Metered(counts, hazards, places, _of_kernel(stopped), session.path, arrays)


def _of_kernel(stopped: SoftmaxLibError | None) -> KernelFault | None:
    """The fault, if it is the kernel's; raises what is about this machine's memory."""
    if isinstance(stopped, BadInput):
        raise stopped
    assert stopped is None or isinstance(stopped, KernelFault)
    return stopped


def _lines(found: Symbols) -> tuple[tuple[Place, ...], list[native.Line]]:
    """The places of a library, each once, and where the instructions of each begin."""
    places = tuple(dict.fromkeys([("", 0), *found.places]))
    number = {place: index for index, place in enumerate(places)}
    starts = zip(found.starts, found.places, strict=True)
    return places, [native.Line(start, number[place]) for start, place in starts]
