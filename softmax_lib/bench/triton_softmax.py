"""Softmax in Triton, the whole row in one tile: a program per row, and as its tutorial has it today."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.runtime import driver

LONGEST_ROW = 65536
"""Beyond this a tile no longer fits into the registers of one program."""


@triton.jit
def _softmax_tile(x, y, cols, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    start = tl.program_id(0).to(tl.int64) * cols
    at = tl.arange(0, TILE)
    row = tl.load(x + start + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    power = tl.exp(row - tl.max(row, axis=0))
    tl.store(y + start + at, power / tl.sum(power, axis=0), mask=at < cols)


def softmax_tile(x: Tensor, out: Tensor) -> Tensor:
    """Softmax of each row of a contiguous (rows, cols) CUDA tensor of any float dtype, into `out`.

    Raises ValueError for rows of more than 65536 elements.
    """
    rows, cols = x.shape
    tile = _tile(cols)
    warps = min(32, max(4, tile // 1024))
    with torch.cuda.device(x.device):
        _softmax_tile[(rows,)](x, out, cols, TILE=tile, num_warps=warps)
    return out


def _tile(cols: int) -> int:
    if cols > LONGEST_ROW:
        raise ValueError(f"a row of {cols} elements does not fit one tile; at most {LONGEST_ROW}")
    return triton.next_power_of_2(cols)


@triton.jit
def _softmax_persistent(x, y, rows, cols, TILE: tl.constexpr, STAGES: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.arange(0, TILE)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        start = row.to(tl.int64) * cols
        values = tl.load(x + start + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        power = tl.exp(values - tl.max(values, axis=0))
        tl.store(y + start + at, power / tl.sum(power, axis=0), mask=at < cols)


WARPS = 8
_resident: dict[tuple, tuple[int, int]] = {}
"""Programs that the whole GPU holds at once, and stages, by tile, dtype and device: asked for once."""


def softmax_persistent(x: Tensor, out: Tensor) -> Tensor:
    """The same as the tutorial computes it: as many programs as fit at once, each of which goes through
    many rows and prefetches the next by its choice of stages.

    Takes what `softmax_tile` takes; raises Triton's OutOfResources where the stages need more shared
    memory than there is.
    """
    rows, cols = x.shape
    tile = _tile(cols)
    with torch.cuda.device(x.device):
        key = (tile, x.dtype, x.device.index)
        if key not in _resident:
            _resident[key] = _occupancy(x, out, tile)
        programs, stages = _resident[key]
        grid = (min(rows, programs),)
        _softmax_persistent[grid](x, out, rows, cols, TILE=tile, STAGES=stages, num_warps=WARPS)
    return out


def _occupancy(x: Tensor, out: Tensor, tile: int) -> tuple[int, int]:
    """Programs at once and stages, by the tutorial's rules."""
    facts = driver.active.utils.get_device_properties(x.device.index)
    stages = 4 if facts["max_shared_mem"] > 200_000 else 2
    compiled: Any = _softmax_persistent.warmup(
        x, out, x.shape[0], x.shape[1], TILE=tile, STAGES=stages, num_warps=WARPS, grid=(1,)
    )
    compiled._init_handles()
    by_registers = facts["max_num_regs"] // (compiled.n_regs * facts["warpSize"] * WARPS)
    by_shared = facts["max_shared_mem"] // max(1, compiled.metadata.shared)
    return max(1, min(by_registers, by_shared)) * facts["multiprocessor_count"], stages
