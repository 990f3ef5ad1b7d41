"""`softmax` and `log_softmax` of sharded rows, with gradients."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from softmax_lib.distributed.dtensors import of_shards
from softmax_lib.distributed.merging import (
    logarithms,
    merged,
    pair_of,
    probabilities,
    widened,
)
from softmax_lib.distributed.rooms import Room, in_rows, known_room
from softmax_lib.distributed.shards import TIMEOUT_S, Shards, agree


def softmax(
    x_shard: Tensor, group: dist.ProcessGroup | None = None, *, timeout_s: float = TIMEOUT_S
) -> Tensor:
    """This rank's shard of `softmax(x, -1)`, of x's shape and dtype.

    x_shard is (..., cols), columns rank * cols up to (rank + 1) * cols of rows that all ranks of `group` (the default one
    where it is None) have shards of, in float32, float16, bfloat16 or float64. Or it is a DTensor that one dimension of
    its mesh cuts along the last dimension: then that is the group, and the result is such a DTensor. It has a
    gradient, of which all ranks take part too.

    Raises `NotAvailable` where there is no process group; `WrongType` and `BadInput` for arguments that are none; `BadInput`
    on all ranks where their calls, rows, columns or dtypes differ; and `RankLost` on those that are left where one is
    gone or has not come within `timeout_s` seconds. Source: Milakov and Gimelshein, arXiv:1805.02867.
    """
    return _apply(x_shard, group, timeout_s, False)


def log_softmax(
    x_shard: Tensor, group: dist.ProcessGroup | None = None, *, timeout_s: float = TIMEOUT_S
) -> Tensor:
    """This rank's shard of `log_softmax(x, -1)`; see `softmax`."""
    return _apply(x_shard, group, timeout_s, True)


def _apply(x: Tensor, group: dist.ProcessGroup | None, timeout_s: float, log: bool) -> Tensor:
    room = known_room(x, group)
    if room is not None and type(x) is Tensor and not needs_gradient(x):
        return _by_kernel(x, room, log, timeout_s)
    with of_shards(x, group) as cut:
        shards = agree("log_softmax" if log else "softmax", cut.x, cut.group, timeout_s)
        return cut.as_x(_Softmax.apply(cut.x, shards, log))


def needs_gradient(x: Tensor) -> bool:
    return x.requires_grad and torch.is_grad_enabled()


def _by_kernel(x: Tensor, room: Room, log: bool, timeout_s: float) -> Tensor:
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    if x.numel():
        room.run(in_rows(x), None, y, log, timeout_s)
    return y


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, shards: Shards, log: bool) -> Tensor:
        if shards.room is None:
            top, total = merged(shards.gather(pair_of(x)))
            y = (logarithms if log else probabilities)(x, top, total).to(x.dtype)
        else:
            y = _by_kernel(x, shards.room, log, shards.timeout_s)
        ctx.shards, ctx.log = shards, log
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        (y,), shards = ctx.saved_tensors, ctx.shards
        if shards.room is not None:
            made = torch.empty_like(y)
            if y.numel():
                shards.room.run(y, in_rows(grad), made, ctx.log, shards.timeout_s)
            return made, None, None
        y, g = widened(y), widened(grad)
        mine = (g if ctx.log else y * g).sum(-1, keepdim=True, dtype=torch.float64)
        total = ctx.shards.gather(mine).sum(0).to(g.dtype)
        made = g - y.exp() * total if ctx.log else y * (g - total)
        return made.to(grad.dtype), None, None
