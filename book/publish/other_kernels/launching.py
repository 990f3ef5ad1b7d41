"""Launching one of the table's kernels, comparing what it leaves, and counting it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from other_kernels import numerics, reductions, training, transformers
from other_kernels.arrays import Arrays, make_launch, read_numbers
from other_kernels.printing import numbers_in, printed
from other_kernels.table import Entry
from softmax_lib import emulator
from softmax_lib.errors import SoftmaxLibError
from softmax_lib.source import Source
from softmax_lib.xrays.xray import XRay, xray_launch


@dataclass(frozen=True)
class Found:
    """What became of an entry: `sentence` says why it was not taken, and is None where it was.

    `error` is the greatest of all arrays over the greatest element there, `hazards` counts those of
    an x-ray by kind, and `counters_s` are the seconds that this took, without building.
    """

    sentence: str | None = None
    error: float | None = None
    counters_s: float | None = None
    hazards: dict[str, int] = field(default_factory=dict)
    messages: tuple[str, ...] = ()


def try_kernel(entry: Entry, checkouts: Path) -> Found:
    """Launch it, compare, and count. Raises what is no answer of the emulator's."""
    source = Source.read(checkouts / entry.checkout / entry.path)
    try:
        error = compare(entry, source)
    except SoftmaxLibError as refused:
        return Found(str(refused))
    counted, seconds = count(entry, source)
    kinds = [hazard.kind for hazard in counted.hazards]
    return Found(
        error=error,
        counters_s=seconds,
        hazards={kind: kinds.count(kind) for kind in sorted(set(kinds))},
        messages=tuple(hazard.message for hazard in counted.hazards),
    )


def compare(entry: Entry, source: Source) -> float:
    """Launch it, and return the greatest error of its arrays over their greatest element.

    Where the reference has NaN, anything may stand.
    """
    words, arrays = make_launch(entry, source)
    before = read_numbers(entry, arrays)
    with printed() as lines:
        emulator.launch(**words)
    after = read_numbers(entry, arrays) | {"printed": numbers_in(lines)}
    expected = find_reference(entry.reference)(before)
    return max(_error(after[name], np.asarray(values)) for name, values in expected.items())


def _error(found: np.ndarray, expected: np.ndarray) -> float:
    found, expected = (array.reshape(-1).astype(np.float64) for array in (found, expected))
    asked = ~np.isnan(expected)
    apart = np.abs(found - expected)[asked]
    apart[found[asked] == expected[asked]] = 0  # infinities
    error = apart.max() / max(np.abs(expected[asked & np.isfinite(expected)]).max(), 1e-30)
    return float("inf") if np.isnan(error) else float(error)


def find_reference(name: str) -> Callable[[Arrays], Arrays]:
    """The reference formula of this name."""
    modules = (transformers, training, reductions, numerics)
    return next(getattr(module, name) for module in modules if hasattr(module, name))


def count(entry: Entry, source: Source) -> tuple[XRay, float]:
    """An x-ray of the launch, and the seconds it takes once the kernel is built."""
    words, _ = make_launch(entry, source)
    xray_launch(**words)
    words, _ = make_launch(entry, source)
    start = time.perf_counter()
    counted = xray_launch(**words)
    return counted, time.perf_counter() - start
