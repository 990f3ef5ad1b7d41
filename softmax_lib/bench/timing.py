"""One timing protocol for every kernel and peer.

Device time: a CUDA graph walks through enough input and output pairs to leave the L2 cache cold,
and is replayed between two events; the contenders of one shape take turns, so that a drift of the
clocks meets all of them. A copy of the same size runs among them: what it takes is what the memory
system gives. Host time: one eager call after another, without waiting for the device.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from softmax_lib.launch import run
from softmax_lib.registry import COPY

L2 = Literal["cold", "hot"]
Call = Callable[[Tensor, Tensor], object]
"""Computes softmax of its first argument, into the second where it can; a new tensor is returned."""

Contender = tuple[str, int | None]
"""Who is timed: a kernel and its block size, or a peer or a copy and None."""

COPIES = ("torch copy", "copy")

REPLAYS = 15
COLD_BY = 10
"""Pairs fill this many times the L2 cache before one of them is used again."""
LONG_ENOUGH_US = 1000.0
"""A graph holds about this much work, so that the events' own cost vanishes."""
ENOUGH_MS = 400.0
"""A contender that has been timed for so long, and five times, sits out the remaining replays."""
HOST_CALLS = 300


@dataclass(frozen=True)
class Timing:
    """Microseconds of one call on the device: median of the replays, and the quartiles around it."""

    median_us: float
    low_us: float
    high_us: float

    @property
    def spread(self) -> float:
        """Distance of the quartiles as a share of the median."""
        return (self.high_us - self.low_us) / self.median_us


def gb_per_s(rows: int, cols: int, itemsize: int, time_us: float) -> float:
    """Bandwidth that one read and one write of the matrix make in `time_us`, in 10^9 bytes a second."""
    return 2 * rows * cols * itemsize / time_us / 1e3


def copies(rows: int, cols: int, dtype: torch.dtype) -> dict[Contender, Call]:
    """The contenders for the floor: torch's copy and, where 16 bytes divide the matrix, our kernel."""
    theirs, ours = ((name, None) for name in COPIES)
    found: dict[Contender, Call] = {theirs: lambda x, y: y.copy_(x)}
    if rows * cols * dtype.itemsize % 16 == 0:
        found[ours] = lambda x, y: run(COPY, _words(x), out=_words(y), block_size=256)
    return found


def _words(tensor: Tensor) -> Tensor:
    return tensor.view(-1).view(torch.float32).view(1, -1)


def time_device(
    calls: Mapping[Contender, Call],
    rows: int,
    cols: int,
    *,
    dtype: torch.dtype = torch.float32,
    l2: L2 = "cold",
    replays: int = REPLAYS,
) -> dict[Contender, Timing]:
    """Device time of each of `calls` on a (rows, cols) matrix, all taking turns in one run.

    A call for whose results the memory is too small is left out; raises torch's OutOfMemoryError
    when the matrices do not fit. Any other error of a call is the caller's to catch beforehand.
    """
    xs, ys = _pairs(rows, cols, dtype, l2)
    graphs = {}
    for name, call in calls.items():
        with contextlib.suppress(torch.OutOfMemoryError):
            graphs[name] = _capture(call, xs, ys)
    for graph, _, _ in graphs.values():
        graph.replay()
    elapsed_ms: dict[Contender, list[float]] = {name: [] for name in graphs}
    for _ in range(replays):
        marks = {
            name: _replay(graphs[name][0]) for name, ms in elapsed_ms.items() if not _is_enough(ms)
        }
        torch.cuda.synchronize()
        for name, (start, end) in marks.items():
            elapsed_ms[name].append(start.elapsed_time(end))
    return {name: _summary(ms, graphs[name][1]) for name, ms in elapsed_ms.items()}


def time_host(call: Call, rows: int, cols: int, dtype: torch.dtype = torch.float32) -> float:
    """Microseconds that the host spends on one eager `call`, the device kept from falling behind."""
    x = torch.randn(rows, cols, device="cuda").to(dtype)
    y = torch.empty_like(x)
    spent = []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(HOST_CALLS):
            call(x, y)
        spent.append((time.perf_counter() - start) / HOST_CALLS * 1e6)
    torch.cuda.synchronize()
    return statistics.median(spent)


def _pairs(rows: int, cols: int, dtype: torch.dtype, l2: L2) -> tuple[list[Tensor], list[Tensor]]:
    count = 1
    if l2 == "cold":
        cache = torch.cuda.get_device_properties().L2_cache_size
        count = -(-COLD_BY * cache // (2 * rows * cols * dtype.itemsize))
    # each matrix starts at a multiple of 512 bytes, as an allocation of its own would
    stride = -(-rows * cols * dtype.itemsize // 512) * 512 // dtype.itemsize
    both = torch.empty(2, count, stride, device="cuda", dtype=dtype)
    both[0].normal_(generator=torch.Generator("cuda").manual_seed(0))
    matrices = both[:, :, : rows * cols].unflatten(2, (rows, cols))
    return list(matrices[0]), list(matrices[1])


def _capture(
    call: Call, xs: list[Tensor], ys: list[Tensor]
) -> tuple[torch.cuda.CUDAGraph, int, list]:
    """A graph of calls over all pairs, how many calls it holds, and the results it must keep alive."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call(xs[0], ys[0])
        rounds = _rounds(call, xs, ys)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph, results = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        for _ in range(rounds):
            # a result that was dropped would have its memory, still in L2, used by the next call
            results += [call(x, y) for x, y in zip(xs, ys, strict=True)]
    return graph, rounds * len(xs), results


def _rounds(call: Call, xs: list[Tensor], ys: list[Tensor]) -> int:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    pairs = list(zip(xs, ys, strict=True))[:100]
    start.record()
    for x, y in pairs:
        call(x, y)
    end.record()
    end.synchronize()
    graph_us = 1e3 * start.elapsed_time(end) / len(pairs) * len(xs)
    return max(1, min(200, round(LONG_ENOUGH_US / graph_us)))


def _replay(graph: torch.cuda.CUDAGraph) -> tuple[torch.cuda.Event, torch.cuda.Event]:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    graph.replay()
    end.record()
    return start, end


def _is_enough(elapsed_ms: list[float]) -> bool:
    return len(elapsed_ms) >= 5 and sum(elapsed_ms) > ENOUGH_MS


def _summary(elapsed_ms: list[float], calls: int) -> Timing:
    low, median, high = (1e3 * ms / calls for ms in statistics.quantiles(elapsed_ms, n=4))
    return Timing(median, low, high)
