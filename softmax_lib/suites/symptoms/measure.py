"""The symptoms of the page A method, each timed and counted beside its cure; and what torch's profiler sees of calls."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile, record_function

from softmax_lib.records.measurement import Case
from softmax_lib.records.reading import read_fields
from softmax_lib.suites import ncu, timing
from softmax_lib.suites.cells import Progress, call_of, require_right, run_cells, samples_of
from softmax_lib.suites.symptoms.record import PROGRAMS, SYMPTOMS, Program, Side, Symptom
from softmax_lib.suites.timing import Call
from softmax_lib.worklog.errors import NotAvailable
from softmax_lib.worklog.registry import kernels

PROTOCOL = (
    "Microseconds of one call, every sample: the sides of one symptom take turns in one run. 'cold' and 'warm' are "
    "replays of a CUDA graph by events; 'eager' and 'graph' 100 calls by the host's clock. ncu counts a call by itself."
)
CALLS = 100
"""By the host's clock at a time."""
SEEN_CALLS = 8
"""In a timeline."""
LARGE, SMALL, SHORT = (1024, 32768), (128, 96), (4096, 1024)
OUT_OF_STEP = (133, 32768)
"""A row more than an H200 has multiprocessors."""

SIDES: dict[Symptom, tuple[Side, ...]] = {
    "uncoalesced": (Side("symptom", "chunked", *LARGE), Side("cure", "shared", *LARGE)),
    "bank conflicts": (
        Side("symptom", "neighbours_compacted", *SHORT, 1024), Side("cure", "shared", *SHORT, 1024),
    ),
    "too few bytes in flight": (Side("symptom", "shuffle", *LARGE), Side("cure", "float4", *LARGE)),
    "low occupancy": (
        Side("symptom", "shuffle", 4096, 8192, 32), Side("cure", "shuffle", 4096, 8192, 64),
    ),
    "barriers": (
        Side("symptom", "shared", *SHORT, 1024), Side("control", "textbook", *SHORT, 1024),
        Side("cure", "shuffle", *SHORT, 1024),
    ),
    "tail of blocks": (
        Side("symptom", "fusion", *OUT_OF_STEP, 1024), Side("control", "fusion", 132, 32768, 1024),
        Side("cure", "softmax()", *OUT_OF_STEP),
    ),
    "launch-bound": (Side("symptom", "unfused", *SMALL), Side("cure", "fusion", *SMALL)),
    "L2-resident": (
        Side("symptom", "fusion", 1024, 4096, 0, "warm"), Side("cure", "fusion", 1024, 4096, 0, "cold"),
    ),
    "host-bound": (
        Side("symptom", "torch", *SMALL, 0, "eager"), Side("cure", "torch", *SMALL, 0, "graph"),
    ),
}  # fmt: skip
"""Each symptom, a control where one helps, and the cure."""
OURS = tuple(sorted({one.who for sides in SIDES.values() for one in sides} & kernels.keys()))
_TRACKS = {"cpu_op": "call", "cuda_runtime": "launch", "cuda_driver": "launch", "kernel": "kernel"}
"""What torch's profiler calls an event's kind, and the tracks of the record."""


def run_suite(progress: Progress, symptoms: tuple[Symptom, ...] = SYMPTOMS) -> dict[str, Any]:
    """All symptoms, or some, on this GPU, as JSON has it.

    `rows` has for each `{"symptom", "times": [{"role", "who", "rows", "cols", "block_size", "how", "us": [...],
    "counters"}]}`, `timelines` for each program `{"program", "events"}`, `digests` what was compiled; the rest is as
    in `cells.run_cells`. Raises `NotAvailable` where a kernel is wrong here.
    """
    require_right(OURS)
    timed = run_cells(symptoms, lambda one, _: time_symptom(one), progress)
    timed["skipped"] |= add_counters(timed["rows"])
    digests = {name: kernels[name].digest for name in OURS}
    timelines = [{"program": one, "events": see(one)} for one in PROGRAMS]
    return {"protocol": PROTOCOL, **timed, "digests": digests, "timelines": timelines}


