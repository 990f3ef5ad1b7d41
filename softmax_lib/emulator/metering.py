"""Metering: the same launch as `trace`, counted as the hardware counts it and watched for hazards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from softmax_lib.emulator import faults, native, symbols
from softmax_lib.emulator.launching import Geometry, Instruments, check_sizes, launch, watchdog_s
from softmax_lib.emulator.memory import FLOAT_BYTES, EmulatedArray, device_arrays
from softmax_lib.emulator.tracing import shared_arrays, traced_library
from softmax_lib.errors import BadInput, SoftmaxLibError
from softmax_lib.registry import Kernel

COUNTS = np.dtype(
    [
        ("requests", "u8"),
        ("lanes", "u8"),
        ("sectors", "u8"),
        ("wavefronts", "u8"),
        ("ideal", "u8"),
        ("place", "u4"),
        ("operation", "i4"),
        ("is_shared", "i4"),
        ("size", "i4"),
    ]
)
"""cpp/meter.h: LineCounts."""

HAZARD = np.dtype(
    [
        ("address", "u8"),
        ("times", "u8"),
        ("kind", "i4"),
        ("place", "u4"),
        ("other_place", "u4"),
        ("thread", "i4"),
        ("other_thread", "i4"),
        ("block", "i4"),
        ("is_shared", "i4"),
        ("is_store", "i4"),
        ("other_is_store", "i4"),
        ("other_is_elsewhere", "i4"),
    ]
)
"""cpp/meter.h: Hazard."""

RACE, UNINITIALISED, ABSENT_LANE, INPUT_WRITTEN = range(4)
"""cpp/meter.h: HazardKind."""


@dataclass(frozen=True, eq=False)
class Metered:
    """What a launch asked of memory: `counts` and `hazards` are arrays of `COUNTS` and `HAZARD`.

    Their places are indices into `places`, pairs of file name and line. `fault` is what stopped the
    launch early, if anything did; the counts then end there. `arrays` gives name, first address and
    bytes of every global array.
    """

    counts: np.ndarray
    hazards: np.ndarray
    places: tuple[tuple[str, int], ...]
    fault: SoftmaxLibError | None
    library: Path
    arrays: tuple[tuple[str, int, int], ...]

    def merged_counts(self) -> list[dict[str, int]]:
        """The counts as numbers by name, with those of equal lines in several steps added up."""
        facts = ("place", "operation", "is_shared", "size")
        found: dict[tuple, dict[str, int]] = {}
        for row in self.counts:
            numbers = {name: int(row[name]) for name in COUNTS.names or ()}
            key = tuple(numbers[name] for name in facts)
            before = found.get(key, {})
            added = {name: n + before.get(name, 0) for name, n in numbers.items()}
            found[key] = added | {name: numbers[name] for name in facts}
        return list(found.values())

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


def meter(kernel: Kernel, x: torch.Tensor, block_size: int, grid: int | None = None) -> Metered:
    """Run `kernel` on `x`, a contiguous float32 CPU tensor of shape (rows, cols), with all counted.

    Raises as `execute` does for what keeps the kernel from starting, and `BadInput` when a line
    is gone through too often to be counted; a fault of a running kernel is in the result.
    """
    check_sizes(block_size, 32)
    path = traced_library(kernel, block_size, x.shape[1], 32)
    places, lines = _lines(path)
    instruments = Instruments(shared_arrays(path), record_limit=0, lines=lines, inputs=1)
    with device_arrays(kernel, x, torch.full_like(x, torch.nan)) as arrays:
        fault = _run(kernel, path, arrays, x, Geometry(grid or 0, block_size), instruments)
        named = tuple((name, array.address, array.bytes) for name, array in arrays.items())
    counts = np.frombuffer(b"".join(instruments.counts), COUNTS)
    hazards = np.frombuffer(b"".join(instruments.hazards), HAZARD)
    return Metered(counts, hazards, places, fault, path, named)


def _lines(path: Path) -> tuple[tuple[tuple[str, int], ...], list[native.Line]]:
    """The places of a library, each once, and where the instructions of each begin."""
    found = symbols.read(path)
    assert found is not None  # shared_arrays has read it
    places = tuple(dict.fromkeys([("", 0), *found.places]))
    number = {place: index for index, place in enumerate(places)}
    starts = zip(found.starts, found.places, strict=True)
    return places, [native.Line(start, number[place]) for start, place in starts]


def _run(
    kernel: Kernel,
    path: Path,
    arrays: Mapping[str, EmulatedArray],
    x: torch.Tensor,
    asked: Geometry,
    instruments: Instruments,
) -> SoftmaxLibError | None:
    rows, cols = x.shape
    for step in kernel.steps:
        blocks = asked.grid or step.blocks(rows, cols, asked.block_size)
        geometry = Geometry(blocks, asked.block_size)
        fault = launch(path, step, geometry, arrays, rows, cols, instruments)
        if fault is not None:
            found = faults.exception_for(fault, path, arrays, watchdog_s())
            if isinstance(found, BadInput):
                raise found
            return found
    return None
