"""What the suites of `softmax-lib bench` share: one cell after the other, each beside others and a copy in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from softmax_lib.gpu.facts import busy, gpu_facts, slowed, today, versions
from softmax_lib.ops.functional import softmax
from softmax_lib.records.measurement import Case
from softmax_lib.suites import timing
from softmax_lib.suites.timing import COPIES, Call
from softmax_lib.worklog.checking import check
from softmax_lib.worklog.errors import NotAvailable
from softmax_lib.worklog.launch import run
from softmax_lib.worklog.registry import find_kernel, kernels

OURS = "softmax_lib"
TOO_LARGE = "this shape does not fit into the memory of this GPU"
SETTINGS_PROTOCOL = (
    "Microseconds of one call: median of CUDA graph replays, L2 cold; all settings of one matrix take "
    "their turns in one run, and others with them. copy_us is the fastest copy of the matrix."
)
"""How suites time a kernel at all of its settings, which a run says of itself."""
Cell = TypeVar("Cell")
Contender = TypeVar("Contender")
Method = TypeVar("Method")
TURNS = 15
"""Of methods that are timed by themselves, sample by sample."""
Progress = Callable[[str, int, int], None]
"""Hears a label, how many cells are done, and how many there are."""


@dataclass(frozen=True)
class Matrix(Generic[Contender]):
    """A cell: one float32 matrix, the part of a chapter that it is for, and who is timed on it."""

    part: str
    rows: int
    cols: int
    contenders: tuple[Contender, ...]

    @property
    def case(self) -> Case:
        """As the timing protocol has it."""
        return Case(OURS, self.rows, self.cols)

    def row(self, copy_us: float, times: list[dict[str, Any]]) -> dict[str, Any]:
        """What the run has of it."""
        sizes = {"part": self.part, "rows": self.rows, "cols": self.cols}
        return {**sizes, "copy_us": round(copy_us, 3), "times": times}

    def __str__(self) -> str:
        return f"{self.rows}x{self.cols}, {self.part}"


def run_cells(
    todo: Sequence[Cell],
    time_one: Callable[[Cell, dict[str, str]], dict[str, Any]],
    progress: Progress,
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


def require_right(names: Iterable[str], judge: Callable[..., Any] | None = None) -> None:
    """Raises `NotAvailable` with the verdict of `check`, or of `judge`, on the first kernel that is wrong on this GPU."""
    for name in names:
        if not (found := (judge or check)(name, device="cuda")).ok:
            raise NotAvailable(found.verdict)


def call_of(who: str, block_size: int | None = None, **macros: int) -> Call:
    """What computes softmax: "torch", "softmax()", or a kernel of the book, at the block size that it chooses or at this."""
    if who == "torch":
        return lambda x, y: torch.softmax(x, -1, out=y)
    if who == "softmax()":
        return lambda x, y: softmax(x, out=y)
    kernel = find_kernel(who).setting(**macros) if macros else find_kernel(who)
    return lambda x, y: run(kernel, x, out=y, block_size=block_size)


def row_too_long(who: str, cols: int) -> str:
    """Why a kernel of the book takes no row of `cols` elements; "" where it does, and of others."""
    is_able = who not in kernels or kernels[who].legal_block_sizes(cols)
    return "" if is_able else "its block cannot hold such a row"


def sound_calls(
    makes: Mapping[Contender, Callable[[], Call]],
    try_on: Callable[[Contender, Call, Tensor], None],
    sample: Callable[[], Tensor],
    skip: Callable[[Any, str], None],
    names: Callable[[Contender], tuple[Any, Any]],
) -> dict[Contender, Call]:
    """The calls of all that can be had and that `try_on` takes on a sample.

    `skip` hears why of the others: of the first of its `names` where it cannot be had, of the second where it does not take
    this matrix.
    """
    calls, once = {}, cache(sample)
    for one, make in makes.items():
        missing, refused = names(one)
        what = missing
        try:
            call, what = make(), refused
            try_on(one, call, once())
            calls[one] = call
        except NotAvailable as error:
            skip(what, str(error))
        except torch.OutOfMemoryError:
            skip(refused, TOO_LARGE)
    return calls


def time_contest(
    cell: Any,
    ours: Call,
    makes: Mapping[str, Callable[[], Call]],
    try_on: Callable[[str, Call, Tensor], None],
    sample: Callable[[], Tensor],
    skipped: dict[str, str],
    *,
    also: Mapping[str, Call] = MappingProxyType({}),
    backward: bool = False,
) -> dict[str, Any]:
    """What the row of a cell has of times: `{"ours_us", "copy_us", "peers"}`, of the peers that are sound and those `also` there.

    Each is tried on a sample, which is gone before they are timed. Raises `NotAvailable` if we are not sound.
    """
    try_on(OURS, ours, sample())
    sound = sound_calls(
        makes, try_on, sample, skipped.__setitem__, lambda name: (name, f"{name} on {cell}")
    )
    found, copy_us = time_beside_copies(cell.case, {OURS: ours, **sound, **also}, backward)
    us = {name: round(time, 3) for name, time in found.items()}
    return {"ours_us": us.pop(OURS), "copy_us": round(copy_us, 3), "peers": us}


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


def _of_first(call: Call) -> Call:
    return lambda x, y: call(x[0], y)


def time_contenders(cell: Matrix[Any], _skipped: dict[str, str]) -> dict[str, Any]:
    """One matrix: its times, in the order of the contenders, dataclasses that have their `call`."""
    us, copy_us = time_beside_copies(cell.case, {str(one): one.call for one in cell.contenders})
    times = [{**asdict(one), "us": round(us[str(one)], 3)} for one in cell.contenders]
    return cell.row(copy_us, times)


def alternate(
    group: Mapping[Method, Callable[[], float | list[float]]], turns: int = TURNS
) -> dict[Method, list[float]]:
    """The samples of every method, which gives one or several at a time: once untimed, then once a turn, the device idle before it."""
    samples: dict[Method, list[float]] = {told: [] for told in group}
    for turn in range(turns + 1):
        for told, method in group.items():
            torch.cuda.synchronize()
            found = method()
            if turn:
                samples[told] += found if isinstance(found, list) else [found]
    return samples


def samples_of(group: Mapping[Any, Callable[[], float | list[float]]]) -> list[dict[str, Any]]:
    """What a run says of methods that took turns: each dataclass that tells one, and its samples."""
    return [
        {**asdict(told), "us": [round(us, 3) for us in samples]}
        for told, samples in alternate(group).items()
    ]
