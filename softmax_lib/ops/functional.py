"""`softmax` and `log_softmax` for torch tensors: our kernels on a GPU, torch's own elsewhere."""

from __future__ import annotations

import torch
from torch import Tensor
from torch._C._functorch import peek_interpreter_stack
from torch.autograd.graph import increment_version

from softmax_lib.ops import operators
from softmax_lib.ops.arguments import (
    DTYPES,
    check_apart,
    check_dtype,
    check_out,
    check_scores,
    check_tensor,
    has_memory,
    is_readable,
    overlap,
)
from softmax_lib.ops.direct import way
from softmax_lib.ops.plans import compute, compute_scores, positive
from softmax_lib.ops.scores import added_up
from softmax_lib.worklog.errors import BadInput, WrongType

_TORCHS = {False: torch.softmax, True: torch.log_softmax}
"""By whether it is the logarithm; torch's own also where `patch_torch` has replaced them."""


def softmax(
    x: Tensor,
    dim: int = -1,
    *,
    dtype: torch.dtype | None = None,
    out: Tensor | None = None,
    scale: float | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """exp(x - max) / sum(exp(x - max)) along `dim`, as `torch.softmax` has it.

    `x` is a CUDA tensor of float32, float16 or bfloat16, of any shape and strides; with `dtype` it is
    converted first. The result is contiguous and has x's shape; where `out` is given, which may be
    `x` itself, it is written there. It has a gradient, and that has one; `torch.compile`, CUDA
    graphs, `torch.func` and autocast treat it as torch's own. Tensors that are on no GPU, those of
    float64, nested ones, subclasses and derivatives forwards go to torch.

    The bits of a row are those of its values, length, dtype and options alone, whatever stands beside it,
    where it lies, and which kernel serves it (kernels/fast/README.md); results below 2^-126 (of
    16 bits, 2^-124) are 0.

    For scores of attention, (..., queries, keys), it is the softmax of `scale * x + mask`, computed as
    float32 (float64 of float64) in the same single pass; x is floating-point, and `dtype` that of the
    result. The mask has a shape that broadcasts to x's. It is of bools, True for what takes part, as
    scaled_dot_product_attention has it, or of x's dtype and added, so that -inf hides. A row with nothing
    left is all NaN, as torch has it of -inf alone. With `causal` query i sees keys 0 to i only: what lies
    behind them changes nothing, and most of it is not read. The mask gets a gradient where it requires
    one. Along another dimension than the last, in eager calls under `torch.func`, and for rows longer
    than the GPU's registers hold, the sum is a pass of its own.

    Raises `WrongType` for what is no floating-point tensor or sparse, for nested scores, for a mask of
    another dtype and a scale that is no number; `NoSuchDimension` (an `IndexError`); `BadInput` for a
    scale that is not finite, for `causal` with another dimension than the last of two or more, for a mask
    or `out` that does not fit, and for an `out` that overlaps itself, x in part or the mask; and
    `NotAvailable` where a kernel has to be compiled and CuPy is missing. Source: Milakov and Gimelshein, arXiv:1805.02867.
    """
    if scale is None and mask is None and not causal:
        return _apply(x, dim, False, dtype, out)
    return _apply_scores(x, dim, False, dtype, out, scale, mask, causal)


def log_softmax(
    x: Tensor,
    dim: int = -1,
    *,
    dtype: torch.dtype | None = None,
    out: Tensor | None = None,
    scale: float | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """x - max - log(sum(exp(x - max))) along `dim`, as `torch.log_softmax` has it; see `softmax`.

    Of what a mask hides it is -inf, and NaN of a row with nothing left.
    """
    if scale is None and mask is None and not causal:
        return _apply(x, dim, True, dtype, out)
    return _apply_scores(x, dim, True, dtype, out, scale, mask, causal)


def _apply(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None, out: Tensor | None) -> Tensor:
    if dtype is not None or torch.compiler.is_compiling():
        return _apply_any(x, dim, log, dtype, out)
    made = way.run(x, out, dim, log)
    if made is not None:
        return made
    if not (_is_plain(x) and (out is None or has_memory(out))):
        return _apply_any(x, dim, log, dtype, out)
    if out is None:
        result = x.new_empty(x.shape)
    else:
        check_out(x, x.dtype, out)
        result = out
    way.keep(x, out, dim, log, compute(x, None, result, dim, log))
    if out is not None:
        increment_version(out)
    return result


def _is_plain(x: Tensor) -> bool:
    """Whether nobody but the kernel has to hear of a call: no gradient, transformation or cast."""
    return (
        type(x) is Tensor
        and x.dtype in DTYPES
        and is_readable(x)
        and not (x.requires_grad and torch.is_grad_enabled())
        and not (x.dtype is not torch.float32 and torch.is_autocast_enabled("cuda"))
        and not torch._C._len_torch_dispatch_stack()
        and peek_interpreter_stack() is None
    )


def _apply_any(
    x: Tensor, dim: int, log: bool, dtype: torch.dtype | None, out: Tensor | None
) -> Tensor:
    check_tensor("x", x, may_be_nested=True)
    check_dtype(dtype)
    positive(dim, x.dim())
    dtype = _asked(x, dtype, out)
    to = dtype or x.dtype
    if out is not None and torch.is_grad_enabled() and x.requires_grad:
        raise BadInput("A call with out= has no gradient, and x requires one; leave out= away.")
    if not (is_readable(x) and (out is None or has_memory(out))) or to not in DTYPES:
        return _by_torch(x, dim, log, dtype, out)
    if out is None:
        return operators.apply(x.to(_taken(x.dtype, to)), dim, log, to)
    check_out(x, to, out)
    compute(x.detach().to(_taken(x.dtype, to)), None, out.detach(), dim, log)
    increment_version(out)
    return out


def _apply_scores(
    x: Tensor,
    dim: int,
    log: bool,
    dtype: torch.dtype | None,
    out: Tensor | None,
    scale: float | None,
    mask: Tensor | None,
    causal: bool,
) -> Tensor:
    check_scores(x, dim, scale, mask, causal)
    check_dtype(dtype)
    to = _asked(x, dtype, out) or x.dtype
    given = (x,) if mask is None else (x, mask)
    if out is not None:
        check_out(x, to, out)
        if mask is not None and has_memory(mask) and has_memory(out) and overlap(mask, out):
            raise BadInput("out overlaps the mask in memory; it has to lie apart.")
        if torch.is_grad_enabled() and any(one.requires_grad for one in given):
            raise BadInput("A call with out= has no gradient, and x or the mask requires one.")
    if mask is not None and mask.dtype is torch.bool:
        mask = torch.zeros_like(mask, dtype=x.dtype).masked_fill_(~mask, -torch.inf)
    times = 1.0 if scale is None else float(scale)
    is_writable = out is None or has_memory(out)
    if is_writable and all(map(is_readable, given)) and _takes_scores(x, dim, to):
        if out is None:
            return operators.apply_scores(x, mask, times, causal, log, to)
        compute_scores(x.detach(), mask, out.detach(), times, causal, log)
        increment_version(out)
        return out
    scores = added_up(x if to in DTYPES else x.to(to), mask, times, causal)
    made = _apply(scores, dim, log, None, None).to(to)
    return made if out is None else out.copy_(made)


def _takes_scores(x: Tensor, dim: int, to: torch.dtype) -> bool:
    """Whether the kernels take scores as they are; they are added up first elsewhere."""
    return (
        x.dim() > 0
        and dim in (-1, x.dim() - 1)
        and x.dtype in DTYPES
        and to in (x.dtype, torch.float32)
        and (torch.compiler.is_compiling() or peek_interpreter_stack() is None)
    )


def _by_torch(
    x: Tensor, dim: int, log: bool, dtype: torch.dtype | None, out: Tensor | None
) -> Tensor:
    if x.is_complex() or (dtype is None and not x.is_floating_point()):
        raise WrongType(
            f"x is {x.dtype}; softmax takes floating-point numbers, or a dtype to convert to."
        )
    function = _TORCHS[log]
    if out is None:
        return function(x, dim, dtype=dtype)
    check_tensor("out", out)
    if out.dtype is not (dtype or x.dtype):
        raise WrongType(f"out is {out.dtype}; the result is {dtype or x.dtype}.")
    check_apart(x, out)
    return function(x, dim, dtype=dtype, out=out)


def _asked(x: Tensor, dtype: torch.dtype | None, out: Tensor | None) -> torch.dtype | None:
    """`dtype`, or where autocast asks for one: float32, as torch's own has it."""
    casts = x.is_cuda and x.dtype in DTYPES and torch.is_autocast_enabled("cuda")
    return torch.float32 if casts and dtype is None and out is None else dtype


def _taken(of: torch.dtype, to: torch.dtype) -> torch.dtype:
    """What x is converted to before the kernel, which itself turns 16 bits into float32."""
    return of if of == to or (of in DTYPES and to == torch.float32) else to
