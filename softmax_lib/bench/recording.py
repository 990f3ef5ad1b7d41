"""`softmax-lib record`: measure every rung, foil and peer on this GPU and write the record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from softmax_lib import measurements
from softmax_lib.bench import ncu as counters
from softmax_lib.bench import timing as benchmark
from softmax_lib.bench.contest import time_shape
from softmax_lib.bench.plan import Job, plan, profiles
from softmax_lib.errors import BadInput, NotAvailable
from softmax_lib.gpu.facts import clocks, gpu_facts, today, versions
from softmax_lib.records import record as records
from softmax_lib.records.record import Record
from softmax_lib.records.schema import SCHEMA
from softmax_lib.reference import choose_device
from softmax_lib.registry import COPY, kernels


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
        stem = measurements.file_stem(torch.cuda.get_device_name())
        path = measurements.folders()[0] / f"{stem}.json"
    unfinished = path.with_name(f"{path.name}.part")
    kept = _resume(path, unfinished, quick)
    kept.save(unfinished)
    jobs = [left for job in plan(quick) if (left := _left_to_do(job, kept)).contenders]
    for done, job in enumerate(jobs):
        progress(job.label, done, len(jobs) + 1)
        _do(job, kept)
        kept.save(unfinished)
        torch.cuda.empty_cache()
    progress("hardware counters", len(jobs), len(jobs) + 1)
    _profile(kept, profiles(quick))
    kept.content["clocks"]["after"] = clocks()
    kept.save(path)
    unfinished.unlink()
    progress("done", len(jobs) + 1, len(jobs) + 1)
    return path


def _resume(path: Path, unfinished: Path, quick: bool) -> Record:
    """What was measured here today by the same means, in rows that still hold."""
    fresh = Record(_provenance())
    old = [records.load(file) for file in (unfinished, path) if file.exists()]
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
    for row in old.table.values():
        if not old.is_stale(row.provider):
            fresh.add(replace(row))
    fresh.content["counters"] = [p for p in old.counters if not old.is_stale(p["kernel"])]
    fresh.content["clocks"]["before"] = old.content["clocks"].get("before")
    fresh.content["skipped"] = dict(old.content["skipped"])


def _left_to_do(job: Job, kept: Record) -> Job:
    """The job without contenders that were timed already, or that have given a reason not to be."""
    skipped = kept.content["skipped"]
    left = [
        (name, block_size)
        for name, block_size in job.contenders
        if (name, job.rows, job.cols, job.dtype, block_size, job.l2) not in kept.table
        and name not in skipped
        and f"{name} ({job.rows}, {job.cols}) {job.dtype}" not in skipped
    ]
    return replace(job, contenders=tuple(left))


def _do(job: Job, kept: Record) -> None:
    host = (job.rows, job.cols) == (128, 96)
    skip = kept.content["skipped"].__setitem__
    found = time_shape(
        job.contenders, job.rows, job.cols, dtype=job.dtype, l2=job.l2, host=host, skipped=skip
    )
    for row in found:
        kept.add(row)


def _profile(kept: Record, launches: list[counters.Launch]) -> None:
    profiled = [{name: p[name] for name in vars(launches[0])} for p in kept.counters]
    missing = [launch for launch in launches if vars(launch) not in profiled]
    try:
        kept.counters.extend(counters.profile(missing) if missing else [])
        kept.content["skipped"].pop("ncu", None)
    except NotAvailable as error:
        kept.content["skipped"]["ncu"] = str(error)


def _provenance() -> dict:
    return {
        "schema": SCHEMA,
        "gpu": gpu_facts(),
        "date": today(),
        "software": versions(),
        "clocks": {"before": clocks()},
        "protocol": {
            "replays": benchmark.REPLAYS,
            "cold_by": benchmark.COLD_BY,
            "time": "median of CUDA graph replays between two events, contenders taking turns",
            "copy": "faster of torch's copy and a float4 copy kernel, in the same run",
        },
        "kernels": {name: kernel.digest for name, kernel in {**kernels, COPY.name: COPY}.items()},
        "skipped": {},
        "rows": [],
        "counters": [],
    }
