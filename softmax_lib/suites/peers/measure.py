"""`softmax()` beside every peer that is installed and a copy, cell by cell, each cell in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from statistics import geometric_mean
from typing import Any, Literal, TypeVar, cast

import torch
from torch import Tensor

from softmax_lib.gpu.facts import busy, gpu_facts, slowed, today, versions
from softmax_lib.ops.designs import CHUNK_BYTES, Task
from softmax_lib.ops.functional import softmax
from softmax_lib.ops.operators import gradient_into
from softmax_lib.records.measurement import PEERS, Case
from softmax_lib.suites import timing
from softmax_lib.suites.peers import providers
from softmax_lib.suites.plan import BACKWARD_SHAPES, PEER_SHAPES
from softmax_lib.suites.timing import COPIES, Call
from softmax_lib.suites.together import TOO_LARGE
from softmax_lib.worklog.errors import NotAvailable

OURS = "softmax_lib"
AnyCell = TypeVar("AnyCell")

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


def run_suite(progress: Callable[[str, int, int], None]) -> dict[str, Any]:
    """Every cell timed on this GPU, as JSON has it.

    `rows` has for each cell `{"rows", "cols", "dtype", "direction", "ours_us", "copy_us", "peers":
    {name: us}}`; `gain` is the best peer's time over ours, in geometric mean over the cells of a
    direction; `skipped` says who is missing or refuses what. `progress` hears a label, how many cells
    are done, and how many there are. Raises `NotAvailable` where the kernels cannot be compiled.
    """
    found = run_cells(list(cells()), time_cell, progress)
    found["gain"] = {
        direction: round(geometric_mean_of_gains(of), 4)
        for direction in ("forward", "backward")
        if (of := [row for row in found["rows"] if row["direction"] == direction])
    }
    return {"protocol": PROTOCOL, **found}


def run_cells(
    todo: Sequence[AnyCell],
    time_one: Callable[[AnyCell, dict[str, str]], dict[str, Any]],
    progress: Callable[[str, int, int], None],
) -> dict[str, Any]:
    """A row for each cell that the memory is large enough for, who was skipped, and where it was measured."""
    skipped: dict[str, str] = {}
    rows, notes = [], [*busy(), *slowed()]
    for done, cell in enumerate(todo):
        progress(str(cell), done, len(todo))
        try:
            rows.append(time_one(cell, skipped))
        except torch.OutOfMemoryError:
            skipped[str(cell)] = TOO_LARGE
        notes += [told for told in slowed() if told not in notes]
        torch.cuda.empty_cache()
    progress("done", len(todo), len(todo))
    where = {"gpu": gpu_facts(), "date": today(), "software": versions()}
    return {**where, "rows": rows, "skipped": skipped, "notes": notes}


def time_cell(cell: Cell, skipped: dict[str, str]) -> dict[str, Any]:
    """One row of the suite; whoever cannot run is told to `skipped`. Raises `NotAvailable` if we cannot."""
    calls = _sound_calls_of(cell, skipped)
    return {**vars(cell), **times_of(cell.case, calls, cell.direction == "backward")}


def _sound_calls_of(cell: Cell, skipped: dict[str, str]) -> dict[str, Call]:
    backward, given = cell.direction == "backward", sample(cell)

    def try_once(name: str, call: Call) -> None:
        providers.try_once(name, call, given, backward)

    ours = _ours(backward)
    try_once(OURS, ours)
    makes = {
        name: partial(providers.peer, name, backward)
        for name in (providers.BACKWARD if backward else PEERS)
    }
    return {OURS: ours, **sound_calls(makes, try_once, str(cell), skipped)}


def sound_calls(
    makes: Mapping[str, Callable[[], Call]],
    try_once: Callable[[str, Call], None],
    cell: str,
    skipped: dict[str, str],
) -> dict[str, Call]:
    """The calls of all peers that can be had and that `try_once` takes; the others are told to `skipped`."""
    calls = {}
    for name, make in makes.items():
        try:
            call = make()
        except NotAvailable as error:
            skipped[name] = str(error)
            continue
        try:
            try_once(name, call)
            calls[name] = call
        except NotAvailable as error:
            skipped[f"{name} on {cell}"] = str(error)
        except torch.OutOfMemoryError:
            skipped[f"{name} on {cell}"] = TOO_LARGE
    return calls


def times_of(case: Case, calls: Mapping[str, Call], backward: bool = False) -> dict[str, Any]:
    """What a row of a suite has of times: `{"ours_us", "copy_us", "peers"}`."""
    found, copy_us = time_beside_copies(case, calls, backward)
    us = {name: round(time, 3) for name, time in found.items()}
    ours_us = us.pop(OURS)
    return {"ours_us": ours_us, "copy_us": round(copy_us, 3), "peers": us}


def time_beside_copies(
    case: Case, calls: Mapping[str, Call], backward: bool = False, replays: int = timing.REPLAYS
) -> tuple[dict[str, float], float]:
    """Microseconds of each call that the memory is large enough for, and of the fastest copy, in one run."""
    timed = {replace(case, provider=name): call for name, call in calls.items()}
    copies = timing.copies(case)
    if backward:
        copies = {case: _of_first(call) for case, call in copies.items()}
    times = timing.time_device({**copies, **timed}, 2 if backward else 1, replays)
    us = {case.provider: found.median_us for case, found in times.items()}
    copy_us = min(us.pop(name) for name in COPIES if name in us)
    return us, copy_us


def geometric_mean_of_gains(rows: list[dict[str, Any]]) -> float:
    """By how much we are faster than the best peer of each cell, over all cells that have one."""
    gains = [min(row["peers"].values()) / row["ours_us"] for row in rows if row["peers"]]
    return geometric_mean(gains) if gains else nan


def _ours(backward: bool) -> Call:
    if backward:
        return lambda x, y: gradient_into(x[0], x[1], y)
    return lambda x, y: softmax(x, out=y)


def _of_first(call: Call) -> Call:
    return lambda x, y: call(x[0], y)


def sample(cell: Cell) -> Tensor:
    """What a call of this cell is given: noise; for a backward pass its softmax, and noise."""
    x = timing.sample(cell.case)
    return x if cell.direction == "forward" else torch.stack((torch.softmax(x, -1), x))
