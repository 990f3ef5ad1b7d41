"""The lies of the page Benchmark lies, each measured beside what catches it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

import torch

from softmax_lib.gpu.facts import peak_gb_per_s
from softmax_lib.suites.cells import Progress, require_right, run_cells
from softmax_lib.suites.lies import advertisements
from softmax_lib.suites.lies import groups as lie_groups
from softmax_lib.suites.lies.groups import OURS
from softmax_lib.suites.lies.record import LIES, Lie
from softmax_lib.worklog.registry import kernels

Key = TypeVar("Key")

WORDS = (
    "Microseconds of one call, every sample: the methods of one group take turns in one run. 'protocol' is one "
    "replay of a CUDA graph, L2 cold, as in all of this book."
)
TURNS = 15


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
    for group in lie_groups.GROUPS[lie](skipped):
        times += [
            {**asdict(told), "us": [round(us, 3) for us in samples]}
            for told, samples in alternate(group).items()
        ]
        group.clear()  # its matrices, before the next has its own
    return {"lie": lie, "times": times}


def alternate(
    group: Mapping[Key, Callable[[], list[float]]], turns: int = TURNS
) -> dict[Key, list[float]]:
    """The samples of every method: each once untimed, then each once a turn, the device idle before it."""
    samples: dict[Key, list[float]] = {told: [] for told in group}
    for turn in range(turns + 1):
        for told, method in group.items():
            torch.cuda.synchronize()
            found = method()
            if turn:
                samples[told] += found
    return samples
