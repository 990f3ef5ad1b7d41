"""`softmax-lib record`: measure every rung, foil and peer on this GPU and write the record."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from softmax_lib.gpu.facts import busy, clocks, gpu_facts, slowed, today, versions
from softmax_lib.records.measurement import Case
from softmax_lib.records.record import Record, load, provider_of, skipped_case
from softmax_lib.records.schema import SCHEMA
from softmax_lib.records.shelf import file_stem, folders
from softmax_lib.suites import ncu, timing
from softmax_lib.suites.plan import HOST_SHAPE, WORKLOG, Job, plan, profiled
from softmax_lib.suites.probes import probe_all
from softmax_lib.suites.together import FAR_OFF, time_together
from softmax_lib.worklog.checking import choose_device
from softmax_lib.worklog.errors import BadInput, NotAvailable, Unfinished
from softmax_lib.worklog.registry import kernels, probe_digests, with_copy

PROFILES_A_PART = 16
"""Kernels that one start of ncu profiles; each takes some seconds."""

NCU = "ncu"
"""What `skipped` has where no hardware counters could be read."""


def record(
    path: Path | None = None,
    *,
    quick: bool = False,
    minutes: float | None = None,
    progress: Callable[[str, int, int], None],
) -> Path:
    """Measure everything on this GPU and write the record; where it was written.

    `progress` hears a label, how many parts are done, and how many there are. The work is kept
    after every part in <path>.part and becomes the record at the end, so an interruption loses one
    part and leaves an older record whole; the next call goes on from there, if GPU, software, day
    and kernels are still the same. Raises `NotAvailable` without a GPU, `Unfinished` when `minutes`
    are over before all is done, `BadInput` when `path` holds something that is no record, or a full
    one that a quick one would replace, or cannot be written.
    """
    ends_s = time.monotonic() + 60 * (math.inf if minutes is None else minutes)
    choose_device("cuda")
    if path is None:
        path = folders()[0] / f"{file_stem(torch.cuda.get_device_name())}.json"
    unfinished = path.with_name(f"{path.name}.part")
    kept = _resume(path, unfinished, quick)
    for told in (*busy(), *slowed()):
        _take_note(kept, told)
    kept.save(unfinished)
    parts = _parts(kept, quick)
    for done, (label, work) in enumerate(parts):
        if time.monotonic() > ends_s:
            raise Unfinished(
                f"{done} of {len(parts)} parts are done and kept in {unfinished}; "
                "call it again to go on."
            )
        progress(label, done, len(parts))
        work()
        for told in slowed():
            _take_note(kept, told)
        kept.save(unfinished)
        torch.cuda.empty_cache()
    kept.content["clocks"]["after"] = clocks()
    kept.save(path)
    unfinished.unlink()
    progress("done", len(parts), len(parts))
    return path


Part = tuple[str, Callable[[], None]]
"""A label, and a piece of work whose result is kept whole."""


def _parts(kept: Record, quick: bool) -> list[Part]:
    """What is left to do, in order: probes, one job after the other, and hardware counters by kernel."""
    parts: list[Part] = (
        [] if quick or kept.probes else [("probes", lambda: kept.probes.extend(probe_all()))]
    )
    for job in plan(quick, kept.multiprocessors):
        if left := _left_to_do(job, kept):
            matrix = left[0]
            label = f"{matrix.shape} {matrix.dtype} {matrix.data}, {matrix.l2} L2"
            parts.append((label, partial(_time, kept, left)))
    wanted = profiled(quick)
    kept.profiles = [profile for profile in kept.profiles if profile.case in wanted]
    there = {profile.case for profile in kept.profiles}
    missing = [case for case in wanted if case not in there]
    for start in range(0, len(missing), PROFILES_A_PART):
        some = missing[start : start + PROFILES_A_PART]
        parts.append(("hardware counters", partial(_profile, kept, some)))
    return parts


def _time(kept: Record, job: Job) -> None:
    """A job, and of a small matrix the host too."""
    times_host, skip = job[0].shape == HOST_SHAPE, kept.skipped.__setitem__
    for measured in time_together(job, host=times_host, search=_is_search(job), skipped=skip):
        kept.add(measured)


def _is_search(job: Job) -> bool:
    """Whether block sizes far from the best may be left out; the explorers want all of the worklog's."""
    return job[0].shape != WORKLOG


def _take_note(kept: Record, told: str) -> None:
    """What disturbs the measurement, or is missing from it, each thing once."""
    if told not in kept.content["notes"]:
        kept.content["notes"].append(told)


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
    if old.content["kernels"].items() >= probe_digests().items():
        fresh.probes = old.probes
    fresh.content["notes"] = list(old.content["notes"])
    fresh.profiles = [p for p in old.profiles if not old.is_stale(p.case.provider)]
    fresh.content["clocks"]["before"] = old.content["clocks"].get("before")
    fresh.skipped = {
        what: reason for what, reason in old.skipped.items() if not old.is_stale(provider_of(what))
    }


def _left_to_do(job: Job, kept: Record) -> Job:
    """The job without what was timed already, or has given a reason not to be.

    A kernel's search is whole once one block size has a time: the others were far from the best.
    """

    is_search = _is_search(job)

    def is_done(case: Case) -> bool:
        if case.provider in kept.skipped or skipped_case(case) in kept.skipped:
            return True
        if is_search and case.provider in kernels and not case.step:
            return kept.has(replace(case, block_size=None))
        return case in kept.timings

    return tuple(case for case in job if not is_done(case))


def _profile(kept: Record, cases: list[Case]) -> None:
    try:
        kept.profiles += ncu.profile(cases, partial(_take_note, kept))
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
        "notes": [],
        "protocol": {
            "replays": timing.REPLAYS,
            "cold_by": timing.COLD_BY,
            "alone_us": timing.LONG_CALL_US,
            "search": f"every block size within {FAR_OFF:g} times the kernel's best in one call",
            "masked": "each element is -inf with probability 1/2",
            "spread": f"normal noise times {timing.SPREAD:g}",
            "time": "median of CUDA graph replays between two events, contenders taking turns",
            "copy": "faster of torch's copy and a float4 copy kernel, in the same run",
        },
        "kernels": {name: kernel.digest for name, kernel in with_copy.items()} | probe_digests(),
        "skipped": {},
        "rows": [],
        "counters": [],
        "probes": [],
    }
