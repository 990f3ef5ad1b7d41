"""The ladder: every rung on one matrix, how far off it is and how long it takes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from rich.console import Console

from softmax_lib.cli.answer import DONE, FAILED, Answer, parts, print_table
from softmax_lib.records.measurement import Case, Measurement
from softmax_lib.records.record import provider_of
from softmax_lib.records.shelf import recorded
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
    skipped: dict[str, str]


def run(options: argparse.Namespace) -> Answer:
    """Every rung on one matrix of normal noise, and the kernels or .cu files that are named after them.

    On a GPU they are timed in one run with a copy; else times are those recorded, if any. A file's line is named by
    it. Raises `BadInput` for too many elements, `NotAvailable` without the device, and what `resolve` and `run` raise.
    """
    rows, cols, device = options.rows, options.cols, choose_device(options.device)
    if rows * cols > MOST_ELEMENTS:
        raise BadInput(f"A ladder takes up to {MOST_ELEMENTS} elements, not ({rows}, {cols}).")
    added = _added(options.names, cols)
    able = [kernel for kernel in rungs() if kernel.legal_block_sizes(cols)] + added
    x = noise(rows, cols)
    checks = {}
    with parts(options.json) as tell:
        for done, kernel in enumerate(reversed(able)):  # a reader's own first: they may not compile
            tell(kernel.name, done, len(able) + 1)
            checks[kernel.name] = check(kernel, x, device=device)
        tell("times", len(able), len(able) + 1)
        cases = [Case(k.name, rows, cols, block_size=k.choose_block_size(cols)) for k in able]
        times, skipped = _live(cases, added) if device == "cuda" else _recorded(cases)
        tell("done", len(able) + 1, len(able) + 1)
    lines = (_line(kernel, cols, checks[kernel.name], times.get(kernel.name)) for kernel in able)
    found = Ladder(device, rows, cols, tuple(lines), skipped)
    status = DONE if all(rung.ok for rung in found.kernels) else FAILED
    return Answer(asdict(found), lambda: _print(found), status)


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
    checked = (kernel.name, size, reads, writes, found.max_abs_error, found.ok)
    if timing is None:
        return Rung(*checked)
    times = (timing.median_us, timing.gb_per_s, timing.copy_share)
    return Rung(*checked, *times, timing.source, timing.stale)


def _print(ladder: Ladder) -> None:
    """A line per rung, where it was checked, where the times come from, and why one has none."""
    sources = dict.fromkeys(
        f"{rung.source}{' (*)' if rung.stale else ''}" for rung in ladder.kernels if rung.source
    )
    where = {"cpu": "this CPU", "cuda": "this GPU"}[ladder.device]
    headings = ["kernel", "block", "reads + writes", "worst error"]
    headings += ["time", "GB/s", "of a copy"] if sources else []
    lines = (_cells(rung)[: len(headings)] for rung in ladder.kernels)
    console = Console(markup=False)
    print_table(
        console, headings, lines, ("kernel",), no_wrap=False,
        title=f"softmax of ({ladder.rows}, {ladder.cols}) float32, checked on {where}",
        caption=f"times {'; '.join(sources)}" if sources else "no times for this matrix",
    )  # fmt: skip
    for name, reason in ladder.skipped.items():
        console.print(f"Skipped {name}: {reason}", soft_wrap=True)


def _cells(rung: Rung) -> list[str]:
    traffic = "-" if rung.reads is None else f"{rung.reads} + {rung.writes}"
    error = f"{rung.max_abs_error:.1e}" if rung.ok else f"wrong: {rung.max_abs_error:.1e}"
    checked = [rung.name, str(rung.block_size), traffic, error]
    if rung.time_us is None:
        return [*checked, "-", "-", "-"]
    times = (f"{rung.time_us:.1f} us", f"{rung.gb_per_s:.0f}", f"{rung.copy_share:.0%}")
    return [*checked, *(f"{time}{'*' * rung.stale}" for time in times)]
