"""What a GPU is made of, measured: how far each kind of memory is, how much it hands out, how warps hide each
other's waits, and which multiprocessor each block of a launch gets.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import torch

from softmax_lib.engine.source import WARP
from softmax_lib.gpu.compile import resources
from softmax_lib.gpu.presence import arch_of
from softmax_lib.suites.cells import Progress, run_cells
from softmax_lib.suites.probes import (
    LINE_WORDS,
    latencies,
    median_us,
    multiprocessors,
    probe_function,
    probe_program,
    random_chain,
)
from softmax_lib.worklog.errors import NotAvailable
from softmax_lib.worklog.files import KERNEL_FOLDER

PROTOCOL = (
    "Latency: cycles of one load, or one multiplication with an addition, that the next one waits for. Bandwidth: "
    "one block of 1024 threads per multiprocessor reads, 16 bytes per lane; median of nine. Waits: warps of one block "
    "that load from DRAM and compute by turns. Places: blocks that note where and when they are, and stay for a while; the quickest of five launches."
)
FOLDER = "hardware"
"""Of the probes, below `kernels/probes`."""

CHAIN_PLACES, CHAIN_HOPS = 1024, 1 << 14
LATENCY_KIB = {"L1": 64, "L2": 4096, "DRAM": 256 * 1024}
"""Arrays that are well inside of a cache, or past all of them."""
ONCE_AROUND = 1 << 23
"""Hops that are taken to go around an array of 1 GiB."""

BLOCK = 1024
FLOAT4_BYTES = 16

WAITING_WARPS = (1, 2, 4, 8, 16, 32)
WAIT_TURNS, WAIT_WORK, WAIT_CHAIN_LINES = 64, 40, 1 << 22
DRAWN_WARPS, DRAWN_TURNS = (1, 8), 8
"""Whose turns are kept, and how many of them."""

PLACED_BLOCKS = (6, 132, 1024, 4096)
PLACED_THREADS = (32, 128, 256, 512, 1024)
STAY_NS = 20_000
LAUNCHES = 5
"""Of which the quickest is kept."""


class Stream(NamedTuple):
    """How one kind of memory is read: `PLACE` of stream.cu, loads per thread, float4 per block, and how often."""

    place: int
    loads: int
    piece: int
    times: int


STREAMS = {
    "shared memory": Stream(0, 2, 2 * BLOCK, 8000),
    "L1": Stream(1, 4, 4 * BLOCK, 4000),
    "L2": Stream(2, 4, 4 * BLOCK, 1000),
    "DRAM": Stream(2, 4, 512 * 4 * BLOCK, 1),
}
"""L1 and L2 read the same array, by loads that stop at L1 or go past it; DRAM's is 4 GiB, far more than L2."""

Room = tuple[tuple[str, int], ...]
"""What each block of a launch takes, as macros of places.cu: threads, numbers that each keeps, bytes of shared memory."""
ROOMS: tuple[Room, ...] = (
    *((("BLOCK", threads), ("LIVE", 0), ("SHARED_BYTES", 0)) for threads in PLACED_THREADS),
    (("BLOCK", 256), ("LIVE", 96), ("SHARED_BYTES", 0)),
    (("BLOCK", 256), ("LIVE", 0), ("SHARED_BYTES", 48 * 1024 - 4)),
)
"""Blocks of each size; and blocks that are held back by their registers, and by their shared memory."""


def run_suite(progress: Progress) -> dict[str, Any]:
    """This GPU measured, as JSON has it.

    `rows` has a level of memory each: `{"level", "cycles", "ns", "gb_per_s"}`, nearest first, without a bandwidth
    for registers; `latency` the same by the size of the array, `{"kib", "cycles", "ns"}`. `waits` has for each number of warps `{"warps", "cycles", "turns"}`: of all turns together, and
    for some of them `[warp, asked, came]` each, in cycles. `places` has for each launch `{"blocks", "threads",
    "registers", "shared_bytes", "stay_ns", "took_ns", "held"}`: blocks that each multiprocessor held, moment by
    moment. `limits` are what a multiprocessor can hold, by the driver's names; `digests` what was compiled.
    Raises `NotAvailable` where the kernels cannot be compiled.
    """
    parts = {"memory": _memory, "waits": _waits, "places": _places}
    timed = run_cells(list(parts), lambda part, _: parts[part](), progress)
    for part, reason in timed.pop("skipped").items():
        raise NotAvailable(f"{part}: {reason}")
    for found in timed.pop("rows"):
        timed |= found
    return {"protocol": PROTOCOL, **timed, "limits": _limits(), "digests": digests()}


def digests() -> dict[str, str]:
    """What identifies each probe of this suite, by the stem of its file."""
    files = sorted((KERNEL_FOLDER / "probes" / FOLDER).glob("*.cu"))
    return {path.stem: probe_program(f"{FOLDER}/{path.stem}").digest for path in files}


def _limits() -> dict[str, int]:
    import cupy

    names = (
        "WarpSize", "MaxThreadsPerBlock", "MaxThreadsPerMultiProcessor", "MaxBlocksPerMultiprocessor",
        "MaxRegistersPerMultiprocessor", "MaxSharedMemoryPerMultiprocessor",
    )  # fmt: skip
    attributes = cupy.cuda.Device(torch.cuda.current_device()).attributes
    return {name: int(attributes[name]) for name in names}


