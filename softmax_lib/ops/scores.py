"""Softmax of scores, `scale * x + mask` where a query sees no later key: how its mask lies in memory, and its launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from softmax_lib.gpu.driver_api import OfThisThread
from softmax_lib.ops.launches import prepare
from softmax_lib.ops.outlines import Scaling
from softmax_lib.ops.plans import KEPT_AT_MOST, compute, layout, needs_edges, row_stride, task_of

Plan = Callable[[Tensor, "Tensor | None", Tensor], object]

_of_this_thread: OfThisThread[Plan] = OfThisThread()


def compute_scores(
    x: Tensor, mask: Tensor | None, result: Tensor, scale: float, causal: bool, log: bool
) -> None:
    """Softmax of `scale * x + mask` along the last dimension into `result`, on x's GPU and its current stream.

    The mask has x's dtype and a shape that broadcasts to x's. Raises `NotAvailable` where a kernel has
    to be compiled and cannot be.
    """
    device = x.get_device()
    if device != torch._C._cuda_getDevice():
        with torch.cuda.device(device):
            return compute_scores(x, mask, result, scale, causal, log)
    key: tuple = (scale, causal, log, device, *layout(x), *layout(result))
    if mask is not None:
        key += layout(mask)
    plan = _of_this_thread.table.get(key)
    if plan is None:
        plan = _plan(x, mask, result, scale, causal, log)
        _of_this_thread.keep(key, plan, KEPT_AT_MOST)
    plan(x, mask, result)


def _plan(
    x: Tensor, mask: Tensor | None, result: Tensor, scale: float, causal: bool, log: bool
) -> Plan:
    if not x.numel():
        return lambda x, mask, result: None
    stride, steps = row_stride(x, x.dim() - 1), () if mask is None else mask_steps(mask, x.shape)
    if stride is None or steps is None or not result.is_contiguous():
        return _plan_copied(scale, causal, log)
    task = replace(task_of(x, None, result, x.shape[-1], log), scores=True, masked=mask is not None)
    rows = [(x, stride), (result, task.cols)]
    if mask is not None:
        rows += [(mask, step) for _, step in steps] or [(mask, 0)]
    task = replace(task, edges=needs_edges(task.row_bytes, rows))
    scaling = Scaling(scale, x.shape[-2] if causal else 0, steps)
    launch = prepare(task, (stride, 0, task.cols), x.get_device(), scaling.words)
    if launch is None:
        return _plan_added_up(scale, causal, log)
    return lambda x, mask, result: launch(
        x.data_ptr(), 0 if mask is None else mask.data_ptr(), result.data_ptr()
    )


def mask_steps(mask: Tensor, shape: torch.Size) -> tuple[tuple[int, int], ...] | None:
    """`Scaling.mask` of a mask for scores of this shape; None with more steps than three, or rows in pieces."""
    mask = mask.expand(shape)
    if shape[-1] > 1 and mask.stride(-1) != 1:
        return None
    steps: list[tuple[int, int]] = []
    for size, step in reversed([*zip(shape[:-1], mask.stride()[:-1], strict=True)]):
        if size == 1:
            continue
        if steps and step == steps[-1][0] * steps[-1][1]:
            steps[-1] = steps[-1][0] * size, steps[-1][1]
        else:
            steps.append((size, step))
    return tuple(steps) if len(steps) <= 3 else None


def _plan_copied(scale: float, causal: bool, log: bool) -> Plan:
    """For rows or a mask that lie in no order that a kernel takes, or a result that is not in one piece."""

    def run(x: Tensor, mask: Tensor | None, result: Tensor) -> None:
        if mask is not None and mask_steps(mask, x.shape) is None:
            mask = mask.expand(x.shape).contiguous()
        made = result
        if not result.is_contiguous():
            made = torch.empty_like(result, memory_format=torch.contiguous_format)
        compute_scores(x.contiguous(), mask, made, scale, causal, log)
        if made is not result:
            result.copy_(made)

    return run


def _plan_added_up(scale: float, causal: bool, log: bool) -> Plan:
    """For rows longer than the kernels hold."""
    return lambda x, mask, result: compute(added_up(x, mask, scale, causal), None, result, -1, log)


def added_up(x: Tensor, mask: Tensor | None, scale: float, causal: bool) -> Tensor:
    """scale * x + mask, of 16 bits as float32, and -inf where a query does not look."""
    scores = (x.float() if x.itemsize < 4 else x) * scale
    if mask is not None:
        scores = scores + mask
    return scores.masked_fill(later_keys(x), -torch.inf) if causal else scores


def later_keys(x: Tensor) -> Tensor:
    """What a query of these scores does not see, (queries, keys)."""
    return torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
