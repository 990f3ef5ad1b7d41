"""`softmax-lib record`: measure every rung, foil and peer on this GPU and write the record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from softmax_lib.bench import ncu, timing
from softmax_lib.bench.contest import time_together
from softmax_lib.bench.plan import Job, plan, profiled
from softmax_lib.checking import choose_device
from softmax_lib.errors import BadInput, NotAvailable
from softmax_lib.gpu.facts import clocks, gpu_facts, today, versions
from softmax_lib.records.measurement import Case
from softmax_lib.records.record import Record, load
from softmax_lib.records.schema import SCHEMA
from softmax_lib.records.shelf import file_stem, folders
from softmax_lib.records.skips import provider_of, skipped_case
from softmax_lib.registry import with_copy

NCU = "ncu"
"""What `skipped` has where no hardware counters could be read."""


def record(
    path: Path | None = None, *, quick: bool = False, progress: Callable[[str, int, int], None]
) -> Path:
    """Measure everything on this GPU and write the record; where it was written.

    `progress` hears a label, how many jobs are done, and how many there are. The work is kept
    after every job in <path>.part and becomes the record at the end, so an interruption loses one
    job and leaves an older record whole; the next call goes on from there, if GPU, software, day
    and kernels are still the same. Raises `NotAvailable` without a GPU, `BadInput` when `path`
    holds something that is no record, or a full one that a quick one would replace, or cannot be
    written.
    """
    choose_device("cuda")
    if path is None:
        path = folders()[0] / f"{file_stem(torch.cuda.get_device_name())}.json"
    unfinished = path.with_name(f"{path.name}.part")
    kept = _resume(path, unfinished, quick)
    kept.save(unfinished)
    jobs = [left for job in plan(quick) if (left := _left_to_do(job, kept)).cases]
    for done, job in enumerate(jobs):
        progress(job.label, done, len(jobs) + 1)
        skip = kept.skipped.__setitem__
        for measured in time_together(job.cases, host=job.times_host, skipped=skip):
            kept.add(measured)
        kept.save(unfinished)
        torch.cuda.empty_cache()
    progress("hardware counters", len(jobs), len(jobs) + 1)
    _profile(kept, profiled(quick))
    kept.content["clocks"]["after"] = clocks()
    kept.save(path)
    unfinished.unlink()
    progress("done", len(jobs) + 1, len(jobs) + 1)
    return path


def _resume(path: Path, unfinished: Path, quick: bool) -> Record:
    """What was measured here today by the same means, in timings that still hold."""
    fresh = Record(_provenance())
    old = [load(file) for file in (unfinished, path) if file.exists()]
    same = [record for record in old if _is_same(record, fresh)]
    if quick and path.exists() and not _is_same(old[-1], fresh):
        raise BadInput(
            f"{path} holds the record of {old[-1].where}, which a quick one would replace; "
            "name another file with --output."
        )
    if same:
        _take_over(same[0], fresh)
    return fresh


def _is_same(old: Record, fresh: Record) -> bool:
    parts = ("gpu", "software", "date", "protocol")
    return all(old.content[part] == fresh.content[part] for part in parts)


def _take_over(old: Record, fresh: Record) -> None:
    for timing_ in old.timings.values():
        if not timing_.stale:
            fresh.add(timing_)
    fresh.profiles = [p for p in old.profiles if not old.is_stale(p.case.provider)]
    fresh.content["clocks"]["before"] = old.content["clocks"].get("before")
    fresh.skipped = {
        what: reason for what, reason in old.skipped.items() if not old.is_stale(provider_of(what))
    }


def _left_to_do(job: Job, kept: Record) -> Job:
    """The job without what was timed already, or has given a reason not to be."""
    left = [
        case
        for case in job.cases
        if case not in kept.timings
        and case.provider not in kept.skipped
        and skipped_case(case) not in kept.skipped
    ]
    return replace(job, cases=tuple(left))


def _profile(kept: Record, cases: list[Case]) -> None:
    there = {profile.case for profile in kept.profiles}
    missing = [case for case in cases if case not in there]
    try:
        kept.profiles += ncu.profile(missing) if missing else []
        kept.skipped.pop(NCU, None)
    except NotAvailable as error:
        kept.skipped[NCU] = str(error)


def _provenance() -> dict:
    return {
        "schema": SCHEMA,
        "gpu": gpu_facts(),
        "date": today(),
        "software": versions(),
        "clocks": {"before": clocks()},
        "protocol": {
            "replays": timing.REPLAYS,
            "cold_by": timing.COLD_BY,
            "time": "median of CUDA graph replays between two events, contenders taking turns",
            "copy": "faster of torch's copy and a float4 copy kernel, in the same run",
        },
        "kernels": {name: kernel.digest for name, kernel in with_copy.items()},
        "skipped": {},
        "rows": [],
        "counters": [],
    }
