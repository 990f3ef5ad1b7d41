"""The ladder: every rung on one matrix, how far off it is and how long it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from softmax_lib.checking import check, choose_device
from softmax_lib.errors import BadInput
from softmax_lib.kernel import Kernel
from softmax_lib.records.measurement import Case, Measurement
from softmax_lib.records.shelf import recorded
from softmax_lib.records.skips import provider_of
from softmax_lib.reference import noise
from softmax_lib.registry import rungs

MOST_ELEMENTS = 1 << 29
"""Of the matrix, 2 GiB: what is right is found on the CPU, in float64."""


@dataclass(frozen=True)
class Rung:
    """One line of the ladder; times are None where nothing was measured.

    `source` says where they come from, `stale` that the kernel has changed since.
    """

    name: str
    block_size: int
    reads: int
    writes: int
    max_abs_error: float
    time_us: float | None = None
    gb_per_s: float | None = None
    copy_share: float | None = None
    source: str | None = None
    stale: bool = False


@dataclass(frozen=True)
class Ladder:
    """All rungs that take rows of this length, slowest idea first; `skipped` says why one has no time."""

    device: str
    rows: int
    cols: int
    kernels: tuple[Rung, ...]
    skipped: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict:
        """The ladder as plain lists and dictionaries."""
        return asdict(self)


def climb(
    rows: int,
    cols: int,
    device: str = "auto",
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> Ladder:
    """Run every rung on a (rows, cols) matrix of normal noise.

    `progress` hears what comes next, how many parts are done, and how many there are. On a GPU all
    are timed in one run with a copy; without one, times are those recorded for this shape, if any.
    Raises `BadInput` for a shape without elements, `NotAvailable` without the device.
    """
    device = choose_device(device)
    if rows < 1 or cols < 1:
        raise BadInput(f"A ladder needs at least one row and one column, not ({rows}, {cols}).")
    if rows * cols > MOST_ELEMENTS:
        raise BadInput(f"A ladder takes up to {MOST_ELEMENTS} elements, not ({rows}, {cols}).")
    able = [kernel for kernel in rungs() if kernel.legal_block_sizes(cols)]
    x = noise(rows, cols)
    errors = {}
    for done, kernel in enumerate(able):
        progress(kernel.name, done, len(able) + 1)
        errors[kernel.name] = check(kernel, x, device=device).max_abs_error
    progress("times", len(able), len(able) + 1)
    cases = [Case(k.name, rows, cols, block_size=k.choose_block_size(cols)) for k in able]
    times, skipped = _live(cases) if device == "cuda" else _recorded(cases)
    progress("done", len(able) + 1, len(able) + 1)
    lines = (_line(kernel, cols, errors[kernel.name], times.get(kernel.name)) for kernel in able)
    return Ladder(device, rows, cols, tuple(lines), skipped)


def _live(cases: Sequence[Case]) -> tuple[dict[str, Measurement], dict[str, str]]:
    """Times by kernel, and the reasons of those that could not be timed."""
    from softmax_lib.bench.contest import time_together

    reasons: dict[str, str] = {}

    def skip(what: Case | str, reason: str) -> None:
        reasons[provider_of(what)] = reason

    return {timing.case.provider: timing for timing in time_together(cases, skipped=skip)}, reasons


def _recorded(cases: Sequence[Case]) -> tuple[dict[str, Measurement], dict[str, str]]:
    """Those that were recorded; a line without one says so by an empty time. And why there are none."""
    try:
        timings = recorded().timings
    except BadInput as error:
        return {}, {"times": str(error)}
    return {case.provider: timings[case] for case in cases if case in timings}, {}


def _line(kernel: Kernel, cols: int, error: float, timing: Measurement | None) -> Rung:
    size, (reads, writes) = kernel.choose_block_size(cols), kernel.traffic(cols)
    if timing is None:
        return Rung(kernel.name, size, reads, writes, error)
    times = (timing.median_us, timing.gb_per_s, timing.copy_share)
    return Rung(kernel.name, size, reads, writes, error, *times, timing.source, timing.stale)
