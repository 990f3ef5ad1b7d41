"""What the threads of one block do to each other's values, step by step, and which warps only wait: read from a trace."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softmax_lib.engine.source import WARP, Source
from softmax_lib.engine.written import Event, Trace
from softmax_lib.engine.written.structs import Operation
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.kernel import POWERS_OF_TWO, Kernel
from softmax_lib.worklog.launch import run, trace
from softmax_lib.worklog.registry import resolve


@dataclass(frozen=True)
class OnlineStep:
    """The online recurrence once `value` has been read: maxima, sums and the correction factor.

    `old_max` is -inf and `old_sum` 0 before the first value that is not -inf.
    """

    value: float
    old_max: float
    new_max: float
    old_sum: float
    new_sum: float

    @property
    def correction(self) -> float:
        """What the old sum is multiplied by: exp(old_max - new_max), 0 before there is a maximum."""
        return 0.0 if math.isinf(self.old_max) else math.exp(self.old_max - self.new_max)

    @property
    def rescales(self) -> bool:
        """Whether a new maximum makes a sum smaller that is not 0."""
        return 0 < self.correction < 1

    @property
    def term(self) -> float:
        """What is added: exp(value - new_max), 0 for a value of -inf."""
        return 0.0 if math.isinf(self.value) else math.exp(self.value - self.new_max)


def online_steps(values: Sequence[float]) -> list[OnlineStep]:
    """A step a value, from `online` run in the emulator on each prefix of the row.

    The kernel keeps maximum and sum in registers; its output gives them away: the largest element
    of softmax is exp(0) / sum. While all values are -inf the output is NaN, and the sum 0.
    """
    row = _row(values, masked=True)
    steps, old_max, old_sum = [], -math.inf, 0.0
    for end in range(1, row.shape[1] + 1):
        prefix = np.ascontiguousarray(row[:, :end])
        y = run("online", prefix)[0]
        new_max = float(prefix[0, y.argmax()])
        new_sum = 0.0 if math.isinf(new_max) else 1.0 / float(y.max())
        steps.append(OnlineStep(float(row[0, end - 1]), old_max, new_max, old_sum, new_sum))
        old_max, old_sum = new_max, new_sum
    return steps


@dataclass(frozen=True)
class SharedStep:
    """Shared memory between two barriers: what it held, who read and wrote which element, what it holds.

    `reads` and `writes` are indices by thread; an element that nobody has written yet is None.
    """

    before: tuple[float | None, ...]
    after: tuple[float | None, ...]
    reads: dict[int, tuple[int, ...]]
    writes: dict[int, int]


def shared_steps(traced: Trace) -> list[SharedStep]:
    """What happens to the first shared array, a step for each stretch between barriers.

    The last one is the first in which all warps read it and none writes: the end of a block's first
    reduction. `traced` is of one block. Raises `BadInput` where there is none.
    """
    array = next((array for array in traced.arrays if array.is_shared), None)
    if array is None:
        raise BadInput("This kernel has no array in shared memory.")
    every_warp = set(range(-(-traced.block_size // traced.warp_size)))
    held: list[float | None] = [None] * array.elements
    steps = []
    for stretch in between_barriers(traced):
        before = tuple(held)
        reads: dict[int, tuple[int, ...]] = {}
        writes: dict[int, int] = {}
        for event in stretch:
            if event.array != array.name or event.element is None:
                continue
            if event.operation == "store":
                writes[event.thread] = event.element
                held[event.element] = event.value[0]
            else:
                reads[event.thread] = (*reads.get(event.thread, ()), event.element)
        steps.append(SharedStep(before, tuple(held), reads, writes))
        if not writes and {thread // traced.warp_size for thread in reads} == every_warp:
            return steps
    raise BadInput("This kernel has no reduction whose result every warp reads.")


@dataclass(frozen=True)
class Exchange:
    """One shuffle, by thread: what a lane gave, from which thread it received what."""

    given: dict[int, float]
    sources: dict[int, int]
    received: dict[int, float]


def exchanges(stretch: Sequence[Event], warp_size: int) -> list[Exchange]:
    """The shuffles of all warps between two barriers, in order; each warp makes as many."""
    by_thread: defaultdict[int, list[Event]] = defaultdict(list)
    for event in stretch:
        if event.operation.startswith("shuffle"):
            by_thread[event.thread].append(event)
    return [
        Exchange(
            {event.thread: event.value[0] for event in together},
            {e.thread: e.thread // warp_size * warp_size + (e.source_lane or 0) for e in together},
            {event.thread: event.received or 0.0 for event in together},
        )
        for together in zip(*by_thread.values(), strict=True)
    ]


def between_barriers(traced: Trace) -> list[list[Event]]:
    """The first block's events, one list for each stretch between barriers of the block."""
    stretches: defaultdict[int, list[Event]] = defaultdict(list)
    passed: Counter[int] = Counter()
    for event in traced:
        if event.block == 0 and event.operation == "barrier":
            passed[event.thread] += 1
        elif event.block == 0:
            stretches[passed[event.thread]].append(event)
    return [stretches[number] for number in range(max(stretches, default=0) + 1)]


