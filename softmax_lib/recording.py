"""`softmax-lib record`: measure every rung, foil and peer on this GPU and write the record."""

from __future__ import annotations

import datetime
import platform
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import torch

from softmax_lib import benchmark, counters, measurements, peers
from softmax_lib.benchmark import L2, Call
from softmax_lib.errors import NotAvailable
from softmax_lib.launch import run
from softmax_lib.measurements import Measurement, Record
from softmax_lib.reference import choose_device
from softmax_lib.registry import COPY, Kernel, kernels, rungs

WORKLOG = (1024, 32768)
"""Rows and columns of the worklog this book grows from."""

PEER_SHAPES = {
    "float32": (
        WORKLOG, (128, 96), (32768, 128), (32768, 256), (4096, 1024), (8192, 1000), (32768, 1024),
        (8192, 4096), (4096, 8192), (4096, 16384), (4096, 32768), (2048, 65536), (1024, 131072),
        (1024, 262144), (8192, 50257), (128, 50257), (64, 131072), (16, 262144), (8, 131072), (1, 1048576),
    ),
    "bfloat16": (
        (32768, 256), (32768, 1024), (8192, 4096), (4096, 16384), WORKLOG, (4096, 32768), (8192, 50257),
        (2048, 65536), (1024, 131072), (1024, 262144),
    ),
}  # fmt: skip
"""From a launch that is all latency to rows longer than a block can hold, with odd lengths between."""

ROW_SWEEP = tuple((1024, 2**power) for power in range(9, 18))
"""Shapes that show where each rung falls behind as its rows grow."""

OTHER_SHAPES = ((32768, 256), (8192, 1000), (8192, 50257))

QUICK_SHAPES = (WORKLOG, (8192, 1000))

Contender = tuple[str, int | None]
"""A kernel and its block size, or a peer and None."""


@dataclass(frozen=True)
class Job:
    """One shape and who is timed on it, all in one run with a copy."""

    rows: int
    cols: int
    dtype: str
    l2: L2
    contenders: tuple[Contender, ...]

    @property
    def label(self) -> str:
        """In words, for the progress bar."""
        return f"({self.rows}, {self.cols}) {self.dtype}, {self.l2} L2"


def plan(quick: bool = False) -> list[Job]:
    """Every timing of a record, one job a shape, dtype and L2 state; `quick` keeps two shapes."""
    wanted: dict[tuple[int, int, str, L2], dict[Contender, None]] = {}
    for rows, cols, dtype, l2, contender in _timings():
        if not quick or (rows, cols) in QUICK_SHAPES:
            wanted.setdefault((rows, cols, dtype, l2), {})[contender] = None
    return [Job(*shape, tuple(contenders)) for shape, contenders in wanted.items()]


def _timings() -> Iterator[tuple[int, int, str, L2, Contender]]:
    for kernel in rungs():
        for size in kernel.legal_block_sizes(WORKLOG[1]):
            yield *WORKLOG, "float32", "cold", (kernel.name, size)
        yield 256, 4096, "float32", "hot", (kernel.name, kernel.choose_block_size(4096))
        for rows, cols in (*ROW_SWEEP, *OTHER_SHAPES):
            if kernel.legal_block_sizes(cols):
                yield rows, cols, "float32", "cold", (kernel.name, kernel.choose_block_size(cols))
    for kernel in kernels.values():
        if kernel.foil:
            rows, cols = (1024, 4096) if kernel.name == "per_element" else WORKLOG
            yield rows, cols, "float32", "cold", (kernel.name, kernel.choose_block_size(cols))
    for dtype, shapes in PEER_SHAPES.items():
        for (rows, cols), name in ((shape, name) for shape in shapes for name in peers.PEERS):
            yield rows, cols, dtype, "cold", (name, None)
    for (rows, cols), name in ((shape, name) for shape in ROW_SWEEP for name in peers.PEERS):
        yield rows, cols, "float32", "cold", (name, None)


def profiles(quick: bool = False) -> list[counters.Launch]:
    """Every ncu profile of a record."""
    launches = []
    for kernel in kernels.values():
        shapes = [(8, 512)] if kernel.name == "per_element" else [(64, 4096), (1000, 1001)]
        if not kernel.foil and not quick:
            shapes.append(WORKLOG)
        launches += [_profile(kernel, rows, cols) for rows, cols in shapes]
    return launches


def _profile(kernel: Kernel, rows: int, cols: int) -> counters.Launch:
    return counters.Launch(kernel.name, rows, cols, kernel.choose_block_size(cols))


def time_shape(
    contenders: Sequence[Contender],
    rows: int,
    cols: int,
    *,
    dtype: str = "float32",
    l2: L2 = "cold",
    host: bool = False,
    skipped: Callable[[str, str], None] = lambda what, reason: None,
) -> list[Measurement]:
    """Time all contenders and a copy in one run, each checked first; who cannot run goes to `skipped`."""
    kind = getattr(torch, dtype)
    sample = torch.randn(rows, cols, device="cuda").to(kind)
    calls: dict[Contender, Call] = {}
    for name, block_size in contenders:
        try:
            call = _call(name, block_size)
        except NotAvailable as error:
            skipped(name, str(error))
            continue
        try:
            if name not in kernels or kernels[name].flaw is None:
                peers.try_once(name, call, sample)
            calls[name, block_size] = call
        except NotAvailable as error:
            skipped(f"{name} ({rows}, {cols}) {dtype}", str(error))
    del sample
    named = {f"{name} {size}": call for (name, size), call in calls.items()}
    timings = benchmark.time_device(
        {**benchmark.copies(rows, cols, kind), **named}, rows, cols, dtype=kind, l2=l2
    )
    copy_us = min(timings[name].median_us for name in timings if name not in named)
    found = []
    for (name, size), call in calls.items():
        timing = timings[f"{name} {size}"]
        host_us = benchmark.time_host(call, rows, cols, kind) if host else None
        found.append(
            Measurement(name, rows, cols, dtype, size, l2, timing.median_us, timing.low_us, timing.high_us,
                        copy_us, host_us, f"live on {torch.cuda.get_device_name()}")
        )  # fmt: skip
    return found


