"""Kernels and peers against each other on one matrix: who can run, checked first, then timed together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from softmax_lib.bench import peers, timing
from softmax_lib.bench.timing import COPIES, Call, Timing
from softmax_lib.errors import NotAvailable
from softmax_lib.gpu.facts import today
from softmax_lib.launch import run
from softmax_lib.records.measurement import Case, Measurement
from softmax_lib.records.skips import skipped_case
from softmax_lib.registry import kernels

Skip = Callable[[Case | str, str], None]
"""Hears what is not timed, and why: a peer that is missing, or one case."""

TOO_LARGE = "this shape does not fit into the memory of this GPU"


def time_together(
    cases: Sequence[Case], *, host: bool = False, skipped: Skip = lambda what, reason: None
) -> list[Measurement]:
    """Time `cases`, which differ in provider and block size only, and a copy in one run.

    Each is checked first; who cannot run goes to `skipped`. `host` times an eager call on the host
    too.
    """
    calls = _calls(cases, skipped)
    timings: dict[Case, Timing] = {}
    try:
        calls = _sound(calls, skipped)
        timings = _timings(calls)
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
    copies = [found.median_us for case, found in timings.items() if case.provider in COPIES]
    source = f"live on {torch.cuda.get_device_name()}, {today()}"
    measured = []
    for case, call in calls.items():
        if case not in timings or not copies:
            skipped(skipped_case(case), TOO_LARGE)
            continue
        times = vars(timings[case])
        host_us = timing.time_host(call, case) if host else None
        measured.append(
            Measurement(case, **times, copy_us=min(copies), host_us=host_us, source=source)
        )
    return measured


def _calls(cases: Sequence[Case], skipped: Skip) -> dict[Case, Call]:
    """The calls of all that can be had here."""
    calls = {}
    for case in cases:
        try:
            calls[case] = _call(case)
        except NotAvailable as error:
            skipped(case.provider, str(error))
    return calls


def _call(case: Case) -> Call:
    if case.provider in kernels:
        return lambda x, y: run(case.provider, x, out=y, block_size=case.block_size)
    return peers.peer(case.provider)


def _sound(calls: dict[Case, Call], skipped: Skip) -> dict[Case, Call]:
    """Those of `calls` that run and are right; a kernel that is wrong on purpose need not be."""
    if not calls:
        return {}
    matrix = next(iter(calls))
    sample = torch.randn(matrix.shape, device="cuda").to(getattr(torch, matrix.dtype))
    sound = {}
    for case, call in calls.items():
        try:
            if case.provider not in kernels or kernels[case.provider].flaw is None:
                peers.try_once(case.provider, call, sample)
            sound[case] = call
        except NotAvailable as error:
            skipped(skipped_case(case), str(error))
        except torch.OutOfMemoryError:
            skipped(skipped_case(case), TOO_LARGE)
    return sound


def _timings(calls: dict[Case, Call]) -> dict[Case, Timing]:
    """Times of `calls` and of the copies, without those that do not fit into memory."""
    if not calls:
        return {}
    return timing.time_device({**timing.copies(next(iter(calls))), **calls})
