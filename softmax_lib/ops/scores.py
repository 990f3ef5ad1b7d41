"""Scores of attention, `scale * x + mask` where a query sees no later key: in torch's words, and how a mask lies in memory."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def merged_steps(sizes: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """(rows, step) of these dimensions from the innermost out, those as one that lie one behind another."""
    steps: list[tuple[int, int]] = []
    for size, step in reversed([*zip(sizes, strides, strict=True)]):
        if size == 1:
            continue
        if steps and step == steps[-1][0] * steps[-1][1]:
            steps[-1] = steps[-1][0] * size, steps[-1][1]
        else:
            steps.append((size, step))
    return steps


def mask_steps(mask: Tensor, shape: torch.Size) -> tuple[tuple[int, int], ...] | None:
    """`Scaling.mask` of a mask for scores of this shape; None with more steps than three, or rows in pieces."""
    mask = mask.expand(shape)
    if shape[-1] > 1 and mask.stride(-1) != 1:
        return None
    steps = merged_steps(shape[:-1], mask.stride()[:-1])
    return tuple(steps) if len(steps) <= 3 else None


def added_up(x: Tensor, mask: Tensor | None, scale: float, causal: bool) -> Tensor:
    """scale * x + mask, of 16 bits as float32, and -inf where a query does not look."""
    scores = (x.float() if x.itemsize < 4 else x) * scale
    if mask is not None:
        scores = scores + mask
    return scores.masked_fill(later_keys(x), -torch.inf) if causal else scores


def later_keys(x: Tensor) -> Tensor:
    """What a query of these scores does not see, (queries, keys)."""
    return torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
