"""From a tensor to a launch: how its rows lie in memory, and what that needs. Plans are kept by shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from softmax_lib.gpu.driver_api import OfThisThread
from softmax_lib.gpu.presence import arch_of
from softmax_lib.ops.designs import CHUNK_BYTES, Task
from softmax_lib.ops.launches import Launch, launch_of, prepare, tell
from softmax_lib.ops.outlines import Scaling, outline_strided, outline_tile
from softmax_lib.ops.scores import added_up, mask_steps, merged_steps
from softmax_lib.ops.tables import has_few_blocks, strided_design, tile_design
from softmax_lib.worklog.errors import BadInput, NoSuchDimension, NotAvailable, WrongType

KEPT_AT_MOST = 512
"""Plans that a thread keeps: one for each (shape, strides, dtype, GPU) and way of asking."""

Plan = Callable[[Tensor, "Tensor | None", Tensor], "Launch | None"]
"""Computes from a tensor, or two, into the last one; by which one launch, if by one."""

_of_this_thread: OfThisThread[Plan] = OfThisThread()


class How(NamedTuple):
    """What is asked for beside tensors: softmax along `dim`, or its logarithm, of what `scale` multiplies.

    `scores` may have a mask for their second tensor, which else is a gradient, and be `causal`.
    """

    dim: int
    log: bool
    scale: float = 1.0
    scores: bool = False
    causal: bool = False


def compute(
    first: Tensor, second: Tensor | None, result: Tensor, dim: int, log: bool, scale: float = 1.0
) -> Launch | None:
    """Softmax along `dim` of `first` into `result`; with `second`, `scale` times the gradient for a result `first`.

    All are of one shape on one GPU. What is launched goes to the GPU's current stream; where that is
    one launch and nothing else, it is returned. Raises `NoSuchDimension`, `NotAvailable`, and
    `CompileError`.
    """
    return _compute(first, second, result, How(dim, log, scale))


def compute_scores(
    x: Tensor, mask: Tensor | None, result: Tensor, scale: float, causal: bool, log: bool
) -> None:
    """Softmax of `scale * x + mask` along the last dimension into `result`, on x's GPU and its current stream.

    The mask has x's dtype and a shape that broadcasts to x's. Raises `NotAvailable` where a kernel has
    to be compiled and cannot be.
    """
    _compute(x, mask, result, How(-1, log, scale, scores=True, causal=causal))


def _compute(first: Tensor, second: Tensor | None, result: Tensor, how: How) -> Launch | None:
    device = first.get_device()
    if second is not None and second.get_device() != device:
        raise BadInput(f"One tensor is on {first.device} and the other on {second.device}.")
    if device != torch._C._cuda_getDevice():
        with torch.cuda.device(device):
            return _compute(first, second, result, how)
    key = (how, device, *layout(first), *layout(result))
    if second is not None:
        key = (*key, *layout(second))
    plan = _of_this_thread.table.get(key)
    if plan is None:
        plan = _plan(first, second, result, how)
        _of_this_thread.keep(key, plan, KEPT_AT_MOST)
    return plan(first, second, result)


def positive(dim: int, dims: int) -> int:
    """`dim` counted from the front, of a tensor of so many dimensions; one of none counts as of one.

    Raises `NoSuchDimension`, and `WrongType` for what is no whole number, as True is none.
    """
    if isinstance(dim, torch.SymInt):  # torch.compile with dynamic=True leaves what is given open
        dim = int(dim)
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise WrongType(f"dim is a {type(dim).__name__}; it is a whole number.")
    most = max(dims, 1)
    if not -most <= dim < most:
        raise NoSuchDimension(
            f"dim is {dim}; a tensor of {dims} dimension{'s' * (dims != 1)} takes {-most} to {most - 1}."
        )
    return dim % most


def _plan(first: Tensor, second: Tensor | None, result: Tensor, how: How) -> Plan:
    dim = positive(how.dim, first.dim())
    shape = first.shape or (1,)
    inner = prod(shape[dim + 1 :])
    if not first.numel():
        return lambda first, second, result: None
    if not result.is_contiguous():
        return partial(_compute_elsewhere, how)
    is_gradient, scales = second is not None and not how.scores, how.scores or how.scale != 1
    task = Task(
        first.numel() // shape[dim], shape[dim], dtype_name(first), dtype_name(result), is_gradient, how.log,
        scores=scales, masked=how.scores and second is not None,
    )  # fmt: skip
    if inner == 1:
        return _plan_rows(task, first, second, result, how._replace(dim=dim))
    tensors = [one for one in (first, result, second) if one is not None]
    if not all(one.is_contiguous() for one in tensors):
        return partial(_compute_copied, how)
    outer = prod(shape[:dim])
    if has_few_blocks(outer, inner) or scales:  # which strided kernels have none of
        return partial(_compute_moved, how)
    edges = inner * task.size % CHUNK_BYTES or any(one.data_ptr() % CHUNK_BYTES for one in tensors)
    task = replace(task, edges=bool(edges))
    design = strided_design(task, inner, arch_of(first.get_device()))
    tell(task, design)
    outline = outline_strided(design, task, outer, inner)
    return partial(_launch, launch_of(outline, first.get_device()))


def _plan_rows(task: Task, first: Tensor, second: Tensor | None, result: Tensor, how: How) -> Plan:
    stride, steps = row_stride(first, how.dim), _steps_of(second, first, how)
    if stride is None or steps is None:
        return partial(_compute_copied, how)
    rows = [(first, stride), (result, task.cols)]
    if second is not None:
        rows += [(second, step) for _, step in steps] or [(second, 0)]
    task = replace(task, edges=needs_edges(task.row_bytes, rows))
    tile = None if task.scores else tile_design(task)
    if tile and all(step == task.cols and not one.data_ptr() % CHUNK_BYTES for one, step in rows):
        tell(task, tile)
        return partial(_launch, launch_of(outline_tile(tile, task), first.get_device()))
    of_second = 0 if how.scores or not steps else steps[0][1]
    queries, mask = (first.shape[-2] if how.causal else 0), (steps if how.scores else ())
    scaling = Scaling(how.scale, queries, mask).words if task.scores else ()
    launch = prepare(task, (stride, of_second, task.cols), first.get_device(), scaling)
    if launch is not None:
        return partial(_launch, launch)
    if how.scores:
        return partial(_compute_added_up, how)
    raise NotAvailable(f"This GPU takes no kernel for rows of {task.cols} numbers.")


def _steps_of(second: Tensor | None, first: Tensor, how: How) -> tuple[tuple[int, int], ...] | None:
    """(rows, step) of a second tensor: so many rows, each so many numbers behind the last; None where no kernel has them."""
    if second is None:
        return ()
    if how.scores:
        return mask_steps(second, first.shape)
    stride = row_stride(second, how.dim)
    return None if stride is None else ((0, stride),)


def layout(x: Tensor) -> tuple:
    """What a plan for x depends on: tensors of one layout are launched alike."""
    return x.shape, x.dtype, x.stride(), x.data_ptr() % CHUNK_BYTES


def row_stride(x: Tensor, dim: int) -> int | None:
    """Numbers from one row of `x` to the next; None where that differs, or a row is not in one piece."""
    if x.dim() and x.shape[dim] > 1 and x.stride(dim) != 1:
        return None
    steps = merged_steps(x.shape[:dim], x.stride()[:dim]) or [(1, 0)]
    return steps[0][1] if len(steps) == 1 else None


def dtype_name(x: Tensor) -> str:
    """As tasks have it: "bfloat16"."""
    return str(x.dtype).removeprefix("torch.")


def needs_edges(row_bytes: int, rows: Sequence[tuple[Tensor, int]]) -> bool:
    """Whether some row of these tensors, each so many numbers behind the last, begins or ends within 16 bytes."""
    return bool(row_bytes % CHUNK_BYTES) or any(
        one.data_ptr() % CHUNK_BYTES or step * one.itemsize % CHUNK_BYTES for one, step in rows
    )


def _launch(launch: Launch, first: Tensor, second: Tensor | None, result: Tensor) -> Launch:
    launch(first.data_ptr(), 0 if second is None else second.data_ptr(), result.data_ptr())
    return launch


def _compute_elsewhere(how: How, first: Tensor, second: Tensor | None, result: Tensor) -> None:
    """Into a result that is not in one piece: it is computed in one, and copied."""
    made = torch.empty_like(result, memory_format=torch.contiguous_format)
    _compute(first, second, made, how)
    result.copy_(made)


def _compute_copied(how: How, first: Tensor, second: Tensor | None, result: Tensor) -> None:
    """From tensors whose rows lie in no order that a kernel takes."""
    if second is not None and (not how.scores or mask_steps(second, first.shape) is None):
        second = second.expand(first.shape).contiguous()
    _compute(first.contiguous(), second, result, how)


def _compute_moved(how: How, first: Tensor, second: Tensor | None, result: Tensor) -> None:
    """Few rows that are not in one piece: they are put into one first."""
    rows = first.movedim(how.dim, -1).contiguous()
    others = None if second is None else second.movedim(how.dim, -1).contiguous()
    made = torch.empty_like(rows, dtype=result.dtype)
    _compute(rows, others, made, how._replace(dim=-1))
    result.movedim(how.dim, -1).copy_(made)


def _compute_added_up(how: How, x: Tensor, mask: Tensor | None, result: Tensor) -> None:
    """Scores in rows longer than the kernels hold."""
    _compute(added_up(x, mask, how.scale, how.causal), None, result, How(-1, how.log))
