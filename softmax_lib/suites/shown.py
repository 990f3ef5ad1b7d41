"""Kernels as chapters show them whole, for aligned rows, each beside the one that takes any row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from softmax_lib.records.measurement import Case
from softmax_lib.suites.cells import (
    Progress,
    call_of,
    require_right,
    run_cells,
    time_beside_copies,
)
from softmax_lib.suites.times import FULL
from softmax_lib.suites.timing import Call
from softmax_lib.worklog import selections
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.registry import kernels

PROTOCOL = (
    "Microseconds of one call at the block size that a kernel chooses: median of CUDA graph replays, L2 cold; both "
    "take their turns in one run. copy_us is the fastest copy of the matrix. Kernels of the k largest find 5."
)
ROWS, LENGTHS, K = 1024, (512, 1024, 2048, 8192, 32768, 131072), 5
SHORT = (131072, 32), (131072, 128), (32768, 128), (16384, 1024), (8192, 4096)
SCORES = (10, 25200), (1000, 25200), (4000, 1008), (4000, 6300), (4000, 25200)
"""Matrices of a kernel for short rows, and of one that finds the k largest, as chapter 11 has them."""


def cells() -> Iterator[Case]:
    """Each kernel that a chapter shows, on each matrix."""
    for name in FULL:
        kernel, shapes = _kernel(name), [(ROWS, cols) for cols in LENGTHS]
        if name in selections.kernels:
            shapes = list(SCORES)
        elif "LANES" in dict(kernel.macros):
            shapes = list(SHORT)
        longest = max(map(kernel.max_cols, kernel.block_sizes))
        yield from (Case(name, rows, cols) for rows, cols in shapes if cols <= longest)


def run_suite(progress: Progress) -> dict[str, Any]:
    """Every cell timed on this GPU, as JSON has it.

    `rows` has for each `{"kernel", "rows", "cols", "us", "full_us", "copy_us"}`, and `digests` what was compiled; the
    rest is as in `cells.run_cells`. Raises `NotAvailable` where a kernel is wrong here.
    """
    for name in FULL:
        require_right([name], selections.check if name in selections.kernels else None)
    digests = {name: _kernel(name).digest for pair in FULL.items() for name in pair}
    timed = run_cells(list(cells()), lambda case, _: time_cell(case), progress)
    return {"protocol": PROTOCOL, **timed, "digests": digests}


def time_cell(case: Case) -> dict[str, Any]:
    """One row of the suite."""
    name, full = case.provider, FULL[case.provider]
    calls = {one: _call(one) for one in (name, full)}
    us, copy_us = time_beside_copies(case, calls)
    times = {"us": us[name], "full_us": us[full], "copy_us": copy_us}
    sizes = {"kernel": name, "rows": case.rows, "cols": case.cols}
    return sizes | {what: round(time, 3) for what, time in times.items()}


def _kernel(name: str) -> Kernel:
    return selections.kernels.get(name) or kernels[name]


def _call(name: str) -> Call:
    if name in selections.kernels:
        return lambda x, y: selections.run(name, x, K)
    return call_of(name)
