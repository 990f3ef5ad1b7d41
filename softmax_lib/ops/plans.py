"""From a tensor to a launch: how its rows lie in memory, and what that needs. Plans are kept by shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

import torch
from torch import Tensor

from softmax_lib.gpu.driver_api import OfThisThread
from softmax_lib.ops.designs import CHUNK_BYTES, Task
from softmax_lib.ops.launches import Launch, launch_of, prepare
from softmax_lib.ops.outlines import Scaling, outline_strided, outline_tile
from softmax_lib.ops.tables import has_few_blocks, strided_design, tile_design
from softmax_lib.worklog.errors import NoSuchDimension, NotAvailable, WrongType

KEPT_AT_MOST = 512
"""Plans that a thread keeps: one for each (shape, strides, dtype, GPU) and way of asking."""

Plan = Callable[[Tensor, "Tensor | None", Tensor], "Launch | None"]
"""Computes from one tensor, or from a result and its gradient, into the last one; by which one launch, if by one."""


_of_this_thread: OfThisThread[Plan] = OfThisThread()


def compute(
    first: Tensor, second: Tensor | None, result: Tensor, dim: int, log: bool, scale: float = 1.0
) -> Launch | None:
    """Softmax along `dim` of `first` into `result`; with `second`, `scale` times the gradient for a result `first`.

    All are of one shape on one GPU. What is launched goes to the GPU's current stream; where that is
    one launch and nothing else, it is returned. Raises `NoSuchDimension`, `NotAvailable`, and
    `CompileError`.
    """
    device = first.get_device()
    if device != torch._C._cuda_getDevice():
        with torch.cuda.device(device):
            return compute(first, second, result, dim, log, scale)
    key: tuple = (
        dim, log, device, first.shape, first.dtype, first.stride(), first.data_ptr() % CHUNK_BYTES,
        result.dtype, result.stride(), result.data_ptr() % CHUNK_BYTES, scale,
    )  # fmt: skip
    if second is not None:
        key = (*key, second.stride(), second.data_ptr() % CHUNK_BYTES)
    plan = _of_this_thread.table.get(key)
    if plan is None:
        plan = _plan(first, second, result, positive(dim, first.dim()), log, scale)
        _of_this_thread.keep(key, plan, KEPT_AT_MOST)
    return plan(first, second, result)


def positive(dim: int, dims: int) -> int:
    """`dim` counted from the front, of a tensor of so many dimensions; one of none counts as of one.

    Raises `NoSuchDimension`, and `WrongType` for what is no whole number.
    """
    if not isinstance(dim, int):
        raise WrongType(f"dim is a {type(dim).__name__}; it is a whole number.")
    most = max(dims, 1)
    if not -most <= dim < most:
        raise NoSuchDimension(
            f"dim is {dim}; a tensor of {dims} dimension{'s' * (dims != 1)} takes {-most} to {most - 1}."
        )
    return dim % most


def _plan(
    first: Tensor, second: Tensor | None, result: Tensor, dim: int, log: bool, scale: float
) -> Plan:
    if not first.numel():
        return lambda first, second, result: None
    if not result.is_contiguous():
        return _plan_elsewhere(dim, log, scale)
    inputs = [
        one.reshape(1) if not one.dim() else one for one in (first, second) if one is not None
    ]
    shape = inputs[0].shape
    inner = prod(shape[dim + 1 :])
    task = replace(task_of(first, second, result, shape[dim], log), scores=scale != 1)
    if inner == 1:
        strides = [row_stride(one, dim) for one in inputs]
        if None in strides:
            return _plan_copied(dim, log, scale)
        return _plan_rows(task, first, second, result, strides, scale)
    if not all(one.is_contiguous() for one in inputs):
        return _plan_copied(dim, log, scale)
    outer = prod(shape[:dim])
    if has_few_blocks(outer, inner) or scale != 1:  # which strided kernels have none of
        return _plan_moved(dim, log, scale)
    tensors = (first, result) if second is None else (first, result, second)
    edges = inner * task.size % CHUNK_BYTES or any(one.data_ptr() % CHUNK_BYTES for one in tensors)
    task = replace(task, edges=bool(edges))
    outline = outline_strided(strided_design(task, inner), task, outer, inner)
    return _launching(launch_of(outline, first.get_device()))


def layout(x: Tensor) -> tuple:
    """What a plan for x depends on: tensors of one layout are launched alike."""
    return x.shape, x.dtype, x.stride(), x.data_ptr() % CHUNK_BYTES


def row_stride(x: Tensor, dim: int) -> int | None:
    """Numbers from one row of `x` to the next; None where that differs, or a row is not in one piece."""
    if x.shape[dim] > 1 and x.stride(dim) != 1:
        return None
    found, whole = 0, None
    for size, step in reversed([*zip(x.shape[:dim], x.stride()[:dim], strict=True)]):
        if size == 1:
            continue
        if whole is None:
            found = step
        elif step != whole:
            return None
        whole = step * size
    return found


def task_of(first: Tensor, second: Tensor | None, result: Tensor, cols: int, log: bool) -> Task:
    """What is asked for, of rows that may begin anywhere."""
    rows = first.numel() // cols
    return Task(rows, cols, dtype_name(first), dtype_name(result), second is not None, log)


def dtype_name(x: Tensor) -> str:
    """As tasks have it: "bfloat16"."""
    return str(x.dtype).removeprefix("torch.")


def _plan_rows(
    task: Task,
    first: Tensor,
    second: Tensor | None,
    result: Tensor,
    strides: Sequence[int | None],
    scale: float,
) -> Plan:
    steps = [(first, strides[0] or 0), (result, task.cols)]
    if second is not None:
        steps.append((second, strides[1] or 0))
    task = replace(task, edges=needs_edges(task.row_bytes, steps))
    tile = None if task.scores else tile_design(task)
    if tile and all(step == task.cols and not one.data_ptr() % CHUNK_BYTES for one, step in steps):
        return _launching(launch_of(outline_tile(tile, task), first.get_device()))
    numbers = (strides[0] or 0, 0 if second is None else strides[1] or 0, task.cols)
    scaling = Scaling(scale).words if task.scores else ()
    launch = prepare(task, numbers, first.get_device(), scaling)
    if launch is None:
        raise NotAvailable(f"This GPU takes no kernel for rows of {task.cols} numbers.")
    return _launching(launch)


def needs_edges(row_bytes: int, rows: Sequence[tuple[Tensor, int]]) -> bool:
    """Whether some row of these tensors, each so many numbers behind the last, begins or ends within 16 bytes."""
    return bool(row_bytes % CHUNK_BYTES) or any(
        one.data_ptr() % CHUNK_BYTES or step * one.itemsize % CHUNK_BYTES for one, step in rows
    )


def _launching(launch: Launch) -> Plan:
    def run(first: Tensor, second: Tensor | None, result: Tensor) -> Launch:
        launch(first.data_ptr(), 0 if second is None else second.data_ptr(), result.data_ptr())
        return launch

    return run


def _plan_elsewhere(dim: int, log: bool, scale: float) -> Plan:
    """For a result that is not in one piece: it is computed in one, and copied."""

    def run(first: Tensor, second: Tensor | None, result: Tensor) -> None:
        made = torch.empty_like(result, memory_format=torch.contiguous_format)
        compute(first, second, made, dim, log, scale)
        result.copy_(made)

    return run


def _plan_copied(dim: int, log: bool, scale: float) -> Plan:
    """For tensors whose rows lie in no order that a kernel takes."""

    def run(first: Tensor, second: Tensor | None, result: Tensor) -> None:
        others = None if second is None else second.contiguous()
        compute(first.contiguous(), others, result, dim, log, scale)

    return run


def _plan_moved(dim: int, log: bool, scale: float) -> Plan:
    """For few rows that are not in one piece: they are put into one first."""

    def run(first: Tensor, second: Tensor | None, result: Tensor) -> None:
        rows = first.movedim(dim, -1).contiguous()
        others = None if second is None else second.movedim(dim, -1).contiguous()
        made = torch.empty_like(rows, dtype=result.dtype)
        compute(rows, others, made, -1, log, scale)
        result.movedim(dim, -1).copy_(made)

    return run
