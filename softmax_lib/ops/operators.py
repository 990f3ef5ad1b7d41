"""The kernels as torch knows them: operators for torch.compile, functions for autograd and torch.func.

An operator of `torch.library` takes several times as long a call as torch's own softmax; so eager
calls go by autograd's functions.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from softmax_lib.ops.arguments import check_tensor, is_own, is_traced
from softmax_lib.ops.direct import way
from softmax_lib.ops.plans import compute, compute_scores, positive
from softmax_lib.ops.scores import later_keys
from softmax_lib.worklog.errors import WrongType


def apply(x: Tensor, dim: int, log: bool, dtype: torch.dtype) -> Tensor:
    """Softmax along `dim`, or its logarithm, as `dtype`: that of x, or float32 where x has 16 bits."""
    return (softmax_operator if is_traced() else _softmax)(x, dim, log, dtype)


def apply_scores(
    x: Tensor, mask: Tensor | None, scale: float, causal: bool, log: bool, dtype: torch.dtype
) -> Tensor:
    """Softmax of `scale * x + mask` along the last dimension, as `dtype`.

    Raises `NotAvailable` as `plans.compute_scores` does.
    """
    if is_traced():
        return scores_operator(x, mask, scale, causal, log, dtype)
    given = (x,) if mask is None else (x, mask)
    wants_gradients = torch.is_grad_enabled() and any(one.requires_grad for one in given)
    function = _scores if wants_gradients else _of_scores
    return function(x, mask, scale, causal, log, dtype)


def _forward(x: Tensor, dim: int, log: bool, dtype: torch.dtype) -> Tensor:
    if dtype is x.dtype:
        made = way.run(x, None, dim, log)
        if made is not None:
            return made
    y = _result_like(x, dim, dtype)
    launch = compute(x, None, y, dim, log)
    if dtype is x.dtype:
        way.keep(x, None, dim, log, launch)
    return y


def _of_scores(
    x: Tensor, mask: Tensor | None, scale: float, causal: bool, log: bool, dtype: torch.dtype
) -> Tensor:
    y = _result_like(x, -1, dtype)
    compute_scores(x, mask, y, scale, causal, log)
    return y


def _backward(
    y: Tensor, grad: Tensor, dim: int, log: bool, dtype: torch.dtype, scale: float = 1.0
) -> Tensor:
    """The gradient of x, as `dtype`, from that of its softmax y (or the logarithm of it), both of one dtype.

    Of softmax it is y * (grad - sum(y * grad)), of its logarithm grad - exp(y) * sum(grad); and `scale`
    times that of scores.
    """
    if grad.shape != y.shape or grad.dtype != y.dtype:
        raise WrongType(
            f"The gradient is {grad.dtype} of shape {tuple(grad.shape)}, and its result is "
            f"{y.dtype} of shape {tuple(y.shape)}; they must be the same."
        )
    made = _result_like(y, dim, dtype)
    compute(y, grad, made, dim, log, scale)
    return made


def _result_like(x: Tensor, dim: int, dtype: torch.dtype) -> Tensor:
    positive(dim, x.dim())
    return torch.empty_like(x, dtype=dtype, memory_format=torch.contiguous_format)


# ---- gradients


def _save(ctx: Any, inputs: tuple, output: Tensor) -> None:
    x, ctx.dim, ctx.log, _ = inputs
    ctx.dtype = x.dtype
    ctx.save_for_backward(output)


def _gradient(ctx: Any, grad: Tensor) -> tuple:
    (y,) = ctx.saved_tensors
    return _gradient_of(y, grad, ctx.dim, ctx.log, ctx.dtype, 1.0), None, None, None


def _gradient_of(
    y: Tensor, grad: Tensor, dim: int, log: bool, dtype: torch.dtype, scale: float
) -> Tensor:
    check_tensor("The gradient", grad)
    if not (is_own(y) and is_own(grad)):
        aten = torch.ops.aten
        theirs = aten._log_softmax_backward_data if log else aten._softmax_backward_data
        with torch._C.DisableTorchFunctionSubclass():  # as torch's own gradients have it
            return (theirs(grad, y, dim, y.dtype) * scale).to(dtype)
    ours = gradient_operator if is_traced() else _softmax_gradient
    return ours(y, grad, dim, log, dtype, scale)


def _save_scores(ctx: Any, inputs: tuple, output: Tensor) -> None:
    x, mask, ctx.scale, ctx.causal, ctx.log, _ = inputs
    ctx.dtype, ctx.mask_shape = x.dtype, None if mask is None else mask.shape
    ctx.save_for_backward(output)


def _gradients_of_scores(ctx: Any, grad: Tensor) -> tuple:
    (y,) = ctx.saved_tensors
    scale, dtype = ctx.scale, ctx.dtype
    if ctx.needs_input_grad[1]:  # what x and the mask share is rounded once, when each has its own
        scale, dtype = 1.0, torch.promote_types(dtype, torch.float32)
    made = _gradient_of(y, grad, -1, ctx.log, dtype, scale)
    if ctx.causal and ctx.log:  # of softmax it is zero there as it is
        made = made.masked_fill(later_keys(made), 0)
    if not ctx.needs_input_grad[1]:
        return made, None, None, None, None, None
    of_x, of_mask = made * ctx.scale, made.sum_to_size(ctx.mask_shape)
    return of_x.to(ctx.dtype), of_mask.to(ctx.dtype), None, None, None, None


def _save_both(ctx: Any, inputs: tuple, output: Tensor) -> None:
    y, grad, ctx.dim, ctx.log, _, ctx.scale = inputs
    ctx.save_for_backward(y, grad)


def _second_gradient(ctx: Any, v: Tensor) -> tuple:
    """Of the gradient, with respect to y and to grad, in torch's own words; v is that of the result."""
    y, grad = ctx.saved_tensors
    v = v.to(y.dtype) * ctx.scale
    if ctx.log:
        p = y.exp()
        of_y = -v * p * grad.sum(ctx.dim, keepdim=True)
        return of_y, v - (v * p).sum(ctx.dim, keepdim=True), None, None, None, None
    with_y = (v * y).sum(ctx.dim, keepdim=True)
    of_y = v * (grad - (y * grad).sum(ctx.dim, keepdim=True)) - grad * with_y
    return of_y, y * (v - with_y), None, None, None, None


