"""The traffic ledger's left side: how many bytes a kernel should move, from how its lanes lie.

Memory moves in sectors of 32 bytes. A warp's request costs one for each sector that any of its lanes
touches, however few of the 32 bytes they asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from softmax_lib.engine.source import WARP
from softmax_lib.engine.xrays.lines import SECTOR_BYTES
from softmax_lib.worklog.kernel import Kernel, Pattern

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
    return Traffic(
        SECTOR_BYTES * sum(_sectors(p, rows, cols, block_size, lanes) for p in kernel.loads),
        SECTOR_BYTES * sum(_sectors(p, rows, cols, block_size, lanes) for p in kernel.stores),
        2 * 4 * rows * cols,
    )


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