def time_symptom(symptom: Symptom) -> dict[str, Any]:
    """One symptom: the samples of its sides."""
    times = samples_of({side: _method(side) for side in SIDES[symptom]})
    return {"symptom": symptom, "times": [{**line, "counters": {}} for line in times]}


def add_counters(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Put what ncu counts of each kernel's cold call into its time of `rows`; what it could not count, and why."""
    lines = [one for row in rows for one in row["times"] if one["who"] in kernels and one["how"] == "cold"]  # fmt: skip
    notes: dict[str, str] = {}
    try:
        cases = [_settled(read_fields(Side, one).case) for one in lines]
        found = ncu.profile(cases, lambda note: notes.update(ncu=note))
    except NotAvailable as error:
        return {"ncu": str(error)}
    for line, one in zip(lines, found, strict=True):
        line["counters"] = one.counters
    return notes


def _settled(case: Case) -> Case:
    """The same at the block size that its kernel chooses where the case says none."""
    size = kernels[case.provider].settle_block_size(case.block_size, case.cols)
    return replace(case, block_size=size)


def _method(side: Side) -> Callable[[], float]:
    call = call_of(side.who, side.block_size or None)
    if side.how in ("cold", "warm"):
        return timing.replays({side.case: call})[side.case]
    return partial(_host_us, _queue(call, side.rows, side.cols, CALLS, side.how == "graph"))


def _host_us(queue: Callable[[], None]) -> float:
    """Microseconds of each of `CALLS` calls from the first to the end of the last."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    queue()
    torch.cuda.synchronize()
    return 1e6 * (time.perf_counter() - start) / CALLS


def _queue(call: Call, rows: int, cols: int, calls: int, as_graph: bool) -> Callable[[], None]:
    """What queues so many calls on one float32 matrix of noise: eagerly, or as one graph."""
    x = torch.randn(rows, cols, device="cuda")
    y = torch.empty_like(x)

    def queue() -> None:
        for _ in range(calls):
            call(x, y)

    if not as_graph:
        return queue
    call(x, y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        queue()
    return partial(_replay, graph, (x, y))


def _replay(graph: torch.cuda.CUDAGraph, _pair: tuple[Tensor, Tensor]) -> None:
    """Replay it; the pair is what it reads and writes, and stays alive."""
    graph.replay()


# ---- timelines


def see(program: Program) -> list[dict[str, Any]]:
    """The events of a program's calls of torch.softmax, by torch's profiler."""
    shape = LARGE if program.startswith("large") else SMALL
    queue = _queue(call_of("torch"), *shape, SEEN_CALLS, program.endswith("graph"))
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        queue()  # the profiler's own first calls take longer
        torch.cuda.synchronize()
        with record_function(program):
            queue()
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        seen.export_chrome_trace(str(path))
        return list(events_of(json.loads(path.read_text(encoding="utf-8")), program))


def events_of(trace: dict[str, Any], program: str) -> Iterator[dict[str, Any]]:
    """Of a trace in Chrome's format: calls, launches and kernels within the mark `program`, in the order of time."""
    events = [one for one in trace["traceEvents"] if one.get("ph") == "X"]
    mark = next(one for one in events if (one["name"], one["cat"]) == (program, "user_annotation"))
    within = [one for one in events if mark["ts"] <= one["ts"] < mark["ts"] + mark["dur"]]
    for one in sorted(within, key=lambda one: one["ts"]):
        track = _TRACKS.get(one["cat"])
        is_ours = {"call": one["name"] == "aten::softmax", "launch": "Launch" in one["name"], "kernel": True}  # fmt: skip
        if track and is_ours[track]:
            at_us = round(one["ts"] - mark["ts"], 3)
            yield {"track": track, "name": one["name"], "at_us": at_us, "us": round(one["dur"], 3)}
