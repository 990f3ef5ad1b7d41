"""`softmax_topk()` beside what else finds the first of each row, cell by cell, each cell in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from softmax_lib import gpu
from softmax_lib.ops.topk import softmax_topk
from softmax_lib.records.measurement import Case, Data
from softmax_lib.suites import timing
from softmax_lib.suites.cells import (
    OURS,
    Progress,
    require_right,
    run_cells,
    time_beside_copies,
    time_contest,
)
from softmax_lib.suites.peers.providers import made, ran
from softmax_lib.suites.timing import Call
from softmax_lib.worklog import selections
from softmax_lib.worklog.errors import NotAvailable
from softmax_lib.worklog.kernel import Kernel

PROTOCOL = (
    "Microseconds of one call: median of CUDA graph replays, L2 cold; every contender of a cell takes "
    "its turn in one run. copy_us is the fastest copy of the matrix, which reads and writes it; "
    "flashinfer.top_k finds the first and computes no softmax."
)
PAPERS_K = (5, 10, 15, 30)
PAPERS_LENGTHS = {4000: range(13), 10: range(9, 13)}
"""Of arXiv:1805.02867, figures 1 to 4: for a batch the exponents n of lengths 63 * 2^n. A batch of 10 shorter rows
would take thousands of matrices to keep L2 cold."""
FORMS = ("topk_unfused", "topk_unfused_online", "topk_safe", "topk", "topk_warp")
"""Kernels of chapter 11 that are timed on all of these: the paper's four, and ours with a list per warp."""
SOFTMAXES = {"safe softmax": "topk_unfused", "online softmax": "topk_unfused_online"}
"""Of two of these the first launch is timed alone, too."""
SWEPT = ("topk_unfused", "topk", "topk_early_exit", "topk_warp")
SWEPT_SIZES = (32, 64, 128, 256, 512, 1024)
SWEPT_COLS = 25200
"""What is timed at several block sizes, at these, and on rows of which length; every other kernel there at its own size."""
ROWS_JUDGED = 64
ADVERSE: tuple[Data, ...] = ("ascending", "descending", "equal", "in steps")


@dataclass(frozen=True)
class TopkCell:
    """The `k` first of each row of one matrix."""

    rows: int
    cols: int
    dtype: str
    k: int
    data: Data = "normal"

    @property
    def case(self) -> Case:
        """As the timing protocol has it; the provider is ours."""
        return Case(OURS, self.rows, self.cols, self.dtype, data=self.data)

    def __str__(self) -> str:
        data = "" if self.data == "normal" else f" {self.data}"
        return f"{self.rows}x{self.cols} {self.dtype}{data}, k = {self.k}"


def cells() -> Iterator[TopkCell]:
    """All that the suite times: the paper's, those where few or short rows are hard, and rows that mislead."""
    for k in PAPERS_K:
        for rows, exponents in PAPERS_LENGTHS.items():
            yield from (TopkCell(rows, 63 * 2**n, "float32", k) for n in exponents)
        yield from swept(k)
    yield TopkCell(4000, SWEPT_COLS, "float32", 128)
    for data in ADVERSE:
        for k in (5, 30):
            yield TopkCell(4000, SWEPT_COLS, "float32", k, data)
    for k in (5, 30):
        yield TopkCell(10, 100_000, "float32", k)
        yield TopkCell(1024, 131_072, "float32", k)
        yield TopkCell(4000, SWEPT_COLS, "bfloat16", k)
    yield TopkCell(16384, 256, "bfloat16", 8)
    yield TopkCell(16384, 128, "float32", 8)


def swept(k: int) -> Iterator[TopkCell]:
    """The matrices on which kernels are timed at several block sizes."""
    yield from (TopkCell(rows, SWEPT_COLS, "float32", k) for rows in PAPERS_LENGTHS)


def run_suite(progress: Progress) -> dict[str, Any]:
    """Every cell timed on this GPU, as JSON has it.

    `rows` has for each cell `{"rows", "cols", "dtype", "k", "data", "ours_us", "copy_us", "peers": {name: us},
    "kernels": {name: us}}`, and `sweep` the kernels of chapter 11 at their block sizes, as `time_sizes` has them,
    of which `digests` says what was compiled; the rest is as in `cells.run_cells`. Raises `NotAvailable` where
    the kernels cannot be compiled.
    """
    kernels = _kernels()
    require_right((name for name in kernels if kernels[name].flaw is None), selections.check)
    found = run_cells(list(cells()), time_cell, progress)
    sweep = [line for k in PAPERS_K for cell in swept(k) for line in time_sizes(cell)]
    digests = {name: kernel.digest for name, kernel in kernels.items()}
    return {"protocol": PROTOCOL, **found, "sweep": sweep, "digests": digests}


