"""A block's warps between its barriers: who works, who only waits. Read from a trace, which has no time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softmax_lib.engine.source import WARP
from softmax_lib.engine.written import Trace
from softmax_lib.engine.written.structs import Operation
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.launch import trace

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
    """What each warp of the first block does between barriers, as one row of `cols` zeros sends it there.

    Raises what `trace` raises.
    """
    size = kernel.settle_block_size(block_size, cols)
    traced = trace(kernel, np.zeros((1, cols), np.float32), size, grid=1)
    events = traced.events[traced.events["step"] == 0]
    stretch = _stretches(events)
    shape = (-(-size // WARP), int(stretch.max()) + 1)
    lanes = {
        kind: _lanes(events[chosen], stretch[chosen], shape)
        for kind, chosen in zip(KINDS, _chosen(traced, events), strict=True)
    }
    return Timeline(kernel.name, size, lanes)


def _chosen(traced: Trace, events: np.ndarray) -> tuple[np.ndarray, ...]:
    """Which events are of each of `KINDS`."""
    operation = events["operation"]
    of_shared = [i for i, array in enumerate(traced.arrays) if array.is_shared]
    in_shared = np.isin(events["array"], of_shared)
    access = operation <= Operation.ATOMIC
    return access & ~in_shared, access & in_shared, operation >= Operation.SHUFFLE


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


def _lanes(events: np.ndarray, stretch: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    busy = np.zeros((shape[0], WARP, shape[1]), bool)
    busy[events["thread"] // WARP, events["thread"] % WARP, stretch] = True
    return busy.sum(axis=1)
