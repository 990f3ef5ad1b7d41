"""Kernels and peers against each other on one matrix: who can run, checked first, then timed together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from softmax_lib.bench import peers
from softmax_lib.bench import timing as benchmark
from softmax_lib.bench.timing import COPIES, L2, Call, Contender, Timing
from softmax_lib.errors import NotAvailable
from softmax_lib.gpu.facts import today
from softmax_lib.launch import run
from softmax_lib.records.record import Measurement
from softmax_lib.registry import kernels

Skipped = Callable[[str, str], None]
"""Hears what is not timed, and why: a peer that is missing, or one shape of one contender."""

TOO_LARGE = "this shape does not fit into the memory of this GPU"


def time_shape(
    contenders: Sequence[Contender],
    rows: int,
    cols: int,
    *,
    dtype: str = "float32",
    l2: L2 = "cold",
    host: bool = False,
    skipped: Skipped = lambda what, reason: None,
) -> list[Measurement]:
    """Time all contenders and a copy in one run, each checked first; who cannot run goes to `skipped`.

    `host` times an eager call on the host too.
    """
    kind = getattr(torch, dtype)
    calls = _calls(contenders, skipped)
    skip_shape: Skipped = lambda name, why: skipped(f"{name} ({rows}, {cols}) {dtype}", why)  # noqa: E731
    timings: dict[Contender, Timing] = {}
    try:
        calls = _sound(calls, rows, cols, kind, skip_shape)
        timings = _timings(calls, rows, cols, kind, l2)
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
    copies = [timing.median_us for (name, _), timing in timings.items() if name in COPIES]
    source = f"live on {torch.cuda.get_device_name()}, {today()}"
    found = []
    for (name, size), call in calls.items():
        if (name, size) not in timings or not copies:
            skip_shape(name, TOO_LARGE)
            continue
        timing = timings[name, size]
        host_us = benchmark.time_host(call, rows, cols, kind) if host else None
        times = (timing.median_us, timing.low_us, timing.high_us, min(copies), host_us)
        found.append(Measurement(name, rows, cols, dtype, size, l2, *times, source=source))
    return found


def _calls(contenders: Sequence[Contender], skipped: Skipped) -> dict[Contender, Call]:
    """The calls of all contenders that can be had here."""
    calls = {}
    for name, block_size in contenders:
        try:
            calls[name, block_size] = _call(name, block_size)
        except NotAvailable as error:
            skipped(name, str(error))
    return calls


def _call(name: str, block_size: int | None) -> Call:
    if name in kernels:
        return lambda x, y: run(name, x, out=y, block_size=block_size)
    return peers.peer(name)


def _sound(
    calls: dict[Contender, Call], rows: int, cols: int, kind: torch.dtype, skipped: Skipped
) -> dict[Contender, Call]:
    """Those of `calls` that run and are right; a kernel that is wrong on purpose need not be."""
    sample = torch.randn(rows, cols, device="cuda").to(kind)
    sound = {}
    for (name, block_size), call in calls.items():
        try:
            if name not in kernels or kernels[name].flaw is None:
                peers.try_once(name, call, sample)
            sound[name, block_size] = call
        except NotAvailable as error:
            skipped(name, str(error))
        except torch.OutOfMemoryError:
            skipped(name, TOO_LARGE)
    return sound


def _timings(
    calls: dict[Contender, Call], rows: int, cols: int, kind: torch.dtype, l2: L2
) -> dict[Contender, Timing]:
    """Times of `calls` and of the copies, without those that do not fit into memory."""
    if not calls:
        return {}
    with_copies = {**benchmark.copies(rows, cols, kind), **calls}
    return benchmark.time_device(with_copies, rows, cols, dtype=kind, l2=l2)