# ---- torch.func.vmap: one more dimension, in front


def _batched(function: Any, info: Any, in_dims: tuple, *arguments: Any) -> tuple[Tensor, int]:
    """A function of tensors, dim, log and more, for tensors of which some have one more dimension."""
    tensors = [one for one in arguments if isinstance(one, Tensor)]
    dim, log, *more = arguments[len(tensors) :]
    moved = [_in_front(info, one, at) for one, at in zip(tensors, in_dims, strict=False)]
    dims = moved[0].dim() - 1
    if not dims:  # each number is a row
        return function(*(one[:, None] for one in moved), 1, log, *more)[:, 0], 0
    return function(*moved, 1 + positive(dim, dims), log, *more), 0


def batched_scores(
    function: Any, info: Any, in_dims: tuple, x: Tensor, mask: Tensor | None, *more: Any
) -> tuple[Tensor, int]:
    """The same for scores and a mask."""
    x = _in_front(info, x, in_dims[0])
    if mask is not None and in_dims[1] is not None:
        mask = mask.movedim(in_dims[1], 0)
        mask = mask[(slice(None), *(None,) * (x.dim() - mask.dim()))]
    return function(x, mask, *more), 0


def _in_front(info: Any, x: Tensor, at: int | None) -> Tensor:
    return x.expand(info.batch_size, *x.shape) if at is None else x.movedim(at, 0)


# ---- both ways to call a kernel


class _Function(torch.autograd.Function):
    """An autograd function whose calls are as quick as torch allows."""

    @classmethod
    def apply(cls, *arguments: Any) -> Any:
        if torch._C._are_functorch_transforms_active():
            return super().apply(*arguments)
        # torch's own looks up the names of forward's arguments at each call, which takes some 30 us
        return super(torch.autograd.Function, cls).apply(*arguments)  # type: ignore[misc]


def register(
    name: str, forward: Any, fake: Any, save: Any, gradient: Any, batched: Any, **how: Any
) -> tuple[Any, Any]:
    """The operator for torch.compile, and the function of autograd for eager calls, of the same `forward`.

    `fake` makes an empty result, `save` and `gradient` are autograd's, `batched` is the rule of torch.func.vmap
    for either; `how` is said to `torch.library.custom_op`.
    """
    how = {"device_types": "cuda", **how}
    operator = torch.library.custom_op(f"softmax_lib::{name}", forward, mutates_args=(), **how)
    operator.register_fake(fake)
    operator.register_autograd(gradient, setup_context=save)
    operator.register_vmap(partial(batched, operator))
    parts = {"forward": forward, "setup_context": save, "backward": gradient}
    function: Any = type(name, (_Function,), {key: staticmethod(of) for key, of in parts.items()})
    function.vmap = staticmethod(partial(batched, function.apply))
    return operator, function.apply


softmax_operator, _softmax = register(
    "softmax", _forward, lambda x, dim, log, dtype: _result_like(x, dim, dtype), _save, _gradient, _batched,
)  # fmt: skip
scores_operator, _scores = register(
    "scores", _of_scores, lambda x, mask, scale, causal, log, dtype: _result_like(x, -1, dtype),
    _save_scores, _gradients_of_scores, batched_scores,
)  # fmt: skip
gradient_operator, _softmax_gradient = register(
    "softmax_gradient", _backward, lambda y, grad, dim, log, dtype, scale=1.0: _result_like(y, dim, dtype),
    _save_both, _second_gradient, _batched,
)  # fmt: skip