def _memory() -> dict[str, Any]:
    latency = [
        {**one.at, **{unit: round(value, 2) for unit, value in one.found.items()}}
        for one in latencies(ONCE_AROUND)
    ]
    return {"latency": latency, "rows": list(_levels(latency))}


def _levels(latency: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    by_kib = {one["kib"]: one["cycles"] for one in latency}
    waits = {"registers": _chain_cycles(0), "shared memory": _chain_cycles(1)}
    waits |= {level: by_kib[kib] for level, kib in LATENCY_KIB.items()}
    cycles_a_ns = statistics.median(one["cycles"] / one["ns"] for one in latency)
    for level, cycles in waits.items():
        times = {"cycles": round(cycles, 2), "ns": round(cycles / cycles_a_ns, 2)}
        speed = {"gb_per_s": round(_gb_per_s(STREAMS[level]), 1)} if level in STREAMS else {}
        yield {"level": level, **times, **speed}


def _chain_cycles(shared: int) -> float:
    """Cycles of one operation that waits for the one before: a load of shared memory, or arithmetic in registers."""
    run = probe_function(f"{FOLDER}/chain", "probe_chain", (("SHARED", shared),))
    chain = random_chain(CHAIN_PLACES, words=1)
    spent = torch.zeros(2, device="cuda", dtype=torch.int64)
    for _ in range(2):  # the first brings the code into its cache
        run(1, 1, chain, spent, CHAIN_HOPS)
    return int(spent[0].item()) / CHAIN_HOPS


def _gb_per_s(stream: Stream) -> float:
    """What all multiprocessors together read of a kind of memory."""
    defines = (("PLACE", stream.place), ("BLOCK", BLOCK), ("LOADS", stream.loads))
    run = probe_function(f"{FOLDER}/stream", "probe_stream", defines)
    blocks = multiprocessors()
    x = torch.rand(blocks * stream.piece * 4, device="cuda")
    sink = torch.zeros(1, device="cuda")
    time_us = median_us(partial(run, blocks, BLOCK, x, sink, stream.piece, stream.times))
    return blocks * stream.piece * FLOAT4_BYTES * stream.times / time_us / 1e3


def _waits() -> dict[str, Any]:
    chain = random_chain(WAIT_CHAIN_LINES)
    entries = iter((LINE_WORDS * torch.randperm(WAIT_CHAIN_LINES, device="cuda")).int())
    _wait(1, chain, entries)  # brings the code into its cache
    return {"waits": [_as_waits(n, _wait(n, chain, entries)) for n in WAITING_WARPS]}


def _wait(warps: int, chain: torch.Tensor, entries: Iterator[torch.Tensor]) -> list[Any]:
    """The clock of each turn of each warp, from the first load on; each warp enters the chain elsewhere."""
    run = probe_function(f"{FOLDER}/waits", "probe_waits")
    starts = torch.stack([next(entries) for _ in range(warps)])
    spent = torch.zeros((warps, WAIT_TURNS, 2), device="cuda", dtype=torch.int64)
    sink = torch.zeros(1, device="cuda")
    run(1, warps * WARP, chain, starts, spent, sink, WAIT_TURNS, WAIT_WORK)
    return (spent - spent.min()).tolist()


def _as_waits(warps: int, clock: list[list[list[int]]]) -> dict[str, Any]:
    drawn = DRAWN_TURNS if warps in DRAWN_WARPS else 0
    turns = [[warp, *turn] for warp, of in enumerate(clock) for turn in of[:drawn]]
    return {"warps": warps, "cycles": max(of[-1][1] for of in clock), "turns": turns}


def _places() -> dict[str, Any]:
    return {"places": [place for room in ROOMS for place in _places_in(room)]}


def _places_in(room: Room) -> Iterator[dict[str, Any]]:
    """The quickest of some launches of each number of blocks."""
    (code,) = resources(probe_program(f"{FOLDER}/places", room), arch_of())
    run = probe_function(f"{FOLDER}/places", "probe_places", room)
    threads, sink = dict(room)["BLOCK"], torch.zeros(1, device="cuda")
    taken = {"registers": code.registers, "shared_bytes": code.shared_bytes, "stay_ns": STAY_NS}
    for blocks in PLACED_BLOCKS:
        found = torch.zeros((blocks, 3), device="cuda", dtype=torch.int64)
        seen = []
        for _ in range(LAUNCHES):
            run(blocks, threads, found, sink, STAY_NS)
            seen.append(held(found.tolist(), STAY_NS))
        best = min(seen, key=lambda one: one["took_ns"])
        yield {"blocks": blocks, "threads": threads, **taken, **best}


def held(found: list[list[int]], stay_ns: int) -> dict[str, Any]:
    """Of blocks that note (multiprocessor, begin, end): how long all took, and who held how many, once in each stay.

    The moments are half a stay after the first block began, and then a stay apart.
    """
    first, last = min(begin for _, begin, _ in found), max(end for _, _, end in found)
    moments = range(first + stay_ns // 2, last, stay_ns)
    count = max(multiprocessor for multiprocessor, _, _ in found) + 1
    counts = [[0] * max(count, multiprocessors()) for _ in moments]
    for multiprocessor, begin, end in found:
        for at, now in enumerate(moments):
            counts[at][multiprocessor] += begin <= now < end
    return {"took_ns": last - first, "held": counts}
