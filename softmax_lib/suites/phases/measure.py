"""When `fusion` reads, meets and writes, and when a copy does: both with a clock put into their own text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softmax_lib.engine.source import WARP, Edit, Program
from softmax_lib.suites.cells import Progress, run_cells
from softmax_lib.suites.plan import WORKLOG
from softmax_lib.suites.probes import launcher, median_us
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.registry import COPY, kernels

PROTOCOL = (
    "Warps write down the nanosecond in which they begin, have got what they asked for, have met the other warps, and "
    "have handed in their last store. plain_us and noted_us are medians of nine calls without and with that, L2 cold."
)
BLOCK_SIZES = {"fusion": 1024, "copy": 256}
PAIRS = 3
"""Matrices that are taken in turn: each is larger than L2."""
BIN_NS = 1000
KEPT_MULTIPROCESSORS = 8
BEGAN, CAME, MET, ENDED, WHERE = range(5)
"""What a warp notes: four times, and its multiprocessor."""

NOTE = """
__device__ inline void note(long long* notes, int what, float needed) {
    if (needed == 12345.678f) *notes = 0;  // so that it is there before the clock is read
    if (threadIdx.x % WARP != 0 || threadIdx.x / WARP >= NOTING) return;
    long long* mine = notes + (blockIdx.x * (long long)NOTING + threadIdx.x / WARP) * 5;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(mine[what]) :: "memory");
    unsigned multiprocessor;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    mine[4] = multiprocessor;
}
"""

_FUSION_EDITS = (
    Edit('#include "float4.cuh"\n', f'#include "float4.cuh"\n{NOTE}'),
    Edit("float* y_row, int cols) {\n", "float* y_row, int cols, long long* notes) {\n    note(notes, 0, 0.0f);\n"),
    Edit("    float shift = top ==", "    note(notes, 1, top);\n    float shift = top =="),
    Edit("    // 4. write", "    note(notes, 2, row_sum);\n    // 4. write"),
    Edit("}\n\n// No __restrict__", "    note(notes, 3, 0.0f);\n}\n\n// No __restrict__"),
    Edit("int rows, int cols) {", "int rows, int cols, long long* notes) {"),
    Edit("(x_row, y_row, cols);", "(x_row, y_row, cols, notes);", places=2),
)  # fmt: skip
_COPY_EDITS = (
    Edit('extern "C"', f'{NOTE}\nextern "C"'),
    Edit("int rows, int cols) {", "int rows, int cols, long long* notes) {\n    note(notes, 0, 0.0f);"),
    Edit(
        "    if (i < vectors) reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];\n",
        "    float4 v = reinterpret_cast<const float4*>(x)[i];\n    note(notes, 1, v.x);\n    note(notes, 2, v.x);\n"
        "    reinterpret_cast<float4*>(y)[i] = v;\n    note(notes, 3, 0.0f);\n",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Noted:
    """A kernel of the book, and the changes that make `noting` warps of each block note the time."""

    kernel: Kernel
    edits: tuple[Edit, ...]
    noting: int

    def __str__(self) -> str:
        return self.kernel.name

    @property
    def block_size(self) -> int:
        return BLOCK_SIZES[self.kernel.name]

    @property
    def blocks(self) -> int:
        """Of a launch on the worklog's matrix."""
        return self.kernel.steps[0].blocks(*WORKLOG, self.block_size)

    @property
    def plain(self) -> Program:
        """As it is in the book."""
        return self.kernel.program(self.block_size, WORKLOG[1])

    @property
    def program(self) -> Program:
        """With the clock."""
        source = self.plain.source.edited(f"noting_{self.plain.source.file_name}", self.edits)
        return Program(source, (*self.plain.defines, ("NOTING", self.noting)))


NOTED = (
    Noted(kernels["fusion"], _FUSION_EDITS, BLOCK_SIZES["fusion"] // WARP),
    Noted(COPY, _COPY_EDITS, 1),
)


def run_suite(progress: Progress) -> dict[str, Any]:
    """Both kernels on the worklog's matrix, on this GPU, as JSON has it.

    `rows` has for each `{"kernel", "plain_us", "noted_us", "read_bytes", "written_bytes", "blocks"}`: bytes that
    warps had got, and had handed in, in each microsecond; and of some multiprocessors each block, `[multiprocessor,
    began, came, met, ended]` in nanoseconds, of its last warp; the rest is as in `cells.run_cells`. Raises `NotAvailable` where they cannot be compiled.
    """
    digests = {one.kernel.name: one.kernel.digest for one in NOTED}
    timed = run_cells(NOTED, lambda one, _: _row(one), progress)
    return {"protocol": PROTOCOL, **timed, "digests": digests}


def _row(one: Noted) -> dict[str, Any]:
    pairs = [(torch.randn(WORKLOG, device="cuda"), torch.empty(WORKLOG, device="cuda")) for _ in range(PAIRS)]  # fmt: skip
    notes = torch.zeros((one.blocks * one.noting, 5), device="cuda", dtype=torch.int64)
    entry = one.kernel.steps[0].entry
    plain, noting = launcher(one.plain, entry), launcher(one.program, entry)
    turns = cycle(pairs)

    def call(run: Callable[..., None], *more: Tensor) -> None:
        run(one.blocks, one.block_size, *next(turns), *WORKLOG, *more)

    times = {
        "plain_us": round(median_us(partial(call, plain)), 2),
        "noted_us": round(median_us(partial(call, noting, notes)), 2),
    }
    x, y = next(turns)
    noting(one.blocks, one.block_size, x, y, *WORKLOG, notes)
    x_bytes = WORKLOG[0] * WORKLOG[1] * 4
    return {"kernel": one.kernel.name, **times, **seen(notes.cpu().numpy(), one.noting, x_bytes)}


def seen(notes: np.ndarray, noting: int, matrix_bytes: int) -> dict[str, Any]:
    """What notes of shape (warps, 5) tell, of `noting` warps per block that stand for all bytes of a matrix."""
    notes = notes.copy()
    notes[:, :WHERE] -= notes[:, BEGAN].min()
    a_warp = matrix_bytes / len(notes)
    bins = int(notes[:, ENDED].max()) // BIN_NS + 1
    moved = {
        name: np.bincount(notes[:, what] // BIN_NS, minlength=bins) * a_warp
        for name, what in {"read_bytes": CAME, "written_bytes": ENDED}.items()
    }
    blocks = notes.reshape(-1, noting, 5).max(1)
    blocks[:, BEGAN] = notes.reshape(-1, noting, 5)[:, :, BEGAN].min(1)
    kept = sorted(blocks[blocks[:, WHERE] < KEPT_MULTIPROCESSORS].tolist(), key=lambda b: (b[WHERE], b[BEGAN]))  # fmt: skip
    in_order = [[block[WHERE], *block[:WHERE]] for block in kept]
    return {
        **{name: counts.round().astype(int).tolist() for name, counts in moved.items()},
        "blocks": in_order if noting > 1 else [],
    }
