"""`softmax_topk`: the k largest probabilities of each row, without the others being written anywhere."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._C._functorch import peek_interpreter_stack

from softmax_lib.engine.source import WARP
from softmax_lib.gpu.driver_api import OfThisThread
from softmax_lib.ops import slots
from softmax_lib.ops.arguments import DTYPES, check_tensor, is_readable, is_traced
from softmax_lib.ops.binaries import function
from softmax_lib.ops.functional import softmax
from softmax_lib.ops.launches import Launch, Words, launch_of, multiprocessors, tell
from softmax_lib.ops.operators import register
from softmax_lib.ops.outlines import Outline
from softmax_lib.ops.plans import (
    KEPT_AT_MOST,
    dtype_name,
    layout,
    needs_edges,
    positive,
    row_stride,
)
from softmax_lib.ops.topk_designs import MOST, SHORT_THREADS, TopkTask, short_build, topk_design
from softmax_lib.worklog.errors import BadInput, RowTooLong, WrongType

_NEW = torch.contiguous_format
"""With it a copy has the strides of a new tensor, also where they move nothing."""


class TopK(NamedTuple):
    """What `softmax_topk` returns."""

    values: Tensor
    indices: Tensor


def softmax_topk(x: Tensor, k: int, dim: int = -1) -> TopK:
    """The `k` largest of `softmax(x, dim)`, the largest first, and their places, as `torch.topk` has them.

    Of an x of shape (..., n, ...) both results have k in the place of n along `dim`, 1 <= k <= min(n, 128);
    values have x's dtype (float32 under autocast), indices are int64. NaN comes before any number, as
    torch.topk has it, and equal numbers come in the order of their places, which torch leaves open. The
    order is that of x: probabilities that round to one number, as to 0, stay apart, where topk(softmax(x))
    may find others.

    A CUDA tensor of float32, float16 or bfloat16 whose rows lie in one piece is read once, and nothing of
    its size is written; any other of these is copied first, and what is on no GPU, or float64, is sorted by
    torch. Values have a gradient, and that has one; it is of x's size and takes softmax(x) anew, so that
    x must not have been changed. Autocast, torch.compile, CUDA graphs and torch.func treat it as they do
    `softmax`.

    Raises `WrongType` for what is no dense floating-point tensor and for a k that is no whole number;
    `NoSuchDimension` (an `IndexError`); `BadInput` for a k that is not among these; `RowTooLong` from 2^32
    numbers on; and `NotAvailable` where a kernel has to be compiled and CuPy is missing. Source: Milakov
    and Gimelshein, arXiv:1805.02867, algorithm 4.
    """
    check_tensor("x", x)
    if not x.is_floating_point():
        raise WrongType(f"x is {x.dtype}; softmax_topk takes floating-point numbers.")
    dim = positive(dim, x.dim())
    k = checked_k(k, x.shape[dim] if x.dim() else 1)
    if _is_taken(x) and torch.is_autocast_enabled("cuda"):
        x = x.float()
    rows = x.reshape(1) if not x.dim() else x.movedim(dim, -1)
    values, indices = _apply(rows, k)
    if not x.dim():
        return TopK(values.reshape(()), indices.reshape(()))
    if dim == x.dim() - 1:
        return TopK(values, indices)
    return TopK(*(one.movedim(-1, dim).clone(memory_format=_NEW) for one in (values, indices)))


def checked_k(k: object, cols: int) -> int:
    """`k`; raise `WrongType`, `BadInput` or `RowTooLong` unless a row of `cols` numbers has so many, and few enough."""
    try:
        number = k if isinstance(k, int) else operator.index(k)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(k, bool):
        raise WrongType(f"k has to be a whole number, and is a {type(k).__name__}.")
    if not 1 <= number <= min(MOST, cols):
        limit = f"rows have {cols}" if cols < MOST else f"softmax_topk finds up to {MOST}"
        raise BadInput(f"k is {number}; it is at least 1, and {limit}.")
    if cols >= 2**32:
        raise RowTooLong(f"Rows have {cols} numbers; softmax_topk takes fewer than 2^32.")
    return number


def _is_taken(x: Tensor) -> bool:
    """Whether the kernels take it."""
    return x.dtype in DTYPES and is_readable(x)


def _apply(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    if not _is_taken(x):
        return _sorted(x, k)
    if is_traced():
        return topk_operator(x, k)
    plain = not (x.requires_grad and torch.is_grad_enabled()) and peek_interpreter_stack() is None
    return find(x, k) if plain else topk_function(x, k)


def find(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Values and indices along the last dimension, (..., k) each."""
    if not _is_taken(x):
        return _sorted(x, k)
    values, indices = _empty(x, k)
    if values.numel():
        _launch(x, values, indices, k)
    return values, indices


