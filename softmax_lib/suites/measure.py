"""Measured numbers: `measure` takes them live on a GPU, and elsewhere replays what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Unpack, cast, overload

from softmax_lib.engine.source import Source
from softmax_lib.engine.whole_numbers import whole
from softmax_lib.gpu.presence import has_gpu
from softmax_lib.records.measurement import L2, Case, Measurement
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.suites.rmsnorm.record import OperatorTimes
from softmax_lib.worklog.errors import BadInput, NotAvailable, WrongType
from softmax_lib.worklog.operators import (
    Grid,
    Operator,
    OperatorWords,
    Reference,
    Threads,
    read_operator,
    threads_of,
)
from softmax_lib.worklog.registry import kernels


@overload
def measure(
    kernel_or_peer: str,
    rows: int,
    cols: int,
    *,
    dtype: str = "float32",
    block_size: int | None = None,
    l2: L2 = "cold",
    gpu: str | None = None,
) -> Measurement: ...


@overload
def measure(
    kernel_or_peer: str | Path | Source,
    rows: int,
    cols: int,
    *,
    block_size: Threads | None = None,
    reference: Reference,
    grid: Grid | None = None,
    beside: Mapping[str, Callable[..., Any]] | None = None,
    **operator: Unpack[OperatorWords],
) -> OperatorTimes: ...


def measure(
    kernel_or_peer: Any,
    rows: int,
    cols: int,
    *,
    dtype: str = "float32",
    block_size: Threads | None = None,
    l2: L2 = "cold",
    gpu: str | None = None,
    reference: Reference | None = None,
    grid: Grid | None = None,
    beside: Mapping[str, Callable[..., Any]] | None = None,
    **operator: Any,
) -> Measurement | OperatorTimes:
    """Time of a kernel or peer on a (rows, cols) matrix: live on a GPU, else as recorded.

    With a `reference` it is any operator on rows, in the words of `check`: live alone, checked first, and in one run
    with a copy of as many bytes and the functions `beside` it, each of some of the kernel's parameters by name, which
    it gets as CUDA tensors: `beside={"torch": lambda x, weight: ...}`.

    Without `block_size` a kernel meets its own choice live, and the best one recorded; peers have
    none. `gpu` asks for what was recorded on that one. The result's `source` says where it comes from. Raises `WrongType`, `BadInput` for a
    case that was never recorded, and live for a matrix so small that L2 never gets cold (`l2="hot"` takes any), `NotAvailable` when
    a peer is missing or the matrix does not fit, and what `run` raises for a launch that the kernel does not take.
    """
    if reference is not None:
        words = {"dtype": dtype, **operator}
        mine = read_operator(
            kernel_or_peer, reference, grid, block_size, cast(OperatorWords, words)
        )
        return _measure_operator(mine, whole("rows", rows), whole("cols", cols), beside)
    if operator or grid is not None or beside is not None:
        raise BadInput("An operator needs its reference: a function that computes it in float64.")
    for what, word in {"A kernel or peer": kernel_or_peer, "gpu": gpu or ""}.items():
        if not isinstance(word, str):
            raise WrongType(f"{what} is a {type(word).__name__}; it is given by its name.")
    rows, cols = whole("rows", rows), whole("cols", cols)
    threads = threads_of(block_size)
    is_live = gpu is None and has_gpu()
    if kernel_or_peer in kernels:
        own = kernels[kernel_or_peer].settle_block_size(threads, cols)
        threads = own if is_live else threads
    case = Case(kernel_or_peer, rows, cols, dtype, threads, l2)
    if is_live:
        return _live(case)
    return recorded(gpu or DEFAULT_GPU).find(case)


def _measure_operator(
    operator: Operator,
    rows: int,
    cols: int,
    beside: Mapping[str, Callable[..., Any]] | None,
) -> OperatorTimes:
    if not has_gpu():
        raise NotAvailable(
            f"There is no GPU here to time {operator.name} on; check and xray run without one."
        )
    from softmax_lib.suites.rmsnorm.measure import measure_operator

    return measure_operator(operator, rows, cols, beside or {})


def _live(case: Case) -> Measurement:
    from softmax_lib.suites.together import time_together

    reasons: list[str] = []
    timings = time_together([case], skipped=lambda _, reason: reasons.append(reason))
    if not timings:
        raise NotAvailable(reasons[0])
    return timings[0]