def time_cell(cell: TopkCell, skipped: dict[str, str]) -> dict[str, Any]:
    """One row; whoever cannot run is told to `skipped`.

    Raises `NotAvailable` if we cannot, or are wrong, and torch's OutOfMemoryError if we do not fit.
    """
    kernels: dict[str, Call] = {}
    is_kind = cell.data == "normal" and cell.dtype == "float32" and cell.k in PAPERS_K
    if is_kind and cell.rows in PAPERS_LENGTHS and cell.cols % 63 == 0:
        kernels = {name: _kernel(name, cell.k) for name in FORMS}
        kernels |= {label: _first_launch(name, cell.k) for label, name in SOFTMAXES.items()}
    makes = {name: partial(made, name, partial(make, cell.k)) for name, make in PEERS.items()}
    sample, try_on = partial(timing.sample, cell.case), partial(_try_once, cell.k)
    found = time_contest(cell, _ours(cell.k), makes, try_on, sample, skipped, also=kernels)
    of_kernels = {name: found["peers"].pop(name) for name in kernels if name in found["peers"]}
    return {**vars(cell), **found, "kernels": of_kernels}


def _kernels() -> dict[str, Kernel]:
    """Those of chapter 11 that no other suite times."""
    return {name: kernel for name, kernel in selections.kernels.items() if not kernel.suite}


def time_sizes(cell: TopkCell) -> list[dict[str, Any]]:
    """Kernels of chapter 11 on one matrix in one run: `{"kernel", "rows", "cols", "k", "block_size", "us", "copy_us"}`."""
    asked = [(name, size) for name in SWEPT for size in SWEPT_SIZES]
    others = {name: of for name, of in _kernels().items() if name not in SWEPT}
    asked += [(name, of.default_block_size) for name, of in others.items()]
    calls = {f"{name} {size}": _kernel(name, cell.k, size) for name, size in asked}
    us, copy_us = time_beside_copies(cell.case, calls)
    shared = {"rows": cell.rows, "cols": cell.cols, "k": cell.k, "copy_us": round(copy_us, 3)}
    return [
        {"kernel": name, "block_size": size, **shared, "us": round(us[f"{name} {size}"], 3)}
        for name, size in asked
    ]


def _kernel(name: str, k: int, block_size: int | None = None) -> Call:
    return lambda x, y: selections.run(name, x, k, block_size=block_size)


def _first_launch(name: str, k: int) -> Call:
    return lambda x, y: gpu.launch(**selections.select(name, x, k).launches[0])


def _ours(k: int) -> Call:
    return lambda x, y: softmax_topk(x, k)


def _beside_logsumexp(k: int, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    values, indices = torch.topk(x, k)
    return (values - torch.logsumexp(x, -1, keepdim=True)).exp(), indices


def _flashinfer(k: int) -> Call:
    from flashinfer import top_k

    return lambda x, y: top_k(x, k)


PEERS: dict[str, Callable[[int], Call]] = {
    "topk(softmax)": lambda k: lambda x, y: torch.topk(torch.softmax(x, -1), k),
    "topk, logsumexp": lambda k: partial(_beside_logsumexp, k),
    "flashinfer.top_k": _flashinfer,
}
"""How to get the call of each peer for a k."""


def _try_once(k: int, name: str, call: Call, x: Tensor) -> None:
    """Raises `NotAvailable` where `call` refuses, or finds in the first rows other numbers or values than torch."""
    values, places = ran(f"{name} refuses", call, x, x)
    some = x[:ROWS_JUDGED]
    numbers = some.gather(-1, places[:ROWS_JUDGED].long()).sort(-1, descending=True)[0]
    wanted = some.double() if name == "flashinfer.top_k" else torch.softmax(some.double(), -1)
    found = values[:ROWS_JUDGED].double().sort(-1, descending=True)[0]
    rough = 1e-4 if x.dtype == torch.float32 else 2e-2
    if not (
        torch.equal(numbers, some.topk(k)[0])
        and torch.allclose(found, wanted.topk(k)[0], rtol=rough, atol=1e-9)
    ):
        raise NotAvailable(f"{name} gives a wrong result")