def search(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Of a CUDA tensor's rows the places of the k first, (..., k), and each row's pair of kernels/fast, 16 bytes."""
    values, places = _empty(x, k)
    pairs = torch.empty(_PAIR_BYTES * (x.numel() // x.shape[-1]), dtype=torch.uint8, device=x.device)  # fmt: skip
    _launch(x, values, places, k, pairs)
    return places, pairs


def _sorted(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    found = torch.sort(x, dim=-1, descending=True, stable=True)[1][..., :k]
    indices = found.clone(memory_format=_NEW)
    # the method: torch.softmax is unknown to torch.compile once it has looked while torch was patched
    return x.softmax(-1).gather(-1, indices), indices


# ---- launches

Plan = Callable[[Tensor, Tensor, Tensor, "Tensor | None"], None]

_of_this_thread: OfThisThread[Plan] = OfThisThread()


def _launch(
    x: Tensor, values: Tensor, indices: Tensor, k: int, pairs: Tensor | None = None
) -> None:
    device = x.get_device()
    if device != torch._C._cuda_getDevice():
        with torch.cuda.device(device):
            return _launch(x, values, indices, k, pairs)
    key = (k, device, *layout(x))
    plan = _of_this_thread.table.get(key)
    if plan is None:
        plan = _plan(x, k)
        _of_this_thread.keep(key, plan, KEPT_AT_MOST)
    plan(x, values, indices, pairs)


def _plan(x: Tensor, k: int) -> Plan:
    stride = row_stride(x, x.dim() - 1)
    if stride is None:
        return lambda x, values, indices, pairs: _launch(x.contiguous(), values, indices, k, pairs)
    cols = x.shape[-1]
    edges = needs_edges(cols * x.itemsize, [(x, stride)])
    task = TopkTask(x.numel() // cols, cols, dtype_name(x), k, edges)
    launch = _prepare(task, stride, x.get_device())
    last = 2 + len(launch.told[-1])

    def plan(x: Tensor, values: Tensor, indices: Tensor, pairs: Tensor | None) -> None:
        launch.put(last, 0 if pairs is None else pairs.data_ptr())
        launch(x.data_ptr(), values.data_ptr(), indices.data_ptr())

    return plan


_PAIRS, _LISTS, _ARRIVED = 8, 9, 10
"""Of a kernel's arguments those that say where blocks of one row meet."""
_PAIR_BYTES, _KEY_BYTES = 16, 8


def _prepare(task: TopkTask, stride: int, device: int) -> Launch:
    """The launch for rows with this stride, in numbers. Raises `NotAvailable` where no kernel can be had."""
    numbers = (task.rows, task.cols, stride, task.k)
    if task.is_short:
        tell(task, "a warp for each row")
        blocks = -(-task.rows * WARP // SHORT_THREADS)
        return launch_of(Outline(short_build(task), blocks, SHORT_THREADS, (*numbers, 0)), device)
    design = topk_design(task, multiprocessors(device))
    tell(task, design)
    build, blocks = design.build(task), design.blocks(task.rows)
    outline = Outline(build, blocks, design.threads, (*numbers, design.teams, 0, 0, 0, 0))
    if design.teams == 1:
        return launch_of(outline, device)
    teams = task.rows * design.teams  # of which the last to arrive ends its row
    pair_bytes = _PAIR_BYTES * teams * design.warps
    length = pair_bytes + _KEY_BYTES * teams * task.keys_a_list

    def meet(values: Words) -> Tensor:
        memory = torch.empty(length, dtype=torch.uint8, device=torch.device("cuda", device))
        values[_PAIRS] = memory.data_ptr()
        values[_LISTS] = memory.data_ptr() + pair_bytes
        values[_ARRIVED] = slots.address(device, slots.COUNTERS, task.rows)
        return memory

    return Launch(function(build, device), outline, device, meet)


# ---- gradients, torch.func and torch.compile


def _save(ctx: Any, inputs: tuple, output: tuple[Tensor, Tensor]) -> None:
    x, _ = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(x, output[1])


def _gradient(ctx: Any, grad: Tensor, _: Tensor | None) -> tuple[Tensor, None]:
    """Of x, in torch's own words, so that it has one: each value v draws v * grad to its own number, and
    pushes it away from all in proportion to their probabilities."""
    x, indices = ctx.saved_tensors
    y = softmax(x, -1)
    drawn = y.gather(-1, indices) * grad
    pushed = -y * drawn.sum(-1, keepdim=True)
    return pushed.scatter_add(-1, indices, drawn), None


def _batched(
    function: Any, info: Any, in_dims: tuple, x: Tensor, k: int
) -> tuple[tuple, tuple[int, int]]:
    """A function of x and k, for an x with one more dimension."""
    return tuple(function(x.movedim(in_dims[0], 0), k)), (0, 0)


def _empty(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    shape = (*x.shape[:-1], k)
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int64)


topk_operator, topk_function = register(
    "softmax_topk", find, _empty, _save, _gradient, _batched,
    schema="(Tensor x, int k) -> (Tensor, Tensor)", device_types=None,
)  # fmt: skip
