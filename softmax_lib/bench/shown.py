"""Kernels as chapters show them whole, for aligned rows, each beside the one that takes any row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from softmax_lib.bench.suite import run_cells, time_beside_copies
from softmax_lib.checking import check
from softmax_lib.errors import NotAvailable
from softmax_lib.launch import run
from softmax_lib.records.measurement import Case
from softmax_lib.records.shown import FULL
from softmax_lib.registry import kernels

PROTOCOL = (
    "Microseconds of one call at the block size that a kernel chooses: median of CUDA graph replays, L2 cold; both "
    "take their turns in one run. copy_us is the fastest copy of the matrix."
)
ROWS, LENGTHS = 1024, (512, 2048, 8192, 32768, 131072)


def cells() -> Iterator[Case]:
    """Each kernel that a chapter shows, on each matrix."""
    yield from (Case(name, ROWS, cols) for name in FULL for cols in LENGTHS)


def run_shown(progress: Callable[[str, int, int], None]) -> dict[str, Any]:
    """Every cell timed on this GPU, as JSON has it.

    `rows` has for each `{"kernel", "rows", "cols", "us", "full_us", "copy_us"}`, and `digests` what was compiled; the
    rest is as in `suite.run_suite`. Raises `NotAvailable` where a kernel is wrong here.
    """
    for name in FULL:
        if not (found := check(name, device="cuda")).ok:
            raise NotAvailable(found.verdict)
    digests = {name: kernels[name].digest for pair in FULL.items() for name in pair}
    timed = run_cells(list(cells()), lambda case, _: time_cell(case), progress)
    return {"protocol": PROTOCOL, **timed, "digests": digests}


def time_cell(case: Case) -> dict[str, Any]:
    """One row of the suite."""
    name, full = case.provider, FULL[case.provider]
    calls = {one: partial(_call, one) for one in (name, full)}
    us, copy_us = time_beside_copies(case, calls)
    times = {"us": us[name], "full_us": us[full], "copy_us": copy_us}
    sizes = {"kernel": name, "rows": case.rows, "cols": case.cols}
    return sizes | {what: round(time, 3) for what, time in times.items()}


def _call(name: str, x: Any, y: Any) -> Any:
    return run(name, x, out=y)
