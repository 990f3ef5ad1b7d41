"""What one warp asks memory for: the addresses of each load request, read from a trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from softmax_lib import emulator
from softmax_lib.emulator import Trace
from softmax_lib.emulator.events import LOAD
from softmax_lib.errors import BadInput
from softmax_lib.registry import Kernel
from softmax_lib.source import WARP
from softmax_lib.xrays.prediction import SECTOR_BYTES

LINE_BYTES = 128
"""A cache line: four sectors, fetched one by one as they are asked for."""


@dataclass(frozen=True)
class Request:
    """One load by the lanes of a warp: the first byte each lane asks for, and how many.

    `addresses` are by lane, in bytes from the start of `array` as cudaMalloc aligns it; `number`
    counts from 1 up to `count`, the requests that this line of the source makes.
    """

    source_line: int
    array: str
    number: int
    count: int
    size: int
    addresses: dict[int, int]

    @property
    def sectors(self) -> tuple[int, ...]:
        """Numbers of the 32-byte sectors touched, rising."""
        firsts = np.array(list(self.addresses.values()))
        touched = [firsts // SECTOR_BYTES, (firsts + self.size - 1) // SECTOR_BYTES]
        return tuple(np.unique(touched).tolist())

    @property
    def lines(self) -> tuple[int, ...]:
        """Numbers of the 128-byte lines touched, rising."""
        a_line = LINE_BYTES // SECTOR_BYTES
        return tuple(sorted({sector // a_line for sector in self.sectors}))

    @property
    def asked_bytes(self) -> int:
        """Distinct bytes that lanes asked for."""
        return self.size * len(set(self.addresses.values()))

    @property
    def moved_bytes(self) -> int:
        """Bytes of the sectors that move."""
        return SECTOR_BYTES * len(self.sectors)


def warp_requests(
    kernel: Kernel, rows: int, cols: int, block_size: int, load: int = 0
) -> list[Request]:
    """The requests of the first warp's load number `load`, counted as they stand in the source.

    The kernel runs in the emulator on (rows, cols) zeros; of them, the first block is traced.
    Raises `BadInput` when there is no such load, and what `run` and `trace` raise.
    """
    block_size = kernel.settle_block_size(block_size, cols)
    x = torch.zeros(min(rows, WARP), cols)
    trace = emulator.trace(kernel, x, block_size, grid=1)
    lanes = _global_loads(trace)
    lines = np.unique(lanes["line"])
    if not 0 <= load < len(lines):
        raise BadInput(f"{kernel.name} has {len(lines)} loads from global memory, numbered from 0.")
    return in_step(trace, lanes[lanes["line"] == lines[load]])


def _global_loads(trace: Trace) -> np.ndarray:
    events = trace.events
    shared = [i for i, array in enumerate(trace.arrays) if array.is_shared]
    first_warp = (events["block"] == 0) & (events["thread"] < trace.warp_size)
    loads = (events["operation"] == LOAD) & ~np.isin(events["array"], shared)
    return events[first_warp & loads & (events["step"] == 0)]


def in_step(trace: Trace, events: np.ndarray) -> list[Request]:
    """The requests that accesses of one line make: the n-th time of each lane belongs together."""
    array = trace.arrays[int(events["array"][0])]
    bytes_from_start = events["address"].astype(np.int64) - array.address // 256 * 256
    together: list[dict[int, int]] = []
    times: dict[int, int] = {}
    for lane, address in zip(events["thread"].tolist(), bytes_from_start.tolist(), strict=True):
        time = times[lane] = times.get(lane, -1) + 1
        if time == len(together):
            together.append({})
        together[time][lane] = address
    line, size = int(events["line"][0]), int(events["size"][0])
    return [
        Request(line, array.name, number, len(together), size, addresses)
        for number, addresses in enumerate(together, 1)
    ]
