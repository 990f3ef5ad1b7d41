"""The traffic ledger's left side: how many bytes a kernel should move, from how its lanes lie.

Memory moves in sectors of 32 bytes. A warp's request costs one for each sector that any of its lanes
touches, however few of the 32 bytes they asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softmax_lib.registry import Kernel, Pattern
from softmax_lib.source import WARP

SECTOR_BYTES = 32
_FLOATS = SECTOR_BYTES // 4


@dataclass(frozen=True)
class Traffic:
    """Bytes that a kernel asks for, and bytes of the sectors that its warps touch."""

    load_bytes: int
    store_bytes: int
    load_sector_bytes: int
    store_sector_bytes: int
    floor_bytes: int

    @property
    def sector_bytes(self) -> int:
        """Bytes of all sectors, loaded and stored."""
        return self.load_sector_bytes + self.store_sector_bytes


def predict(kernel: Kernel, rows: int, cols: int, block_size: int) -> Traffic:
    """Bytes that the multiprocessors ask of L1, hits included, for a (rows, cols) float32 matrix.

    Takes an x and a y that start at a multiple of 32 bytes. `floor_bytes` is one read and one write.
    """
    reads, writes = kernel.traffic(cols)
    matrix_bytes = 4 * rows * cols
    return Traffic(
        reads * matrix_bytes,
        writes * matrix_bytes,
        SECTOR_BYTES * sum(_sectors(p, rows, cols, block_size) for p in kernel.loads),
        SECTOR_BYTES * sum(_sectors(p, rows, cols, block_size) for p in kernel.stores),
        2 * matrix_bytes,
    )


def _sectors(pattern: Pattern, rows: int, cols: int, block_size: int) -> int:
    elements = rows * cols
    match pattern:
        case "row a thread":
            return _down_rows(rows, cols)
        case "contiguous":
            return -(-elements // _FLOATS)
        case "one a row":  # a warp's elements lie in one row, but for the warps across its end
            return -(-elements // WARP)
        case "same row":
            return cols * -(-elements // WARP)
        case "strided":
            return _along_rows(rows, cols, lane_floats=1)
        case "strided float4":
            return _along_rows(rows, cols, lane_floats=4)
        case "chunk a thread":
            return _chunks(rows, cols, -(-cols // block_size))


def _down_rows(rows: int, cols: int) -> int:
    """A warp takes one column of 32 rows; lanes share a sector only where rows are shorter than one."""
    if cols >= _FLOATS:
        return rows * cols
    first = np.arange(0, rows, WARP, dtype=np.int64)
    last = np.minimum(first + WARP, rows) - 1
    columns = np.arange(cols)[:, None]
    return int(((last * cols + columns) // _FLOATS - (first * cols + columns) // _FLOATS + 1).sum())


def _along_rows(rows: int, cols: int, lane_floats: int) -> int:
    """A warp takes 32 * `lane_floats` neighbouring floats; a row may start anywhere in a sector."""
    starts = np.arange(rows, dtype=np.int64) * cols
    heads = np.minimum(-starts % lane_floats, cols)
    vectors = (cols - heads) // lane_floats
    bodies = (starts + heads) % _FLOATS
    request = WARP * lane_floats
    full, rest = np.divmod(vectors * lane_floats, request)
    tails = cols - heads - vectors * lane_floats
    sectors = full * -(-(bodies + request) // _FLOATS)
    sectors += np.where(rest > 0, -(-(bodies + rest) // _FLOATS), 0)
    return int((sectors + (heads > 0) + (tails > 0)).sum())


def _chunks(rows: int, cols: int, chunk: int) -> int:
    """Lanes are `chunk` floats apart and take their chunks in step."""
    if chunk >= _FLOATS:
        return rows * cols
    starts = np.arange(rows, dtype=np.int64) * cols % _FLOATS
    threads = -(-cols // chunk)
    full, rest = divmod(threads, WARP)
    span, rest_span = (WARP - 1) * chunk + 1, (rest - 1) * chunk + 1
    sectors = full * -(-(starts + span) // _FLOATS)
    if rest:
        sectors = sectors + -(-(starts + rest_span) // _FLOATS)
    return int(sectors.sum()) * chunk
