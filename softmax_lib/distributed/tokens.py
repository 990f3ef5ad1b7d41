"""The largest probabilities, tokens' logarithms of them and the cross-entropy, over logits whose vocabulary is sharded."""

from __future__ import annotations

from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor

from softmax_lib.distributed.dtensors import Cut, of_shards
from softmax_lib.distributed.functions import _Softmax, needs_gradient
from softmax_lib.distributed.merging import (
    logarithms,
    merged,
    pair_of,
    probabilities,
    widened,
)
from softmax_lib.distributed.rooms import Room, in_rows, known_room
from softmax_lib.distributed.shards import TIMEOUT_S, Shards, agree
from softmax_lib.ops.arguments import check_tensor
from softmax_lib.ops.topk import TopK, checked_k, search
from softmax_lib.worklog.errors import BadInput, WrongType

IGNORED = -100
"""The target that torch's cross_entropy leaves out, too."""


def topk(
    x_shard: Tensor, k: int, group: dist.ProcessGroup | None = None, *, timeout_s: float = TIMEOUT_S
) -> TopK:
    """The `k` largest of the whole row's `softmax(x, -1)`, and their columns in it: the same on every rank.

    Both are (..., k), as `softmax_topk` has them: the largest first, equal ones by their columns, NaN before all;
    1 <= k <= min(columns of the row, 128). k numbers and their places cross from rank to rank, and no row. Values have
    a gradient. Raises what `softmax` of this module does, and what `softmax_topk` does for a k.
    """
    return _largest("topk", x_shard, k, group, timeout_s)


def argmax(
    x_shard: Tensor, group: dist.ProcessGroup | None = None, *, timeout_s: float = TIMEOUT_S
) -> Tensor:
    """The column of the whole row's largest number, (...) int64: the token that greedy sampling takes. See `topk`."""
    return _largest("argmax", x_shard, 1, group, timeout_s).indices[..., 0]


def log_probabilities(
    x_shard: Tensor,
    tokens: Tensor,
    group: dist.ProcessGroup | None = None,
    *,
    timeout_s: float = TIMEOUT_S,
) -> Tensor:
    """log(softmax(x, -1)) at one token a row: float32, or float64 of a float64 x, the same on every rank.

    `tokens` (...) are columns of the whole row, int64, and the same on every rank. It has a gradient. Raises what `softmax`
    of this module does, `WrongType` and `BadInput` for tokens that are none.
    """
    with of_shards(x_shard, group) as cut:
        tokens = cut.local(tokens)
        shards = _agree_on_tokens("log_probabilities", cut, tokens, timeout_s, None)
        return cut.as_rows(_LogProbabilities.apply(cut.x, tokens, shards))


def cross_entropy(
    x_shard: Tensor,
    targets: Tensor,
    group: dist.ProcessGroup | None = None,
    *,
    ignore_index: int = IGNORED,
    reduction: Literal["mean", "sum", "none"] = "mean",
    timeout_s: float = TIMEOUT_S,
) -> Tensor:
    """`torch.nn.functional.cross_entropy` of the whole rows: float32, or float64 of a float64 x, the same on every rank.

    `targets` (...) are columns of the whole row, int64, and the same on every rank; those that are `ignore_index` count
    as 0 and not in the mean. Raises what `log_probabilities` does, and `BadInput` for another reduction, or one
    where a DTensor's rows are cut too, for which reduction="none" is.
    """
    if reduction not in ("mean", "sum", "none"):
        raise BadInput(f"reduction is {reduction!r}; it is 'mean', 'sum' or 'none'.")
    with of_shards(x_shard, group) as cut:
        if reduction != "none" and not cut.has_all_rows:
            raise BadInput(
                "Rows of x are cut, too: ask for reduction='none', and add up what ranks have."
            )
        targets = cut.local(targets)
        shards = _agree_on_tokens("cross_entropy", cut, targets, timeout_s, ignore_index)
        counts = targets != ignore_index
        losses = -_LogProbabilities.apply(cut.x, targets.where(counts, 0), shards)
        losses = losses.where(counts, 0)
        if reduction == "none":
            return cut.as_rows(losses)
        total = losses.sum()
        return cut.as_rows(total / counts.sum() if reduction == "mean" else total)


def _largest(
    call: str, x: Tensor, k: int, group: dist.ProcessGroup | None, timeout_s: float
) -> TopK:
    room = known_room(x, group)
    if room is not None and type(x) is Tensor and not needs_gradient(x):
        return TopK(*_first(x, checked_k(k, room.ranks * x.shape[-1]), room, timeout_s))
    with of_shards(x, group) as cut:
        shards = agree(call, cut.x, cut.group, timeout_s, lambda _, cols: checked_k(k, cols))
        values, indices = _TopK.apply(cut.x, int(k), shards)
        return TopK(cut.as_rows(values), cut.as_rows(indices))


