"""Kernels and peers against each other on one matrix: who can run, checked first, then timed together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import torch
from torch import Tensor

from softmax_lib.gpu.facts import today
from softmax_lib.records.measurement import Case, Measurement
from softmax_lib.records.record import skipped_case
from softmax_lib.suites import timing
from softmax_lib.suites.cells import TOO_LARGE, sound_calls
from softmax_lib.suites.peers import providers
from softmax_lib.suites.timing import COPIES, Call, Timing
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.launch import run
from softmax_lib.worklog.registry import kernels

Skip = Callable[[Case | str, str], None]
"""Hears what is not timed, and why: a peer that is missing, or one case."""

Kernels = Mapping[str, Kernel]
"""By the names that cases have for them."""

FAR_OFF = 3.0
"""In a search, a block size whose first call takes so many times the kernel's best is not timed."""


def time_together(
    cases: Sequence[Case],
    *,
    host: bool = False,
    search: bool = False,
    skipped: Skip = lambda what, reason: None,
    own: Kernels = MappingProxyType({}),
) -> list[Measurement]:
    """Time `cases`, which differ in provider, step and block size only, and a copy in one run.

    Each is checked first; who cannot run goes to `skipped`. `host` times an eager call on the host
    too. `own` are kernels beside the book's, by the names that cases have for them. `search` looks for
    each kernel's best block size, and leaves out those that are far from it.
    """
    known = {**kernels, **own}
    calls: dict[Case, Call] = {}
    timings: dict[Case, Timing] = {}
    try:
        calls = _sound(cases, known, skipped)
        calls = _near_the_best(calls) if search and calls else calls
        timings = timing.time_device({**timing.copies(cases[0]), **calls}) if calls else {}
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


def _call(case: Case, known: Kernels) -> Call:
    if case.provider not in known:
        return providers.peer(case.provider)
    kernel = known[case.provider]
    if case.step:
        kernel = replace(kernel, steps=tuple(s for s in kernel.steps if s.entry == case.step))
    return lambda x, y: run(kernel, x, out=y, block_size=case.block_size)


def _sound(cases: Sequence[Case], known: Kernels, skipped: Skip) -> dict[Case, Call]:
    """The calls of those that run and are right; a step, or a kernel wrong on purpose, need not be."""

    def try_on(case: Case, call: Call, x: Tensor) -> None:
        kernel = known.get(case.provider)
        if kernel is None or (kernel.flaw is None and not case.step):
            providers.try_once(case.provider, call, x)

    makes = {case: partial(_call, case, known) for case in cases}
    sample = partial(timing.sample, cases[0])
    return sound_calls(
        makes, try_on, sample, skipped, lambda case: (case.provider, skipped_case(case))
    )


def _near_the_best(calls: dict[Case, Call]) -> dict[Case, Call]:
    """Those of `calls` that are a peer's, or at a block size that one call shows to be worth timing."""
    sample = timing.sample(next(iter(calls)))
    y = torch.empty_like(sample)
    once = {case: timing.time_once(call, sample, y) for case, call in calls.items()}
    best: dict[tuple[str, str], float] = {}
    for case, time_us in once.items():
        of = case.provider, case.step
        best[of] = min(time_us, best.get(of, time_us))
    return {
        case: call
        for case, call in calls.items()
        if once[case] <= FAR_OFF * best[case.provider, case.step]
    }
