"""What moves between threads and each kind of memory in a launch: asked for as counted here, the rest from the record.

An x-ray knows what threads ask of L1 and of shared memory. What hits in L1, and what DRAM gives and takes, ncu
counted; shares of a peak take the time of the launch too. All that is there for kernels of the book on the matrices
that they were profiled on; elsewhere it is not known, and None here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from softmax_lib.engine.xrays.lines import ACCESSES, SECTOR_BYTES, LineCounters
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.records.measurement import Case, Profile
from softmax_lib.records.record import Record
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.suites.hardware.record import hardware
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.registry import kernels

LEVELS = ("shared memory", "L1", "L2", "DRAM")
"""Memories, by the names that `Hardware.levels` has for them."""


@dataclass(frozen=True)
class Flow:
    """What moves one way between a memory of `LEVELS` and what is next to it on the way to the threads.

    `kind` is such as "loads" or "local stores". `requests` are those of warps; `units` sectors, or wavefronts of
    shared memory; `bytes` what lanes ask for, of L2 what its sectors hold, of DRAM what it counted. `share` is that
    of the most that all multiprocessors read from this memory, over the time of the launch. Each is None where
    nobody counted it. `counted_by` is "x-ray", "ncu", or "" of a flow of which nothing is known.
    """

    level: str
    kind: str
    counted_by: str
    requests: int | None = None
    units: int | None = None
    bytes: int | None = None
    share: float | None = None

    @property
    def is_read(self) -> bool:
        """Whether it goes to the threads."""
        return self.kind.endswith("loads")


@dataclass(frozen=True)
class Flows:
    """All flows of a launch, memories in the order of `LEVELS`, reads before writes.

    `l1_hits` is the share of global sectors that L1 had, `dram_share` that of DRAM's peak which its reads and writes
    take together, since both go over the same wires; None where the record does not say. `time_us` is ncu's own of
    the launch that it counted, where `timed_by` is "ncu", or that of the "benchmark". `profiled` and `peaks` say where
    ncu's counters and the peaks are from, `caches` what ncu did with these before; "" where there are none.
    """

    flows: tuple[Flow, ...]
    l1_hits: float | None
    dram_share: float | None
    time_us: float | None
    timed_by: str
    profiled: str
    caches: str
    peaks: str

    def of(self, level: str) -> tuple[Flow, ...]:
        """Those of one of `LEVELS`."""
        return tuple(flow for flow in self.flows if flow.level == level)


def flows_of(found: XRay, gpu: str = DEFAULT_GPU) -> Flows:
    """What moved in the launch of `found`, with what the record of `gpu` has of it.

    The record counts where it is of the same kernel, unchanged, on the same matrix in blocks of the same size, and of
    a GPU that runs the code which was counted. Raises `BadInput` where that GPU has no record.
    """
    record = recorded(gpu)
    case = _case_of(found, record)
    profile = next((one for one in record.profiles if one.case == case), None)
    counters = profile.counters if profile else {}
    time_us, timed_by = _time_of(case, counters, record)
    per_second, source = _peaks_of(gpu) if time_us else ({}, "")
    flows = [*_asked(found.lines), *_behind_l1(counters)]
    dram = [flow.bytes for flow in flows if flow.level == "DRAM" and flow.bytes is not None]
    return Flows(
        # what is written has no share: peaks are of reading
        tuple(
            replace(one, share=_share(one.bytes, time_us, per_second.get(one.level)))
            if one.is_read
            else one
            for one in flows
        ),
        _hits(counters),
        _share(sum(dram), time_us, per_second.get("DRAM")) if dram else None,
        time_us,
        timed_by,
        f"ncu, {record.where}" if profile else "",
        _caches_of(profile),
        source if per_second else "",
    )


def _case_of(found: XRay, record: Record) -> Case | None:
    """What the record may have of this launch; None where it is another kernel, changed since, or for another GPU."""
    kernel = kernels.get(found.kernel)
    if kernel is None or found.rows is None or found.cols is None or record.is_stale(kernel.name):
        return None
    rows, cols, size = found.rows, found.cols, found.block_size
    blocks = sum(step.blocks(rows, cols, size) for step in kernel.steps)
    if found.program != kernel.program(size, cols) or found.blocks != blocks:
        return None
    arch = round(10 * float(record.content["gpu"]["compute_capability"]))
    if found.arch not in (None, arch):
        return None
    return Case(kernel.name, rows, cols, block_size=size)


def _caches_of(profile: Profile | None) -> str:
    """As `bench.ncu.profile` has them before a launch."""
    if profile is None:
        return ""
    several = len(kernels[profile.case.provider].steps) > 1
    return "caches as the launch before left them" if several else "caches emptied first"


def _time_of(
    case: Case | None, counters: dict[str, int], record: Record
) -> tuple[float | None, str]:
    if "duration_ns" in counters:
        return counters["duration_ns"] / 1e3, "ncu"
    timing = record.timings.get(case) if case else None
    return (timing.median_us, "benchmark") if timing else (None, "")


def _peaks_of(gpu: str) -> tuple[dict[str, float], str]:
    """Bytes a second that all multiprocessors together read at most, by memory, and where that is from."""
    try:
        found = hardware(gpu)
    except BadInput:
        return {}, ""
    speeds = {name: found.levels[name].gb_per_s for name in LEVELS if name in found.levels}
    return {name: 1e9 * speed for name, speed in speeds.items() if speed}, found.source


_ASKED = (
    ("shared memory", "shared", "wavefronts", ""),
    ("shared memory", "cluster", "", "cluster "),
    ("L1", "global", "sectors", ""),
    ("L1", "local", "sectors", "local "),
)
"""By memory and address space of CUDA: the units of its requests, and what its flows are called before their operation."""


def _asked(lines: tuple[LineCounters, ...]) -> Iterator[Flow]:
    """What threads ask of shared memory and L1; loads and stores of global memory also where there are none."""
    for (level, space, unit, prefix), operation in product(_ASKED, ACCESSES):
        these = [one for one in lines if (one.space, one.operation) == (space, operation)]
        if these or (space == "global" and operation != "atomic"):
            yield Flow(
                level,
                f"{prefix}{operation}s",
                "x-ray",
                sum(one.requests for one in these),
                sum(getattr(one, unit) for one in these) if unit else None,
                sum(one.bytes_asked for one in these),
            )


def _behind_l1(counters: dict[str, int]) -> Iterator[Flow]:
    """What ncu counted behind L1.

    A global load brings from L2 the sectors that it did not find in L1: on an H200 these two of its counters were
    within 1 % of each other in 20 launches. How many sectors stores take there is another matter: in those of
    `chunked`, which write one sector in several requests, L1 joined up to seven of ten.
    """
    if "global_load_hit_sectors" in counters:
        missed = counters["global_load_sectors"] - counters["global_load_hit_sectors"]
        yield Flow("L2", "loads", "ncu", units=missed, bytes=missed * SECTOR_BYTES)
    else:
        yield Flow("L2", "loads", "")
    yield Flow("L2", "stores", "")
    for kind, name in (("loads", "dram_read_bytes"), ("stores", "dram_write_bytes")):
        yield Flow("DRAM", kind, "ncu" if name in counters else "", bytes=counters.get(name))


def _hits(counters: dict[str, int]) -> float | None:
    sectors, hits = (counters.get(f"global_load{of}_sectors") for of in ("", "_hit"))
    return hits / sectors if sectors and hits is not None else None


def _share(bytes_: int | None, time_us: float | None, per_second: float | None) -> float | None:
    if bytes_ is None or not time_us or per_second is None:
        return None
    return bytes_ / (time_us * 1e-6) / per_second
