"""The lies of the page Benchmark lies: the advertised method, controls with one thing changed, and this book's protocol.

A lie's methods come in groups. Those of one group take turns in one run, on matrices that are there together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from statistics import median
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from softmax_lib.gpu.facts import peak_gb_per_s
from softmax_lib.records.measurement import L2, Case, Data
from softmax_lib.suites import timing
from softmax_lib.suites.cells import (
    Progress,
    call_of,
    require_right,
    run_cells,
    samples_of,
    sound_calls,
)
from softmax_lib.suites.lies import advertisements
from softmax_lib.suites.lies.record import ADVERTISED, LIES, PROTOCOL, Lie, Told
from softmax_lib.suites.peers import providers
from softmax_lib.suites.timing import Call
from softmax_lib.worklog.registry import kernels

WORDS = (
    "Microseconds of one call, every sample: the methods of one group take turns in one run. 'protocol' is one "
    "replay of a CUDA graph, L2 cold, as in all of this book."
)
LARGE = (1024, 32768)
"""The worklog's matrix, of 128 MiB."""
SMALL = (1024, 4096)
"""With its result 32 MiB, which the L2 of an H200 holds."""
WARM_ROWS = tuple(2**power for power in range(6, 14))
"""Of 4096 floats: from 1 MiB, which every L2 holds, to 128, which none does."""
FLUSH_FLOATS = 2**26
WAIT_CYCLES = 200_000
"""About as long as such a flush takes, so that Python is ahead of the GPU here too."""
SHAPES = tuple((2**25 // cols, cols) for cols in (2**power for power in range(5, 16)))
DATA: tuple[Data, ...] = ("normal", "equal", "spread", "masked")
OURS = ("fusion", "shuffle", "shuffle_divide")
CALLS: dict[str, Call] = {
    "copy": lambda x, y: y.copy_(x),
    "five operations": lambda x, y: advertisements.slow_rival(x),
    **{name: call_of(name) for name in ("torch", *OURS)},
}


Method = Callable[[], float | list[float]]
"""Measures once and gives its samples, or one, each in microseconds of one call."""
Group = dict[Told, Method]
Skipped = dict[str, str]


def no_synchronisation(_skipped: Skipped) -> Iterator[Group]:
    """The clock stops when the calls are queued, or when they are done."""
    x, softmax = timing.sample(Case("torch", *LARGE)), partial(torch.softmax, dim=-1)
    by = {
        ADVERTISED: advertisements.no_synchronisation,
        "synchronised": advertisements.synchronised,
    }
    of = {Told("torch", name, *LARGE): partial(how, softmax, x) for name, how in by.items()}
    yield {**_by_protocol(("torch",), LARGE), **of}


def warm_cache(_skipped: Skipped) -> Iterator[Group]:
    """By the size of the matrix: one pair of input and output, and as many as L2 does not hold."""
    for rows in WARM_ROWS:
        shape = rows, SMALL[1]
        one = _replays({Told("fusion", "one pair", *shape): CALLS["fusion"]}, "hot")
        group = {**_by_protocol(("fusion",), shape), **one}
        if shape == SMALL:
            method = partial(advertisements.warm_cache, CALLS["fusion"], *_pair(*SMALL))
            group[Told("fusion", ADVERTISED, *SMALL)] = method
        yield group


def zeroed_flush(_skipped: Skipped) -> Iterator[Group]:
    """Before each call something writes or reads, zeros or noise, more than L2 holds; or only waits."""
    fusion, pair = CALLS["fusion"], _pair(*SMALL)
    written, zeros = (torch.zeros(FLUSH_FLOATS, device="cuda") for _ in range(2))
    noise = torch.randn(FLUSH_FLOATS, device="cuda")

    def write_then_read() -> None:
        written.zero_()
        noise.amax()

    flushes: dict[str, Callable[[], object]] = {
        "writes zeros": written.zero_,
        "writes, then reads": write_then_read,
        "writes noise": written.normal_,
        "reads zeros": zeros.amax,
        "reads noise": noise.amax,
        "waits": lambda: torch.cuda._sleep(WAIT_CYCLES),
    }
    group = _by_protocol(("fusion",), SMALL)
    method = partial(advertisements.zeroed_flush, fusion, *pair)
    group[Told("fusion", ADVERTISED, *SMALL)] = method
    for name, flush in flushes.items():
        group[Told("fusion", name, *SMALL)] = partial(_after, flush, fusion, *pair)
    yield group


def _after(flush: Callable[[], object], softmax: Call, x: Tensor, y: Tensor) -> float:
    """Median of 20 calls, each after `flush`: as advertised, but for what flushes."""
    times = []
    for _ in range(20):
        flush()
        times.append(timing.time_once(softmax, x, y))
    return median(times)


def mean_of_all(_skipped: Skipped) -> Iterator[Group]:
    """One function under two names, one after the other; and with the result's memory there beforehand."""
    x, softmax = timing.sample(Case("torch", *LARGE)), partial(torch.softmax, dim=-1)

    def calls(softmax: Callable[..., Any]) -> list[float]:
        return advertisements.mean_of_all(softmax, x)[1]

    def first(softmax: Callable[..., Any]) -> list[float]:
        torch.cuda.empty_cache()
        return calls(softmax)

    group = _by_protocol(("torch",), LARGE)
    group[Told("torch", "theirs, first", *LARGE)] = partial(first, softmax)
    group[Told("torch", "ours, second", *LARGE)] = partial(calls, softmax)
    group[Told("torch", "with memory", *LARGE)] = lambda: first(
        partial(softmax, out=torch.empty_like(x))
    )
    yield group


def slow_rival(skipped: Skipped) -> Iterator[Group]:
    """Five operations, the same compiled, and those that others have written for this."""
    names = ("five operations", "torch", "fusion", "copy")
    yield _by_protocol(names, LARGE, _others(skipped))


def _others(skipped: Skipped) -> dict[str, Call]:
    """Those that are installed here and right."""
    compiled = partial(providers.compiled, lambda x, y: advertisements.slow_rival(x))
    return sound_calls(
        {"torch.compile": compiled, "triton-tile": partial(providers.peer, "triton-tile")},
        providers.try_once,
        partial(timing.sample, Case("torch", *LARGE)),
        skipped.__setitem__,
        lambda name: (name, f"{name} on this matrix"),
    )


def one_shape(_skipped: Skipped) -> Iterator[Group]:
    """Matrices of as many floats, by the length of their rows."""
    for shape in SHAPES:
        yield _by_protocol(("fusion", "torch"), shape)


def easy_data(_skipped: Skipped) -> Iterator[Group]:
    """The same matrix with other numbers in it; `shuffle` is `shuffle_divide` without its divisions."""
    who = ("shuffle_divide", "shuffle", "torch", "fusion")
    asked = {Told(name, PROTOCOL, *LARGE, kind): CALLS[name] for kind in DATA for name in who}
    yield _replays(asked)


GROUPS: dict[Lie, Callable[[Skipped], Iterator[Group]]] = {
    "no synchronisation": no_synchronisation,
    "warm cache": warm_cache,
    "zeroed flush": zeroed_flush,
    "mean of all": mean_of_all,
    "slow rival": slow_rival,
    "one shape": one_shape,
    "easy data": easy_data,
}
"""For each lie its groups, each made when the one before has been measured; who is missing is told."""


def _by_protocol(
    names: tuple[str, ...], shape: tuple[int, int], also: Mapping[str, Call] = MappingProxyType({})
) -> Group:
    calls = {**{name: CALLS[name] for name in names}, **also}
    return _replays({Told(name, PROTOCOL, *shape): call for name, call in calls.items()})


def _replays(asked: Mapping[Told, Call], l2: L2 = "cold") -> Group:
    """Each call by replays of a graph, with a cold or a hot L2."""
    cases = {told: Case(told.who, told.rows, told.cols, l2=l2, data=told.data) for told in asked}
    found = timing.replays({cases[told]: call for told, call in asked.items()})
    return {told: found[case] for told, case in cases.items()}


def _pair(rows: int, cols: int) -> tuple[Tensor, Tensor]:
    x = timing.sample(Case("fusion", rows, cols))
    return x, torch.empty_like(x)


def run_suite(progress: Progress, lies: tuple[Lie, ...] = LIES) -> dict[str, Any]:
    """All lies, or some, measured on this GPU, as JSON has it.

    `rows` has for each lie `{"lie", "times": [{"who", "method", "rows", "cols", "data", "us": [...]}]}`, where the
    microseconds are of single samples in their order; `advertisements` has the lines that were run, by their names,
    `peak_gb_per_s` what the memory could move at most, where the driver says so, and `digests` what was compiled; the
    rest is as in `cells.run_cells`. Raises `NotAvailable` where a kernel is wrong here.
    """
    require_right(OURS)
    timed = run_cells(lies, time_lie, progress)
    shown = {name: advertisements.lines_of(one) for name, one in advertisements.SHOWN.items()}
    digests = {name: kernels[name].digest for name in OURS}
    peak = {"peak_gb_per_s": peak_gb_per_s()}
    return {"protocol": WORDS, **timed, **peak, "advertisements": shown, "digests": digests}


def time_lie(lie: Lie, skipped: dict[str, str]) -> dict[str, Any]:
    """One lie: the samples of all its methods; who cannot run is told to `skipped`."""
    times = []
    for group in GROUPS[lie](skipped):
        times += samples_of(group)
        group.clear()  # its matrices, before the next has its own
    return {"lie": lie, "times": times}
