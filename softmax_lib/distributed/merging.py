"""A row's maximum and its sum of exponentials, from those of its shards: the operator of chapter 1."""

from __future__ import annotations

import torch
from torch import Tensor


def pair_of(x: Tensor) -> Tensor:
    """Of a shard (..., cols), for each row its maximum and the sum of exp(x - maximum), (..., 2) in float64."""
    numbers = widened(x)
    top = numbers.amax(-1, keepdim=True) if x.shape[-1] else numbers.new_full((*x.shape[:-1], 1), -torch.inf)  # fmt: skip
    sums = torch.exp(numbers - _shift(top)).sum(-1, keepdim=True, dtype=torch.float64)
    return torch.cat((top.double(), sums), -1)


def merged(pairs: Tensor) -> tuple[Tensor, Tensor]:
    """Maximum and sum of whole rows, (..., 1) each in float64, of the pairs of shards (ranks, ..., 2)."""
    tops, sums = pairs[..., :1], pairs[..., 1:]
    top = tops.amax(0)
    return top, (sums * torch.exp(tops - _shift(top))).sum(0)


def probabilities(x: Tensor, top: Tensor, total: Tensor) -> Tensor:
    """exp(x - top) / total, computed in float32 at least; NaN of a row with nothing but -inf."""
    numbers = widened(x)
    return torch.exp(numbers - top.to(numbers.dtype)) * (1 / total).to(numbers.dtype)


def logarithms(x: Tensor, top: Tensor, total: Tensor) -> Tensor:
    """x - top - log(total), computed in float32 at least."""
    numbers = widened(x)
    return numbers - top.to(numbers.dtype) - total.log().to(numbers.dtype)


def widened(x: Tensor) -> Tensor:
    """16 bits as float32."""
    return x.float() if x.itemsize == 2 else x


def _shift(top: Tensor) -> Tensor:
    """What is taken off: nothing where there is nothing but -inf, for -inf - -inf is NaN."""
    return top.masked_fill(top == -torch.inf, 0)
