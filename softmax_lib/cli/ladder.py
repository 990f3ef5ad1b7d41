"""The ladder: every rung on one matrix, how far off it is and how long it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace

from softmax_lib.records.measurement import Case, Measurement
from softmax_lib.records.shelf import recorded
from softmax_lib.records.skips import provider_of
from softmax_lib.worklog.checking import CheckResult, check, choose_device
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.reference import noise
from softmax_lib.worklog.registry import resolve, rungs

MOST_ELEMENTS = 1 << 29
"""Of the matrix, 2 GiB: what is right is found on the CPU, in float64."""


@dataclass(frozen=True)
class Rung:
    """One line of the ladder, a rung or what was added to them; times are None where nothing was measured.

    `reads` and `writes` of the matrix are None of a reader's own kernel, which `softmax-lib xray` counts; `ok` says
    whether the result was right. `source` says where times come from, `stale` that the kernel has changed since.
    """

    name: str
    block_size: int
    reads: int | None
    writes: int | None
    max_abs_error: float
    ok: bool
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

    @property
    def is_timed(self) -> bool:
        """Whether any line has a time."""
        return any(rung.time_us is not None for rung in self.kernels)

    @property
    def is_right(self) -> bool:
        """Whether every kernel's result was right."""
        return all(rung.ok for rung in self.kernels)

    def as_json(self) -> dict:
        """The ladder as plain lists and dictionaries."""
        return asdict(self)


def climb(
    rows: int,
    cols: int,
    device: str = "auto",
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
    more: Sequence[str] = (),
) -> Ladder:
    """Run every rung on a (rows, cols) matrix of normal noise, and `more` kernels or .cu files after them.

    A file's line is named by it. `progress` hears what comes next, how many parts are done, and how
    many there are. On a GPU all are timed in one run with a copy; without one, times are those recorded for this shape, if any.
    Raises `BadInput` for a shape without elements, `NotAvailable` without the device, and what `resolve`
    and `run` raise of `more`.
    """
    device = choose_device(device)
    if rows < 1 or cols < 1:
        raise BadInput(f"A ladder needs at least one row and one column, not ({rows}, {cols}).")
    if rows * cols > MOST_ELEMENTS:
        raise BadInput(f"A ladder takes up to {MOST_ELEMENTS} elements, not ({rows}, {cols}).")
    added = _added(more, cols)
    able = [kernel for kernel in rungs() if kernel.legal_block_sizes(cols)] + added
    x = noise(rows, cols)
    checks = {}
    for done, kernel in enumerate(reversed(able)):  # a reader's own first: they may not compile
        progress(kernel.name, done, len(able) + 1)
        checks[kernel.name] = check(kernel, x, device=device)
    progress("times", len(able), len(able) + 1)
    cases = [Case(k.name, rows, cols, block_size=k.choose_block_size(cols)) for k in able]
    times, skipped = _live(cases, added) if device == "cuda" else _recorded(cases)
    progress("done", len(able) + 1, len(able) + 1)
    lines = (_line(kernel, cols, checks[kernel.name], times.get(kernel.name)) for kernel in able)
    return Ladder(device, rows, cols, tuple(lines), skipped)


def _added(names: Sequence[str], cols: int) -> list[Kernel]:
    """The kernels of these names and files; one of a file is called as the file."""
    found: dict[str, Kernel] = {}
    for name in names:
        kernel = resolve(name)
        kernel.settle_block_size(None, cols)
        if kernel.given_source:
            file_name = kernel.given_source.file_name
            kernel = replace(kernel, name=name if file_name in found else file_name)
        found[kernel.name] = kernel
    return [kernel for name, kernel in found.items() if kernel not in rungs()]


def _live(
    cases: Sequence[Case], added: Sequence[Kernel]
) -> tuple[dict[str, Measurement], dict[str, str]]:
    """Times by kernel, and the reasons of those that could not be timed."""
    from softmax_lib.suites.together import time_together

    reasons: dict[str, str] = {}

    def skip(what: Case | str, reason: str) -> None:
        reasons[provider_of(what)] = reason

    own = {kernel.name: kernel for kernel in added}
    timings = time_together(cases, skipped=skip, own=own)
    return {timing.case.provider: timing for timing in timings}, reasons


def _recorded(cases: Sequence[Case]) -> tuple[dict[str, Measurement], dict[str, str]]:
    """Those that were recorded; a line without one says so by an empty time. And why there are none."""
    try:
        record = recorded()
    except BadInput as error:
        return {}, {"times": str(error)}
    unmeasured = record.unmeasured(case.provider for case in cases)
    found = {case.provider: record.timings[case] for case in cases if case in record.timings}
    return found, dict.fromkeys(unmeasured, f"not yet measured on {record.gpu}")


def _line(kernel: Kernel, cols: int, found: CheckResult, timing: Measurement | None) -> Rung:
    size = kernel.choose_block_size(cols)
    reads, writes = (None, None) if kernel.given_source else kernel.traffic(cols)
    checked = Rung(kernel.name, size, reads, writes, found.max_abs_error, found.ok)
    if timing is None:
        return checked
    return replace(
        checked,
        time_us=timing.median_us,
        gb_per_s=timing.gb_per_s,
        copy_share=timing.copy_share,
        source=timing.source,
        stale=timing.stale,
    )
