"""Tracing: the same launch as `execute`, with every access checked and written down."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from softmax_lib import registry
from softmax_lib.emulator import build, events, faults, native, symbols
from softmax_lib.emulator.dwarf import Variable
from softmax_lib.emulator.events import EVENT, Trace, TracedArray
from softmax_lib.emulator.launching import Geometry, Instruments, check_sizes, launch, watchdog_s
from softmax_lib.emulator.memory import ALIGNMENT, FLOAT_BYTES, EmulatedArray, device_arrays
from softmax_lib.errors import CompileError, NotAvailable, SoftmaxLibError
from softmax_lib.registry import Kernel, Step
from softmax_lib.source import Source

MOST_RECORDS = 20_000_000
"""Events that a trace keeps at most: 0.8 GB."""

_ARRAY_SPACING = 1 << 40
"""Bytes between the made-up addresses of two arrays."""


def trace(
    kernel_or_source: str | Path | Kernel | Source,
    x: torch.Tensor,
    block_size: int,
    warp_size: int = 32,
    *,
    grid: int | None = None,
) -> Trace:
    """Run a kernel on `x`, of shape (rows, cols), and return what every thread did, in order.

    `kernel_or_source` is what `registry.resolve` takes; `x` is a contiguous float32 CPU tensor.
    Every access is checked, so that one outside of its array or misaligned raises `IllegalAddress`.
    Raises as `execute` does, and `NotAvailable` where programs are not ELF files (macOS).
    """
    kernel = registry.resolve(kernel_or_source)
    check_sizes(block_size, warp_size)
    path = traced_library(kernel, block_size, x.shape[1], warp_size)
    y = torch.full_like(x, torch.nan)
    with device_arrays(kernel, x, y) as arrays:
        records = _run(kernel, path, arrays, x.shape, (block_size, warp_size, grid))
        arrays["y"].copy_to(y)
        named, recorded = _named_arrays(path, arrays), events.join(records)
        addresses = [arrays[array.name].address for array in named if not array.is_shared]
    steps = tuple(step.entry for step in kernel.steps)
    return Trace(y, _resolve(recorded, path, named, addresses), named, steps, block_size, warp_size)


def find_fault(
    kernel: Kernel,
    step: Step,
    geometry: Geometry,
    arrays: Mapping[str, EmulatedArray],
    rows: int,
    cols: int,
) -> SoftmaxLibError | None:
    """What a launch with every access checked, and nothing recorded, stumbles over."""
    try:
        path = traced_library(kernel, geometry.block_size, cols, geometry.warp_size)
        instruments = Instruments(shared_arrays(path), record_limit=0)
    except (NotAvailable, CompileError):
        return None
    fault = launch(path, step, geometry, arrays, rows, cols, instruments)
    return faults.exception_for(fault, path, arrays, watchdog_s()) if fault else None


def traced_library(kernel: Kernel, block_size: int, cols: int, warp_size: int) -> Path:
    """The library with every access hooked. Raises as `build.kernel_library`, `NotAvailable` on macOS."""
    if sys.platform == "darwin":
        raise NotAvailable("Tracing reads ELF tables, so it runs under Linux only.")
    return build.kernel_library(kernel.program(block_size, cols), kernel.steps, warp_size, True)


def _run(
    kernel: Kernel,
    path: Path,
    arrays: Mapping[str, EmulatedArray],
    shape: Sequence[int],
    sizes: tuple[int, int, int | None],
) -> list[bytes]:
    block_size, warp_size, grid = sizes
    rows, cols = shape
    instruments = Instruments(shared_arrays(path), MOST_RECORDS)
    for number, step in enumerate(kernel.steps):
        instruments.step = number
        blocks = step.blocks(rows, cols, block_size) if grid is None else grid
        geometry = Geometry(blocks, block_size, warp_size)
        fault = launch(path, step, geometry, arrays, rows, cols, instruments)
        if fault is not None:
            raise faults.exception_for(fault, path, arrays, watchdog_s())
    return instruments.records


def _variables(path: Path) -> tuple[Variable, ...]:
    found = symbols.read(path)
    if found is None:
        raise NotAvailable("Tracing needs the package pyelftools: `pip install pyelftools`.")
    return found.variables


def shared_arrays(path: Path) -> list[native.Array]:
    """Where the shared variables of a traced library lie in a block's shared memory."""
    return [native.Array(variable.offset, variable.bytes) for variable in _variables(path)]


def _named_arrays(path: Path, arrays: Mapping[str, EmulatedArray]) -> tuple[TracedArray, ...]:
    """Global arrays at made-up addresses as far off 256 bytes as the real ones, then shared ones."""
    named = [
        TracedArray(
            name,
            (number + 1) * _ARRAY_SPACING + array.address % ALIGNMENT,
            array.elements,
            FLOAT_BYTES,
            "f4",
            False,
        )
        for number, (name, array) in enumerate(arrays.items())
    ]
    for v in _variables(path):
        kind = f"{'f' if v.is_float else 'i'}{v.element_bytes}"
        named.append(
            TracedArray(v.name, v.offset, v.bytes // v.element_bytes, v.element_bytes, kind, True)
        )
    return tuple(named)


def _resolve(
    records: np.ndarray, path: Path, named: Sequence[TracedArray], addresses: Sequence[int]
) -> np.ndarray:
    """Records with lines and arrays, at addresses that do not change from run to run."""
    resolved = np.zeros(len(records), EVENT)
    for name in records.dtype.names or ():
        resolved[name] = records[name]
    found = symbols.read(path)
    if found and len(records):
        lines = np.zeros(int(records["site"].max()) + 1, np.int32)  # by offset in the library
        for site in np.flatnonzero(np.bincount(records["site"])).tolist():
            lines[site] = found.place(site - 1)[1]
        resolved["line"] = lines[records["site"]]
    resolved["array"] = -1
    accesses = records["operation"] <= events.ATOMIC
    for number, array in enumerate(named):
        low = array.address if array.is_shared else addresses[number]
        offset = records["address"] - np.uint64(low)
        hit = accesses & (offset < array.elements * array.element_bytes)
        resolved["array"][hit] = number
        resolved["address"][hit] = offset[hit] + np.uint64(array.address)
    return resolved
