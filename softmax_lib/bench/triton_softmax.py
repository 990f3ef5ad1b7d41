"""Softmax in Triton, after its tutorial: one program a row, the whole row in one tile."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

LONGEST_ROW = 65536
"""Beyond this a tile no longer fits into the registers of one program."""


@triton.jit
def _softmax_tile(x, y, cols, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    start = tl.program_id(0).to(tl.int64) * cols
    at = tl.arange(0, TILE)
    row = tl.load(x + start + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    power = tl.exp(row - tl.max(row, axis=0))
    tl.store(y + start + at, power / tl.sum(power, axis=0), mask=at < cols)


def softmax_triton(x: Tensor, out: Tensor) -> Tensor:
    """Softmax of each row of a contiguous (rows, cols) CUDA tensor of any float dtype, into `out`.

    Raises ValueError for rows of more than 65536 elements.
    """
    rows, cols = x.shape
    if cols > LONGEST_ROW:
        raise ValueError(f"a row of {cols} elements does not fit one tile; at most {LONGEST_ROW}")
    tile = triton.next_power_of_2(cols)
    warps = min(32, max(4, tile // 1024))
    with torch.cuda.device(x.device):
        _softmax_tile[(rows,)](x, out, cols, TILE=tile, num_warps=warps)
    return out
