"""Benchmarks as one meets them, each with one thing wrong: the page Benchmark lies shows these lines, which are run.

A function is written as such lines are, and its last line hands over what they found: microseconds of one call.
`softmax` takes a matrix, or a matrix and one for the result.
"""

from __future__ import annotations

import inspect
import textwrap
import time
from collections.abc import Callable, Iterator
from statistics import mean, median
from typing import Any

import torch
from torch import Tensor

Softmax = Callable[..., Any]


def events() -> Iterator[torch.cuda.Event]:
    """Two marks for the GPU's queue, which note when they are reached."""
    return (torch.cuda.Event(enable_timing=True) for _ in range(2))


def no_synchronisation(softmax: Softmax, x: Tensor) -> float:
    start = time.perf_counter()
    for _ in range(20):
        softmax(x)
    seconds = time.perf_counter() - start
    us = 1e6 * seconds / 20
    return us


def synchronised(softmax: Softmax, x: Tensor) -> float:
    start = time.perf_counter()
    for _ in range(20):
        softmax(x)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    us = 1e6 * seconds / 20
    return us


def warm_cache(softmax: Softmax, x: Tensor, y: Tensor) -> float:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(100):
            softmax(x, y)
    graph.replay()
    start, end = events()
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    us = 1e3 * start.elapsed_time(end) / 100
    return us


def zeroed_flush(softmax: Softmax, x: Tensor, y: Tensor) -> float:
    flush, times = torch.empty(2**26, device="cuda"), []
    for _ in range(20):
        start, end = events()
        flush.zero_()  # 256 MB, so that nothing of x stays in L2
        start.record()
        softmax(x, y)
        end.record()
        end.synchronize()
        times.append(1e3 * start.elapsed_time(end))
    us = median(times)
    return us


def mean_of_all(softmax: Softmax, x: Tensor) -> tuple[float, list[float]]:
    times = []
    for _ in range(10):
        start, end = events()
        start.record()
        softmax(x)
        end.record()
        end.synchronize()
        times.append(1e3 * start.elapsed_time(end))
    us = mean(times)
    return us, times


def slow_rival(x: Tensor) -> Tensor:
    terms = (x - x.amax(1, keepdim=True)).exp()
    y = terms / terms.sum(1, keepdim=True)
    return y


def lines_of(advertisement: Callable[..., Any]) -> str:
    """What the page shows of one: its lines, without the first and the last."""
    _, body = inspect.getsource(advertisement).split(":\n", 1)
    return textwrap.dedent("\n".join(body.splitlines()[:-1])) + "\n"


SHOWN: dict[str, Callable[..., Any]] = {
    "no synchronisation": no_synchronisation,
    "synchronised": synchronised,
    "warm cache": warm_cache,
    "zeroed flush": zeroed_flush,
    "mean of all": mean_of_all,
    "slow rival": slow_rival,
}
"""By the names that the page has for them."""