def _call(name: str, block_size: int | None) -> Call:
    if name in kernels:
        return lambda x, y: run(name, x, out=y, block_size=block_size)
    return peers.peer(name)


def record(
    path: Path | None = None, *, quick: bool = False, progress: Callable[[str, int, int], None]
) -> Path:
    """Measure everything on this GPU and write the record; rows already there and not stale are kept.

    `progress` hears a label, how many jobs are done, and how many there are. Written after every
    job, so that an interruption loses one. Raises `NotAvailable` without a GPU, `BadInput` when
    `path` holds something that is no record or cannot be written.
    """
    choose_device("cuda")
    path = (
        path or measurements.FOLDER / f"{measurements.file_stem(torch.cuda.get_device_name())}.json"
    )
    kept = _resume(path)
    jobs = [remaining for job in plan(quick) if (remaining := _remaining(job, kept)).contenders]
    for done, job in enumerate(jobs):
        progress(job.label, done, len(jobs) + 1)
        for row in _measure_job(job, kept):
            kept.add(row)
        kept.save(path)
        torch.cuda.empty_cache()
    progress("hardware counters", len(jobs), len(jobs) + 1)
    _profile_all(kept, profiles(quick))
    kept.content["clocks"]["after"] = clocks()
    kept.save(path)
    progress("done", len(jobs) + 1, len(jobs) + 1)
    return path


def _resume(path: Path) -> Record:
    fresh = Record(_provenance())
    if not path.exists():
        fresh.save(path)
        return fresh
    old = measurements.load(path)
    same = all(
        old.content[part] == fresh.content[part] for part in ("gpu", "software", "date", "protocol")
    )
    if same:
        for row in old.table.values():
            if not old.is_stale(row.provider):
                fresh.add(replace(row, source="live"))
        fresh.content["clocks"]["before"] = old.content["clocks"]["before"]
        fresh.content["skipped"] = old.content["skipped"]
    return fresh


def _remaining(job: Job, kept: Record) -> Job:
    def is_done(contender: Contender) -> bool:
        name, block_size = contender
        key = (name, job.rows, job.cols, job.dtype, block_size, job.l2)
        refusal = f"{name} ({job.rows}, {job.cols}) {job.dtype}"
        return key in kept.table or refusal in kept.content["skipped"]

    return replace(job, contenders=tuple(c for c in job.contenders if not is_done(c)))


def _measure_job(job: Job, kept: Record) -> list[Measurement]:
    host = (job.rows, job.cols) == (128, 96)
    skip = kept.content["skipped"].__setitem__
    return time_shape(
        job.contenders, job.rows, job.cols, dtype=job.dtype, l2=job.l2, host=host, skipped=skip
    )


def _profile_all(kept: Record, launches: list[counters.Launch]) -> None:
    try:
        kept.content["counters"] = counters.profile(launches)
        kept.content["skipped"].pop("ncu", None)
    except NotAvailable as error:
        kept.content["skipped"]["ncu"] = str(error)


def _provenance() -> dict:
    return {
        "schema": measurements.SCHEMA,
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


def gpu_facts() -> dict[str, str | int]:
    """The current GPU: name, compute capability, multiprocessors, bytes of L2 cache, driver."""
    device = torch.cuda.get_device_properties()
    return {
        "name": device.name,
        "compute_capability": f"{device.major}.{device.minor}",
        "multiprocessors": device.multi_processor_count,
        "l2_bytes": device.L2_cache_size,
        "driver": _smi("driver_version"),
    }


def today() -> str:
    """The date of a record: YYYY-MM-DD."""
    return datetime.date.today().isoformat()


def versions() -> dict[str, str]:
    """Versions of Python, the driver's CUDA, NVRTC, and every package that takes part."""
    from softmax_lib.compile import nvrtc

    found = {"python": platform.python_version(), "cuda": str(torch.version.cuda)}
    found["nvrtc"] = ".".join(map(str, nvrtc().getVersion()))
    names = (
        "torch",
        "triton",
        "cupy-cuda12x",
        "cupy-cuda13x",
        "liger-kernel",
        "quack-kernels",
        "softmax-lib",
    )
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def clocks() -> dict[str, str]:
    """Clocks and power as the driver reports them now; nothing is set."""
    names = (
        "clocks.sm",
        "clocks.mem",
        "clocks_event_reasons.active",
        "power.draw",
        "temperature.gpu",
    )
    return {name: _smi(name) for name in names}


def _smi(query: str) -> str:
    command = [
        "nvidia-smi",
        f"--query-gpu={query}",
        "--format=csv,noheader",
        f"--id={torch.cuda.current_device()}",
    ]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
