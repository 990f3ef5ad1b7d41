"""`softmax()` beside every peer that is installed and a copy, cell by cell, each cell in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, Literal, cast

import torch
from torch import Tensor

from softmax_lib.ops.designs import CHUNK_BYTES, Task
from softmax_lib.ops.functional import softmax
from softmax_lib.ops.plans import compute
from softmax_lib.records.measurement import Case
from softmax_lib.suites import plan, timing
from softmax_lib.suites.cells import OURS, Progress, run_cells, time_contest
from softmax_lib.suites.peers import providers
from softmax_lib.suites.peers.record import contest_of, mean_gain
from softmax_lib.suites.timing import SCALE, Call, mask_of

PROTOCOL = (
    "Microseconds of one call: median of CUDA graph replays, L2 cold; every contender of a cell takes "
    "its turn in one run and writes to outputs of its own. copy_us is the fastest copy of one matrix."
)


@dataclass(frozen=True)
class Cell:
    """One matrix, and whether its softmax is computed or the gradient of that.

    Or a tensor of a `shape` that has so many rows and columns along `dim`; `masked` ones are scores, which are scaled.
    """

    rows: int
    cols: int
    dtype: str
    direction: Literal["forward", "backward"]
    shape: tuple[int, ...] = ()
    dim: int = 1
    masked: bool = False

    @property
    def case(self) -> Case:
        """As the timing protocol has it, with a matrix of as many numbers; the provider is ours."""
        return Case(OURS, self.rows, self.cols, self.dtype)

    @property
    def task(self) -> Task:
        """What our kernels are asked for, of a matrix."""
        backward = self.direction == "backward"
        task = Task(self.rows, self.cols, self.dtype, self.dtype, backward)
        return replace(task, edges=task.row_bytes % CHUNK_BYTES != 0)

    def view(self, x: Tensor) -> Tensor:
        """A matrix, or two of them, as the tensor that it holds."""
        return x.view(*x.shape[:-2], *self.shape) if self.shape else x

    def on_matrices(self, call: Call) -> Call:
        """A call on such tensors, for the matrices that hold them."""
        return lambda x, y: call(self.view(x), self.view(y))

    def __str__(self) -> str:
        size = "x".join(map(str, self.shape or (self.rows, self.cols)))
        how = " masked" if self.masked else f" along {self.dim}" * bool(self.shape)
        return f"{size}{how} {self.dtype} {self.direction}"


def cells() -> Iterator[Cell]:
    """All that the suite times."""
    for direction, shapes in (("forward", plan.PEER_SHAPES), ("backward", plan.BACKWARD_SHAPES)):
        for dtype, of_dtype in shapes.items():
            some = plan.OPERATOR_SHAPES[direction] if dtype == "float32" else ()
            for rows, cols in (*of_dtype, *some):
                yield Cell(rows, cols, dtype, cast(Any, direction))
        for shape, dim, dtype, masked in plan.TENSORS[direction]:
            rows = prod(shape) // shape[dim]
            yield Cell(rows, shape[dim], dtype, cast(Any, direction), shape, dim, masked)


def run_suite(progress: Progress) -> dict[str, Any]:
    """Every cell timed on this GPU, as JSON has it.

    `rows` has for each cell its fields, `{"ours_us", "copy_us", "peers": {name: us}}` among them;
    `gain` is the best peer's time over ours, in geometric mean over the cells of a
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
    times = time_contest(
        cell,
        cell.on_matrices(_ours(cell)),
        _peers(cell),
        partial(_try_once, cell),
        partial(sample, cell),
        skipped,
        backward=cell.direction == "backward",
    )
    return {**vars(cell), **times}


def _ours(cell: Cell) -> Call:
    if cell.direction == "backward":
        return lambda x, y: (compute(x[0], x[1], y, cell.dim, False), y)[1]
    if cell.masked:
        return lambda x, y: softmax(x, out=y, scale=SCALE, mask=mask_of(x))
    return lambda x, y: softmax(x, cell.dim, out=y)


def _peers(cell: Cell) -> dict[str, Callable[[], Call]]:
    """How to get the call of each that takes such a cell."""
    table = providers.BACKWARD if cell.direction == "backward" else providers.CALLS
    if cell.masked:
        table = providers.SCORES
    elif cell.shape:
        table = {name: partial(table[name], cell.dim) for name in providers.ANY_DIM}

    def make(name: str) -> Call:
        return cell.on_matrices(providers.made(name, table[name]))

    return {name: partial(make, name) for name in table}


def _try_once(cell: Cell, name: str, call: Call, x: Tensor) -> None:
    """As `providers.try_once` does, along the dimension of the cell."""
    backward, given = cell.direction == "backward", cell.view(x)
    y = torch.empty_like(x[0] if backward else x)
    if cell.masked:
        given = given * SCALE + mask_of(given)
    dims = len(cell.shape) or 2

    def by_rows(one: Any) -> Tensor:
        return one.movedim(cell.dim - dims, -1).flatten(-dims, -2)

    providers.try_once(name, lambda *_: by_rows(call(x, y)), by_rows(given), backward)


def sample(cell: Cell) -> Tensor:
    """What the matrices of this cell hold: noise; for a backward pass a softmax, and noise."""
    x = timing.sample(cell.case)
    return x if cell.direction == "forward" else torch.stack((torch.softmax(x, -1), x))