def trace_row(kernel_or_source: str | Source, values: Sequence[float], warp_size: int) -> Trace:
    """Trace a kernel on one row, a thread a value, in warps of `warp_size` lanes.

    Raises `BadInput` for a number of values that is no block of such warps, and what `trace` raises.
    """
    row, kernel = _row(values), resolve(kernel_or_source)
    threads = row.shape[1]
    warp_size = min(warp_size, threads)
    if threads % warp_size:
        raise BadInput(f"{threads} values, one per thread, do not fill warps of {warp_size} lanes.")
    if kernel.block_sizes == POWERS_OF_TWO and threads & (threads - 1):
        raise BadInput(f"{kernel.name} halves its block: give it 2, 4 or 8 values, not {threads}.")
    return trace(kernel, row, threads, warp_size)


def _row(values: Sequence[float], masked: bool = False) -> np.ndarray:
    """They as a matrix of one row; where it may be `masked` some are -inf."""
    row = np.array([list(values)], np.float32)
    if not row.size or not (np.isfinite(row) | (masked & np.isneginf(row))).all():
        raise BadInput("A stepper needs at least one value, and finite ones.")
    return row


# ---- who works between barriers

KINDS = ("global memory", "shared memory", "shuffles")
"""Kinds of work; votes count among the shuffles."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """Lanes of each warp that do something in each stretch between barriers.

    `lanes[kind]` is an array of shape (warps, stretches), for each of `KINDS`.
    """

    kernel: str
    block_size: int
    lanes: dict[str, np.ndarray]

    @property
    def shape(self) -> tuple[int, int]:
        """Warps, and stretches: the first before any barrier and the last after all of them."""
        warps, stretches = self.lanes[KINDS[0]].shape
        return warps, stretches

    @property
    def working(self) -> np.ndarray:
        """Warps of which any lane does something, by stretch."""
        return np.count_nonzero(np.add.reduce(list(self.lanes.values())), axis=0)


def read_timeline(kernel: Kernel, cols: int, block_size: int | None = None) -> Timeline:
    """What each warp of the first block does between barriers on one row of `cols` zeros. Raises what `trace` does."""
    size = kernel.settle_block_size(block_size, cols)
    traced = trace(kernel, np.zeros((1, cols), np.float32), size, grid=1)
    events = traced.events[traced.events["step"] == 0]
    stretch = _stretches(events)
    operation, threads = events["operation"], events["thread"]
    of_shared = [i for i, array in enumerate(traced.arrays) if array.is_shared]
    in_shared = np.isin(events["array"], of_shared)
    access = operation <= Operation.ATOMIC
    kinds = (access & ~in_shared, access & in_shared, operation >= Operation.SHUFFLE)
    lanes = {}
    for kind, chosen in zip(KINDS, kinds, strict=True):
        busy = np.zeros((-(-size // WARP), WARP, int(stretch.max()) + 1), bool)
        busy[threads[chosen] // WARP, threads[chosen] % WARP, stretch[chosen]] = True
        lanes[kind] = busy.sum(axis=1)
    return Timeline(kernel.name, size, lanes)


def _stretches(events: np.ndarray) -> np.ndarray:
    """How many barriers the event's own thread had passed before it."""
    order = np.argsort(events["thread"], kind="stable")
    operation = events["operation"]
    is_barrier = (operation >= Operation.BARRIER) & (operation < Operation.SYNCWARP)
    passed: np.ndarray = np.cumsum(is_barrier[order]) - is_barrier[order]
    threads = events["thread"][order]
    first = np.searchsorted(threads, threads)
    stretch = np.empty(len(events), np.int64)
    stretch[order] = passed - passed[first]
    return stretch
