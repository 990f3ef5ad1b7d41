"""Probes of the GPU itself: what a load waits for, what keeps memory busy, what a scattered request costs.

Each launches a small kernel of `kernels/probes` that does one thing; none computes a softmax.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import torch

from softmax_lib.engine.source import Program, Source
from softmax_lib.gpu.compile import load
from softmax_lib.records.measurement import Probe
from softmax_lib.worklog.files import KERNEL_FOLDER

LATENCY_KIB = tuple(4 * 2**power for power in range(19))
"""Sizes of the array that a chain of loads runs through: from well inside L1 to 1 GiB."""

LINE_WORDS = 32
"""Words of a cache line: the chain takes each line once, in random order."""

HOPS = 1 << 16

READ_BYTES = 1 << 30
IN_FLIGHT = tuple(
    (block, loads, width)
    for width in (4, 16)
    for block, loads in (
        (32, 1), (64, 1), (128, 1), (256, 1), (512, 1), (1024, 1),
        (256, 4), (512, 4), (1024, 2), (1024, 4), (1024, 8), (1024, 16),
    )
    if block * loads * width <= 128 * 1024
)  # fmt: skip
"""Threads per block, loads per thread and bytes per load; one block per multiprocessor."""

LINES = (1, 2, 4, 8, 16, 32)
TIMES = 4096

BLOCKS = (132, 1056, 4096, 8192, 16384, 32768, 65536)
BLOCK_THREADS = (32, 128, 256, 1024)
LAUNCHES = 20
"""Launches of a kernel that does nothing, in one graph: so none of them waits for the host."""


def probe_all() -> Iterator[Probe]:
    """Every probe of a record, in order."""
    yield from latencies()
    yield from read_bandwidths()
    yield from scattered_requests()
    yield from block_starts()


def latencies(most_hops: int = 0) -> Iterator[Probe]:
    """Cycles and nanoseconds of one load that the next one waits for, by the size of the array.

    Each chain is followed once untimed and once timed, HOPS hops far: or once around, where that is farther, but not
    farther than `most_hops`.
    """
    run = probe_function("latency", "probe_latency")
    for kib in LATENCY_KIB:
        lines = kib * 1024 // (4 * LINE_WORDS)
        hops = max(HOPS, min(lines, most_hops))
        spent = torch.zeros(3, device="cuda", dtype=torch.int64)
        run(1, 1, random_chain(lines), spent, hops)
        cycles, ns, _ = spent.tolist()
        yield Probe("latency", {"kib": kib}, {"cycles": cycles / hops, "ns": ns / hops})


def random_chain(lines: int, words: int = LINE_WORDS) -> torch.Tensor:
    """Where to go from each line of so many words, so that all of them make one round in random order."""
    order = torch.randperm(lines, device="cuda", generator=torch.Generator("cuda").manual_seed(0))
    chain = torch.zeros(lines * words, device="cuda", dtype=torch.int32)
    chain[order * words] = (order.roll(-1) * words).int()
    return chain


def read_bandwidths() -> Iterator[Probe]:
    """GB/s of reading 1 GiB, by how many bytes each multiprocessor has asked for at a time."""
    x = torch.zeros(READ_BYTES // 4, device="cuda")
    sink = torch.zeros(1, device="cuda")
    for block, loads, width in IN_FLIGHT:
        defines = (("BLOCK", block), ("LOADS", loads), ("WIDTH", width))
        run = probe_function("in_flight", "probe_in_flight", defines)
        time_us = median_us(partial(run, multiprocessors(), block, x, sink, READ_BYTES // width))
        at = {"threads": block, "loads": loads, "width": width, "bytes": block * loads * width}
        yield Probe("read bandwidth", at, {"gb_per_s": READ_BYTES / time_us / 1e3})


def scattered_requests() -> Iterator[Probe]:
    """Cycles that a multiprocessor spends on one request of a warp, by the cache lines it touches."""
    for stores in (0, 1):
        for lines in LINES:
            defines = (("BLOCK", 1024), ("LINES", lines), ("STORES", stores))
            run = probe_function("scatter", "probe_scatter", defines)
            x = torch.zeros(8192, device="cuda")
            spent = torch.zeros(1, device="cuda", dtype=torch.int64)
            for _ in range(2):  # the first brings x into L1
                run(1, 1024, x, spent, TIMES)
            cycles = spent.item() / (1024 // 32 * TIMES)
            at = {"lines": lines, "stores": stores}
            yield Probe("scattered request", at, {"cycles": cycles})


def block_starts() -> Iterator[Probe]:
    """Microseconds of a launch that does nothing, by its blocks and their threads."""
    run = probe_function("blocks", "probe_blocks")
    sink = torch.zeros(1, device="cuda")
    for threads in BLOCK_THREADS:
        for blocks in BLOCKS:
            launch = partial(run, blocks, threads, sink, blocks)
            launch()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(LAUNCHES):
                    launch()
            time_us = median_us(graph.replay) / LAUNCHES
            yield Probe("block starts", {"blocks": blocks, "threads": threads}, {"us": time_us})


def probe_function(
    name: str, entry: str, defines: tuple[tuple[str, int], ...] = ()
) -> Callable[..., None]:
    """The kernel of `kernels/probes/<name>.cu`, to be called with blocks, threads and its arguments."""
    return launcher(probe_program(name, defines), entry)


def probe_program(name: str, defines: tuple[tuple[str, int], ...] = ()) -> Program:
    """What is compiled of `kernels/probes/<name>.cu`."""
    return Program(Source.read(KERNEL_FOLDER / "probes" / f"{name}.cu"), defines)


def launcher(program: Program, entry: str) -> Callable[..., None]:
    """A kernel with an interface of its own, to be called with blocks, threads and its arguments."""
    function = load(program, torch.cuda.current_device()).get_function(entry)

    def launch(blocks: int, threads: int, *arguments: Any) -> None:
        import cupy

        given = [a.data_ptr() if isinstance(a, torch.Tensor) else cupy.int32(a) for a in arguments]
        stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
        with stream:
            function((blocks,), (threads,), tuple(given))

    return launch


def multiprocessors() -> int:
    return torch.cuda.get_device_properties().multi_processor_count


def median_us(call: Callable[[], None], times: int = 9) -> float:
    """Median microseconds of one call on the device, which takes far longer than its launch."""
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(times + 1)]
    call()
    for mark in marks[:-1]:
        mark.record()
        call()
    marks[-1].record()
    torch.cuda.synchronize()
    return 1e3 * statistics.median(a.elapsed_time(b) for a, b in pairwise(marks))