def _first(x: Tensor, k: int, room: Room, timeout_s: float) -> tuple[Tensor, Tensor]:
    """The k first of whole rows and where they are, by kernels."""
    x = in_rows(x)
    values = x.new_empty((*x.shape[:-1], k))
    indices = torch.empty_like(values, dtype=torch.int64)
    if values.numel():
        places, pairs = search(x, min(k, x.shape[-1]))
        room.find(x, places, pairs, values, indices, timeout_s)
    return values, indices


class _TopK(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, k: int, shards: Shards) -> tuple[Tensor, Tensor]:
        ctx.shards = shards
        if shards.room is not None:
            values, indices = _first(x, k, shards.room, shards.timeout_s)
            ctx.mark_non_differentiable(indices)
            ctx.save_for_backward(x, values, indices)
            return values, indices
        places = torch.sort(x, dim=-1, descending=True, stable=True)[1][..., :k]
        numbers = torch.cat(tuple(shards.gather(x.gather(-1, places))), -1)
        columns = torch.cat(tuple(shards.gather(places + shards.first)), -1)
        # of equal ones those of the first rank, so of the first columns, come first
        order = torch.sort(numbers, dim=-1, descending=True, stable=True)[1][..., :k]
        top, total = merged(shards.gather(pair_of(x)))
        values = probabilities(numbers.gather(-1, order), top, total).to(x.dtype)
        indices = columns.gather(-1, order)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(x, values, indices)
        return values, indices

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor | None) -> tuple:
        x, values, indices = ctx.saved_tensors
        drawn = widened(values) * widened(grad)
        y = _Softmax.apply(x, ctx.shards, False)  # anew, for it is of x's size
        made = -widened(y) * drawn.sum(-1, keepdim=True)
        own, is_mine = _own(indices, ctx.shards)
        return made.scatter_add(-1, own, drawn.where(is_mine, 0)).to(x.dtype), None, None


class _LogProbabilities(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, tokens: Tensor, shards: Shards) -> Tensor:
        room, tokens = shards.room, tokens.contiguous()
        if room is not None:
            x = in_rows(x)
            found = x.new_empty((*x.shape[:-1], 1), dtype=torch.float32)
            wholes = x.new_empty((*x.shape[:-1], 2), dtype=torch.float32)
            if found.numel():
                _, pairs = search(x, 1)
                room.find(x, tokens[..., None], pairs, found, wholes, shards.timeout_s, log=True)
        else:
            own, is_mine = (one[..., None] for one in _own(tokens, shards))
            scores = x.gather(-1, own).double().masked_fill(~is_mine, -torch.inf)
            told = shards.gather(torch.cat((pair_of(x), scores), -1))
            top, total = merged(told[..., :2])
            found = logarithms(told[..., 2:].amax(0).to(widened(x).dtype), top, total)
            wholes = torch.cat((top, total.log()), -1)
        ctx.shards = shards
        ctx.save_for_backward(x, tokens, wholes)
        return found[..., 0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        x, tokens, wholes = ctx.saved_tensors
        room, made = ctx.shards.room, torch.empty_like(x, memory_format=torch.contiguous_format)
        if room is not None:
            if made.numel():
                room.lose(x, tokens, made, wholes, grad.float().contiguous())
            return made, None, None
        own, is_mine = (one[..., None] for one in _own(tokens, ctx.shards))
        top, log_total = wholes.to(widened(x).dtype).split(1, -1)
        made = -(widened(x) - top - log_total).exp() * grad[..., None]
        drawn = grad[..., None].to(made.dtype).where(is_mine, 0)
        return made.scatter_add(-1, own, drawn).to(x.dtype), None, None


def _own(columns: Tensor, shards: Shards) -> tuple[Tensor, Tensor]:
    """Where columns of the row lie in this rank's shard, 0 for those that lie elsewhere; and which do not."""
    own = columns - shards.first
    is_mine = (own >= 0) & (own < shards.cols)
    return own.where(is_mine, 0), is_mine


def _agree_on_tokens(
    call: str, cut: Cut, tokens: object, timeout_s: float, ignored: int | None
) -> Shards:
    def check(x: Tensor, cols: int) -> int:
        check_tensor("tokens", tokens)
        assert isinstance(tokens, Tensor)
        if tokens.dtype is not torch.int64:
            raise WrongType(f"tokens are {tokens.dtype}; they have to be torch.int64.")
        if tokens.shape != x.shape[:-1] or tokens.device != x.device:
            raise BadInput(
                f"tokens have shape {tuple(tokens.shape)} on {tokens.device}; of x_shard {tuple(x.shape)} on {x.device} "
                f"they are {tuple(x.shape[:-1])} there."
            )
        if tokens.is_cuda or not tokens.numel():
            return 0
        wrong = (tokens < 0) | (tokens >= cols)
        if ignored is not None:
            wrong &= tokens != ignored
        if wrong.any():
            raise BadInput(
                f"A token is {int(tokens[wrong][0])}; the row has columns 0 to {cols - 1}."
            )
        return int(tokens.sum())

    return agree(call, cut.x, cut.group, timeout_s, check)
