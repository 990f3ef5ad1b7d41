"""`softmax()` beside every peer that is installed and a copy, cell by cell, each cell in one run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast

import torch
from torch import Tensor

from softmax_lib.ops.designs import CHUNK_BYTES, Task
from softmax_lib.ops.operators import gradient_into
from softmax_lib.records.measurement import PEERS, Case
from softmax_lib.suites import timing
from softmax_lib.suites.cells import OURS, Progress, call_of, run_cells, time_contest
from softmax_lib.suites.peers import providers
from softmax_lib.suites.peers.record import contest_of, mean_gain
from softmax_lib.suites.plan import BACKWARD_SHAPES, PEER_SHAPES

PROTOCOL = (
    "Microseconds of one call: median of CUDA graph replays, L2 cold; every contender of a cell takes "
    "its turn in one run and writes to outputs of its own. copy_us is the fastest copy of one matrix."
)


@dataclass(frozen=True)
class Cell:
    """One matrix, and whether its softmax is computed or the gradient of that."""

    rows: int
    cols: int
    dtype: str
    direction: Literal["forward", "backward"]

    @property
    def case(self) -> Case:
        """As the timing protocol has it; the provider is ours."""
        return Case(OURS, self.rows, self.cols, self.dtype)

    @property
    def task(self) -> Task:
        """What our kernels are asked for."""
        backward = self.direction == "backward"
        task = Task(self.rows, self.cols, self.dtype, self.dtype, backward)
        return replace(task, edges=task.row_bytes % CHUNK_BYTES != 0)

    def __str__(self) -> str:
        return f"{self.rows}x{self.cols} {self.dtype} {self.direction}"


def cells() -> Iterator[Cell]:
    """All that the suite times."""
    for direction, shapes in (("forward", PEER_SHAPES), ("backward", BACKWARD_SHAPES)):
        for dtype, of_dtype in shapes.items():
            for rows, cols in of_dtype:
                yield Cell(rows, cols, dtype, cast(Any, direction))


def run_suite(progress: Progress) -> dict[str, Any]:
    """Every cell timed on this GPU, as JSON has it.

    `rows` has for each cell `{"rows", "cols", "dtype", "direction", "ours_us", "copy_us", "peers":
    {name: us}}`; `gain` is the best peer's time over ours, in geometric mean over the cells of a
    direction; `skipped` says who is missing or refuses what. Raises `NotAvailable` where the kernels cannot be compiled.
    """
    found = run_cells(list(cells()), time_cell, progress)
    found["gain"] = {
        direction: round(mean_gain([contest_of([row]) for row in of]), 4)
        for direction in ("forward", "backward")
        if (of := [row for row in found["rows"] if row["direction"] == direction])
    }
    return {"protocol": PROTOCOL, **found}


def time_cell(cell: Cell, skipped: dict[str, str]) -> dict[str, Any]:
    """One row of the suite; whoever cannot run is told to `skipped`. Raises `NotAvailable` if we cannot."""
    backward = cell.direction == "backward"
    names = providers.BACKWARD if backward else PEERS
    times = time_contest(
        cell,
        (lambda x, y: gradient_into(x[0], x[1], y)) if backward else call_of("softmax()"),
        {name: partial(providers.peer, name, backward) for name in names},
        partial(providers.try_once, backward=backward),
        partial(sample, cell),
        skipped,
        backward=backward,
    )
    return {**vars(cell), **times}


def sample(cell: Cell) -> Tensor:
    """What a call of this cell is given: noise; for a backward pass its softmax, and noise."""
    x = timing.sample(cell.case)
    return x if cell.direction == "forward" else torch.stack((torch.softmax(x, -1), x))
