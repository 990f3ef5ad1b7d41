"""One timing protocol for every kernel and peer.

Device time: a CUDA graph walks through enough input and output pairs to leave the L2 cache cold,
and is replayed between two events; the contenders of one shape take turns, so that a drift of the
clocks meets all of them. A copy of the same size runs among them: what it takes is what the memory
system gives. A call that takes long is timed by itself, after a copy of all pairs has emptied L2 of
its matrices. Host time: one eager call after another, without waiting for the device.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import torch
from torch import Tensor

from softmax_lib.records.measurement import L2, Case, Data
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.launch import run
from softmax_lib.worklog.registry import COPY

Call = Callable[[Tensor, Tensor], object]
"""Computes softmax of its first argument, into the second where it can; a new tensor is returned."""

Contender = TypeVar("Contender")

COPIES = ("torch copy", COPY.name)

REPLAYS = 15
COLD_BY = 10
"""Pairs fill this many times the L2 cache before one of them is used again."""
MOST_PAIRS = 100_000
"""A graph of more calls takes gigabytes."""
LONG_ENOUGH_US = 1000.0
"""A graph holds about this much work, so that the events' own cost vanishes."""
LONG_CALL_US = 5000.0
"""A call that takes so long is timed alone: in a graph it would walk through its pairs for seconds."""
MOST_ROUNDS = 200
"""Walks through all pairs that a graph holds at most."""
ENOUGH_MS = 400.0
"""A contender that has been timed for so long, and five times, sits out the remaining replays."""
HOST_CALLS = 300


@dataclass(frozen=True)
class Timing:
    """Microseconds of one call on the device: median of the replays, and the quartiles around it."""

    median_us: float
    low_us: float
    high_us: float


def copies(case: Case) -> dict[Case, Call]:
    """What `case` is compared with: torch's copy and, where 16 bytes divide the matrix, our kernel."""
    theirs, ours = (replace(case, provider=name, block_size=None, step="") for name in COPIES)
    found: dict[Case, Call] = {theirs: lambda x, y: y.copy_(x)}
    if case.matrix_bytes % 16 == 0:
        found[ours] = lambda x, y: run(COPY, _words(x), out=_words(y), block_size=256)
    return found


def _words(tensor: Tensor) -> Tensor:
    return tensor.view(-1).view(torch.float32).view(1, -1)


def time_device(
    calls: Mapping[Case, Call], inputs: int = 1, replays: int = REPLAYS
) -> dict[Case, Timing]:
    """Device time of each of `calls`, all on one matrix and taking turns in one run, `replays` of them.

    With several `inputs` a call's first argument is that many matrices, one above the other. A call
    for whose results the memory is too small is left out; raises torch's OutOfMemoryError
    when the matrices do not fit. Any other error of a call is the caller's to catch beforehand.
    """
    walk = pairs(next(iter(calls)), inputs)
    graphs = {}
    for case, call in calls.items():
        with contextlib.suppress(torch.OutOfMemoryError):
            graphs[case] = capture(call, walk)
    return time_graphs(graphs, replays)


def time_graphs(
    graphs: Mapping[Contender, Graph], replays: int = REPLAYS
) -> dict[Contender, Timing]:
    """Device time of one call of each, taking turns in one run, `replays` of them."""
    for graph in graphs.values():
        graph.replay()
    elapsed_ms = take_turns(graphs, replays, torch.cuda.synchronize)
    return {one: summary(ms, graphs[one].calls) for one, ms in elapsed_ms.items()}


def replays(calls: Mapping[Case, Call]) -> dict[Case, Callable[[], float]]:
    """For each of `calls` what replays it once on its case's matrix and gives the microseconds of one call.

    Whoever alternates between them times calls on several matrices in one run; cases that differ in
    provider, step and block size only share one. Raises torch's OutOfMemoryError.
    """
    walks: dict[Case, Walk] = {}
    found: dict[Case, Callable[[], float]] = {}
    for case, call in calls.items():
        matrix = replace(case, provider="", block_size=None, step="")
        if matrix not in walks:
            walks[matrix] = pairs(matrix)
        found[case] = capture(call, walks[matrix]).time_us
    return found


def sample(case: Case) -> Tensor:
    """A matrix on the GPU such as `case` is about."""
    x = torch.empty(case.shape, device="cuda", dtype=getattr(torch, case.dtype))
    return _fill(x, case.data)


SCALE = 0.125
"""Of scores, as with 64 numbers a head: a product with it is exact."""


