"""What warps ask memory for: the addresses of each request, read from a trace, and all sectors, predicted.

Global memory answers in sectors of 32 bytes on lines of 128; shared memory in wavefronts, in which
each of its 32 banks serves one word.
"""

from __future__ import annotations

from collections.abc import Iterable
from ctypes import c_uint32, c_uint64
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Any

import numpy as np

from softmax_lib.engine.compiled.library import library
from softmax_lib.engine.source import WARP
from softmax_lib.engine.words import count
from softmax_lib.engine.written import Trace
from softmax_lib.engine.written.structs import Operation
from softmax_lib.engine.xrays.lines import SECTOR_BYTES
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.kernel import Kernel, Pattern
from softmax_lib.worklog.launch import trace

LINE_BYTES = 128
"""A cache line: four sectors, fetched one by one as they are asked for."""

BANKS, WORD_BYTES = 32, 4

Wavefront = dict[int, list[int]]
"""The lanes that each bank serves in one pass, by the number of the bank."""


@dataclass(frozen=True)
class Request:
    """One access by the lanes of a warp: the first byte each lane asks for, and how many.

    `addresses` are by lane, in bytes from the start of `array` as cudaMalloc aligns it; `number`
    counts the requests that this line of the source makes, from 1.
    """

    source_line: int
    array: str
    number: int
    size: int
    is_load: bool
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

    @property
    def wavefronts(self) -> list[Wavefront]:
        """What each pass of shared memory serves, of one part of the warp after the other."""
        together = self._lanes_together()
        groups = groupby(sorted(self.addresses), lambda lane: lane // together)
        return [wave for _, lanes in groups for wave in self._wavefronts_of(lanes)]

    def _lanes_together(self) -> int:
        """Neighbouring lanes that make one part of the warp, by the rules of counting."""
        lanes = c_uint32(sum(1 << lane for lane in self.addresses))
        by_lane = (c_uint64 * WARP)(*(self.addresses.get(lane, 0) for lane in range(WARP)))
        return library().count_lanes_together(lanes, by_lane, self.size, int(not self.is_load))

    def _wavefronts_of(self, lanes: Iterable[int]) -> list[Wavefront]:
        """A bank serves one word per pass, to all lanes that want it."""
        wanted: dict[int, dict[int, list[int]]] = {}  # lanes by bank and word
        for lane in lanes:
            first = self.addresses[lane] // WORD_BYTES
            for word in range(first, first + max(1, self.size // WORD_BYTES)):
                wanted.setdefault(word % BANKS, {}).setdefault(word, []).append(lane)
        passes = zip_longest(*(by_word.values() for by_word in wanted.values()))
        return [
            {bank: served for bank, served in zip(wanted, one, strict=True) if served}
            for one in passes
        ]


def global_requests(
    kernel: Kernel, rows: int, cols: int, block_size: int | None = None, load: int = 0
) -> list[Request]:
    """The requests of the first warp's load number `load` from global memory, as counted in the source.

    The kernel runs in the emulator on (rows, cols) zeros; of them, the first block is traced.
    Raises `BadInput` when there is no such load, and what `trace` raises.
    """
    traced, events = _first_warp(kernel, min(rows, WARP), cols, block_size, is_shared=False)
    events = events[(events["operation"] == Operation.LOAD) & (events["step"] == 0)]
    lines = np.unique(events["line"])
    if not 0 <= load < len(lines):
        raise BadInput(
            f"{kernel.name} has {count(len(lines), 'load')} from global memory, numbered from 0."
        )
    return _in_step(traced, events[events["line"] == lines[load]])


def shared_requests(
    kernel: Kernel, cols: int, block_size: int | None = None, access: int = 0
) -> list[Request]:
    """The first warp's requests of shared memory at the line number `access`, loads before stores.

    One row of `cols` zeros runs in the emulator. Raises `BadInput` when there is no such access, and
    what `trace` raises.
    """
    traced, events = _first_warp(kernel, 1, cols, block_size, is_shared=True)
    events = events[np.isin(events["operation"], (Operation.LOAD, Operation.STORE))]
    kinds = np.unique(events[["line", "operation"]])
    if not 0 <= access < len(kinds):
        raise BadInput(f"{kernel.name} has {len(kinds)} accesses to shared memory, from 0 on.")
    return _in_step(traced, events[events[["line", "operation"]] == kinds[access]])


def _first_warp(
    kernel: Kernel, rows: int, cols: int, block_size: int | None, *, is_shared: bool
) -> tuple[Trace, np.ndarray]:
    """A trace on zeros, and what the first warp did to shared arrays there, or to the others."""
    size = kernel.settle_block_size(block_size, cols)
    traced = trace(kernel, np.zeros((rows, cols), np.float32), size, grid=1)
    events = traced.events
    wanted = [i for i, array in enumerate(traced.arrays) if array.is_shared == is_shared]
    first_warp = (events["block"] == 0) & (events["thread"] < traced.warp_size)
    return traced, events[first_warp & np.isin(events["array"], wanted)]


def _in_step(traced: Trace, events: np.ndarray) -> list[Request]:
    """The requests that accesses of one line make: the n-th time of each lane belongs together."""
    array = traced.arrays[int(events["array"][0])]
    bytes_from_start = events["address"].astype(np.int64) - array.address // 256 * 256
    together: list[dict[int, int]] = []
    times: dict[int, int] = {}
    for lane, address in zip(events["thread"].tolist(), bytes_from_start.tolist(), strict=True):
        time = times[lane] = times.get(lane, -1) + 1
        if time == len(together):
            together.append({})
        together[time][lane] = address
    line, size = int(events["line"][0]), int(events["size"][0])
    is_load = bool(events["operation"][0] == Operation.LOAD)
    return [
        Request(line, array.name, number, size, is_load, addresses)
        for number, addresses in enumerate(together, 1)
    ]


# ---- the traffic ledger's left side: how many bytes a kernel should move, from how its lanes lie

# A warp's request costs a sector for each that any of its lanes touches, however few of the 32 bytes they asked for.
_FLOATS = SECTOR_BYTES // 4


@dataclass(frozen=True)
class Traffic:
    """Bytes of the sectors that a kernel's warps touch, and of one read and one write of its matrix."""

    load_sector_bytes: int
    store_sector_bytes: int
    floor_bytes: int

    @property
    def sector_bytes(self) -> int:
        """Bytes of all sectors, loaded and stored."""
        return self.load_sector_bytes + self.store_sector_bytes


def predict_traffic(kernel: Kernel, rows: int, cols: int, block_size: int) -> Traffic:
    """Bytes that the multiprocessors ask of L1, hits included, for a (rows, cols) float32 matrix.

    Takes an x and a y that start at a multiple of 32 bytes. `floor_bytes` is one read and one write.
    """
    lanes = dict(kernel.macros).get("LANES", WARP)
    loaded, stored = (
        SECTOR_BYTES * sum(_sectors(pattern, rows, cols, block_size, lanes) for pattern in passes)
        for passes in (kernel.loads, kernel.stores)
    )
    return Traffic(loaded, stored, 2 * 4 * rows * cols)


def _sectors(pattern: Pattern, rows: int, cols: int, block_size: int, lanes: int) -> int:
    """Sectors that all warps touch in one pass over the matrix, request by request."""
    elements = rows * cols
    match pattern:
        case "row a thread":
            return elements if cols >= _FLOATS else _by_lanes(rows, cols, 1)
        case "contiguous":
            return _blocks_of(_FLOATS, elements)
        case "value of the row":
            return rows * _blocks_of(WARP, block_size)
        case "same row":  # at each of the row's columns, one sector for all lanes of a warp
            return cols * _blocks_of(WARP, elements)
        case "strided":
            return _along_rows(rows, cols, lane_floats=1)
        case "by lanes":
            return _by_lanes(rows, cols, lanes)
        case "strided float4":
            return _along_rows(rows, cols, lane_floats=4)
        case "chunk a thread":
            return _chunks(rows, cols, _blocks_of(block_size, cols))


def _blocks_of(size: Any, count: Any) -> Any:
    """Blocks of `size` that `count` things fill or begin: numbers, or arrays of them."""
    return -(-count // size)


def _along_rows(rows: int, cols: int, lane_floats: int) -> int:
    """A warp takes 32 * `lane_floats` neighbouring floats; a row may start anywhere in a sector.

    Where lanes take four floats, single ones come before the first boundary of 16 bytes and after
    the last: one request each, and each within one sector.
    """
    starts = np.arange(rows, dtype=np.int64) * cols
    heads = np.minimum(-starts % lane_floats, cols)
    vectors = (cols - heads) // lane_floats
    tails = cols - heads - vectors * lane_floats
    into_sector = (starts + heads) % _FLOATS
    request = WARP * lane_floats
    full, rest = np.divmod(vectors * lane_floats, request)
    sectors = full * _blocks_of(_FLOATS, into_sector + request)
    sectors += np.where(rest > 0, _blocks_of(_FLOATS, into_sector + rest), 0)
    return int((sectors + (heads > 0) + (tails > 0)).sum())


def _by_lanes(rows: int, cols: int, lanes: int) -> int:
    """A request takes `lanes` neighbouring floats of each of a warp's rows, which may share a sector."""
    row = np.arange(rows, dtype=np.int64)
    same_warp = row[1:] % (WARP // lanes) > 0
    sectors = 0
    for col in range(0, cols, lanes):
        first = (row * cols + col) // _FLOATS
        last = (row * cols + min(col + lanes, cols) - 1) // _FLOATS
        sectors += int((last - first + 1).sum() - (same_warp & (first[1:] == last[:-1])).sum())
    return sectors


def _chunks(rows: int, cols: int, chunk: int) -> int:
    """Lanes are `chunk` floats apart and take their chunks in step, so `chunk` requests each."""
    if chunk >= _FLOATS:
        return rows * cols
    into_sector = np.arange(rows, dtype=np.int64) * cols % _FLOATS
    full, rest = divmod(_blocks_of(chunk, cols), WARP)
    # from the first lane's float to the last lane's
    span, rest_span = (WARP - 1) * chunk + 1, (rest - 1) * chunk + 1
    sectors = full * _blocks_of(_FLOATS, into_sector + span)
    if rest:
        sectors = sectors + _blocks_of(_FLOATS, into_sector + rest_span)
    return int(sectors.sum()) * chunk
