"""Launching one of the table's kernels, comparing what it leaves, and counting it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path

import numpy as np

from other_kernels import numerics, reductions, training, transformers
from other_kernels.launches import Arrays, Entry, make_launch, read_numbers
from softmax_lib import emulator
from softmax_lib.engine.source import Program, Source
from softmax_lib.engine.written.session import Library
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.worklog.errors import SoftmaxLibError
from softmax_lib.worklog.xray import xray_launch


@dataclass(frozen=True)
class Found:
    """What became of an entry: it is `taken` when it left what its reference says.

    Where it was not, `sentence` says why: what refused it, or the first hazard that an x-ray found in
    which something is read, and without one the first.
    `error` is the greatest of all arrays over the greatest element there, `hazards` counts those of
    the x-ray by kind, and `counters_s` are the seconds that this took, without building.
    """

    taken: bool
    sentence: str | None = None
    error: float | None = None
    counters_s: float | None = None
    hazards: dict[str, int] = field(default_factory=dict)


def try_kernel(entry: Entry, checkouts: Path) -> Found:
    """Launch it, compare, and count. Raises what is no answer of the emulator's."""
    source = Source.read(checkouts / entry.checkout / entry.path)
    try:
        error = compare(entry, source)
    except SoftmaxLibError as refused:
        return Found(taken=False, sentence=str(refused))
    counted, seconds = count(entry, source)
    kinds = [hazard.kind for hazard in counted.hazards]
    messages = [hazard.message for hazard in counted.hazards]
    taken = error <= entry.tolerance
    # of two that write, both may write the same
    cause = min(messages, key=lambda one: " reads it at " not in one, default=None)
    return Found(
        taken=taken,
        sentence=None if taken else cause,
        error=float(f"{error:.2g}"),
        counters_s=round(seconds, 3),
        hazards={kind: kinds.count(kind) for kind in sorted(set(kinds))},
    )


def compare(entry: Entry, source: Source) -> float:
    """Launch it, and return the greatest error of its arrays over their greatest element.

    Where the reference has NaN, anything may stand.
    """
    words, arrays = make_launch(entry, source)
    before = read_numbers(entry, arrays)
    with redirect_stdout(StringIO()) as printed:
        emulator.launch(**words)
    whole = [int(word) for word in re.findall(r"\b\d+\b", printed.getvalue())]
    after = read_numbers(entry, arrays) | {"printed": np.array(whole)}
    expected = find_reference(entry.reference)(before)
    return max(_error(after[name], np.asarray(values)) for name, values in expected.items())


def _error(found: np.ndarray, expected: np.ndarray) -> float:
    found, expected = (array.reshape(-1).astype(np.float64) for array in (found, expected))
    asked = ~np.isnan(expected)
    if found.shape != expected.shape:
        return float("inf")
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
    for words, _ in (make_launch(entry, source), make_launch(entry, source)):
        start = time.perf_counter()
        with redirect_stdout(StringIO()):
            counted = xray_launch(**words, path="written")
        seconds = time.perf_counter() - start
    return counted, seconds


def build_seconds(entry: Entry, checkouts: Path) -> dict[str, float]:
    """Seconds that building takes the first time, and once more."""
    seconds = {}
    source = Source.read(checkouts / entry.checkout / entry.path)
    # a text of its own, which nobody has built before
    source = replace(source, text=f"{source.text}\n// {time.time()}\n")
    for name in ("cold_s", "cached_s"):
        start = time.perf_counter()
        program = Program(replace(source))
        Library(program, (entry.kernel,), shared_bytes=entry.shared_bytes).path(traced=False)
        seconds[name] = round(time.perf_counter() - start, 3)
    return seconds