def mask_of(x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """What hides later keys of scores like x, (batches, heads, queries, keys), from all heads alike; made once.

    It is to be added, 0 or -inf, of x's dtype; or bools, True for what is hidden.
    """
    return _mask(x.shape, x.device, dtype or x.dtype)


@lru_cache(maxsize=2)
def _mask(shape: torch.Size, device: torch.device, dtype: torch.dtype) -> Tensor:
    hides = True if dtype is torch.bool else -torch.inf
    return torch.full((shape[0], 1, *shape[2:]), hides, dtype=dtype, device=device).triu_(1)


def time_once(call: Callable[..., object], *given: Any) -> float:
    """Microseconds of one `call` on the device, which has been called before."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call(*given)
    end.record()
    end.synchronize()
    return 1e3 * start.elapsed_time(end)


def time_host(call: Call, case: Case) -> float:
    """Microseconds that the host spends on one eager `call`, the device kept from falling behind."""
    x = sample(case)
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


# ---- how much, how often, in what order: arithmetic that needs no GPU


def pairs_needed(moved_bytes: int, l2_bytes: int, l2: L2 = "cold") -> int:
    """Pairs of inputs and outputs, of so many bytes: one for a hot cache, else enough to push each other out of it.

    Raises `BadInput` where that is more than `MOST_PAIRS`.
    """
    count = 1 if l2 == "hot" else -(-COLD_BY * l2_bytes // moved_bytes)
    if count > MOST_PAIRS:
        least = -(-COLD_BY * l2_bytes // MOST_PAIRS)
        raise BadInput(f"A call that moves {moved_bytes} bytes is too short to time with a cold L2; with more rows it moves the {least} that it takes.")  # fmt: skip
    return count


def rounds_needed(round_us: float) -> int:
    """Walks through all pairs that make a graph long enough, where one takes `round_us`."""
    return max(1, min(MOST_ROUNDS, round(LONG_ENOUGH_US / round_us)))


def take_turns(
    contenders: Mapping[Contender, Any], replays: int, wait: Callable[[], None]
) -> dict[Contender, list[float]]:
    """Milliseconds of every replay: each contender once, then `wait`, then each once more.

    A contender's `replay()` gives two events around what it has queued. One that has been timed for
    `ENOUGH_MS`, and five times, sits out.
    """
    elapsed_ms: dict[Contender, list[float]] = {case: [] for case in contenders}
    for _ in range(replays):
        marks = {
            case: contenders[case].replay()
            for case, ms in elapsed_ms.items()
            if len(ms) < 5 or sum(ms) <= ENOUGH_MS
        }
        wait()
        for case, (start, end) in marks.items():
            elapsed_ms[case].append(start.elapsed_time(end))
    return elapsed_ms


def summary(elapsed_ms: list[float], calls: int) -> Timing:
    """Median and quartiles of one call, where a replay has `calls` of them."""
    low, median, high = (1e3 * ms / calls for ms in statistics.quantiles(elapsed_ms, n=4))
    return Timing(median, low, high)


# ---- on the GPU


SPREAD = 60.0


def _fill(x: Tensor, data: Data) -> Tensor:
    """Put into `x` what `data` says, from a seed."""
    seeded = torch.Generator("cuda").manual_seed(0)
    x.normal_(0, SPREAD if data == "spread" else 1, generator=seeded)
    if data == "masked":
        mask = torch.empty(x.shape, device="cuda", dtype=torch.bool)
        x.masked_fill_(mask.bernoulli_(0.5, generator=seeded), -torch.inf)
    elif data in ("ascending", "descending"):
        x.copy_(torch.sort(x, dim=-1, descending=data == "descending")[0])
    elif data == "equal":
        x.fill_(1)
    elif data == "in steps":
        x.sigmoid_().add_(torch.arange(x.shape[-1], device="cuda") // 512)
    return x


@dataclass(frozen=True)
class Walk:
    """What calls read and write, one after the other; `empty_l2` leaves nothing of the first ones there."""

    xs: list
    ys: list
    empty_l2: Callable[[], object] = lambda: None


def pairs(case: Case, inputs: int = 1) -> Walk:
    """Inputs and outputs of a case, each at a multiple of 512 bytes, as by an allocation of its own."""
    dtype = getattr(torch, case.dtype)
    l2_bytes = torch.cuda.get_device_properties().L2_cache_size
    count = pairs_needed((inputs + 1) * case.matrix_bytes, l2_bytes, case.l2)
    stride = -(-case.matrix_bytes // 512) * 512 // dtype.itemsize
    every = torch.empty(inputs + 1, count, stride, device="cuda", dtype=dtype)
    matrices = every[:, :, : case.rows * case.cols].unflatten(2, case.shape)
    _fill(matrices[:-1], case.data)
    xs, ys = list(matrices[0] if inputs == 1 else matrices[:-1].transpose(0, 1)), list(matrices[-1])
    if count == 1:
        return Walk(xs, ys)
    return Walk(xs, ys, lambda: every[-1].copy_(every[0]))  # of which L2 holds the last ones then


@dataclass(frozen=True)
class Graph:
    """A graph of `calls` calls along a walk, or of one long call behind an empty L2.

    `walk` and `results` are kept alive: what reused the results' memory would hit L2.
    """

    graph: torch.cuda.CUDAGraph
    calls: int
    walk: Walk
    results: list
    is_long: bool

    def replay(self) -> tuple[torch.cuda.Event, torch.cuda.Event]:
        """Queue it once; events around it."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._prepare()
        start.record()
        self.graph.replay()
        end.record()
        return start, end

    def time_us(self) -> float:
        """Microseconds of one call in one replay."""
        self._prepare()
        return time_once(self.graph.replay) / self.calls

    def _prepare(self) -> None:
        if self.is_long:
            self.walk.empty_l2()


def capture(call: Callable[[Any, Any], object], walk: Walk) -> Graph:
    """A graph of calls over all pairs, as many times as make it long enough; or of one long call."""
    steps = list(zip(walk.xs, walk.ys, strict=True))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call(*steps[0])
        is_long = time_once(call, *steps[0]) > LONG_CALL_US
        if is_long:
            steps = steps[:1]
        rounds = 1 if is_long else rounds_needed(_round_us(call, steps))
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = [call(x, y) for x, y in steps * rounds]
    return Graph(graph, len(results), walk, results, is_long)


def _round_us(call: Callable[[Any, Any], object], steps: list[tuple[Any, Any]]) -> float:
    """About how many microseconds all of `steps` take, from up to 100 of them."""
    some = steps[:100]

    def take() -> None:
        for x, y in some:
            call(x, y)

    return time_once(take) / len(some) * len(steps)
