"""`softmax` and `log_softmax` for torch tensors: our kernels on a GPU, torch's own elsewhere."""

from __future__ import annotations

import torch
from torch import Tensor
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import forward_ad
from torch.autograd.graph import increment_version

from softmax_lib.errors import BadInput, WrongType
from softmax_lib.ops import operators
from softmax_lib.ops.direct import way
from softmax_lib.ops.plans import compute

DTYPES = frozenset({torch.float32, torch.float16, torch.bfloat16})
"""What the kernels take; exponentials and sums are float32 in all of them."""

_TORCHS = {False: torch.softmax, True: torch.log_softmax}
"""By whether it is the logarithm; torch's own also where `patch_torch` has replaced them."""


def softmax(
    x: Tensor, dim: int = -1, *, dtype: torch.dtype | None = None, out: Tensor | None = None
) -> Tensor:
    """exp(x - max) / sum(exp(x - max)) along `dim`, as `torch.softmax` has it.

    `x` is a CUDA tensor of float32, float16 or bfloat16, of any shape and strides; with `dtype` it is
    converted first. The result is contiguous and has x's shape; where `out` is given, which may be
    `x` itself, it is written there. It has a gradient, and that has one; `torch.compile`, CUDA
    graphs, `torch.func.vmap` and autocast treat it as torch's own. Tensors that are on no GPU, and
    those of float64, go to torch.

    Raises `WrongType` for what is no floating-point tensor, `NoSuchDimension` (an `IndexError`),
    `BadInput` for an `out` that does not fit or overlaps x in part, and `NotAvailable` where a
    kernel has to be compiled and CuPy is missing. Source: Milakov and Gimelshein, arXiv:1805.02867.
    """
    return _apply(x, dim, False, dtype, out)


def log_softmax(
    x: Tensor, dim: int = -1, *, dtype: torch.dtype | None = None, out: Tensor | None = None
) -> Tensor:
    """x - max - log(sum(exp(x - max))) along `dim`, as `torch.log_softmax` has it; see `softmax`."""
    return _apply(x, dim, True, dtype, out)


def _apply(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None, out: Tensor | None) -> Tensor:
    if dtype is not None or torch.compiler.is_compiling():
        return _apply_any(x, dim, log, dtype, out)
    made = way.run(x, out, dim, log)
    if made is not None:
        return made
    if not _is_plain(x):
        return _apply_any(x, dim, log, dtype, out)
    if out is None:
        result = torch.empty_like(x) if x.is_contiguous() else x.new_empty(x.shape)
    else:
        _check_out(x, x.dtype, out)
        result = out
    way.keep(x, out, dim, log, compute(x, None, result, dim, log))
    if out is not None:
        increment_version(out)
    return result


def _is_plain(x: Tensor) -> bool:
    """Whether nobody but the kernel has to hear of a call: no gradient, transformation or cast."""
    return (
        type(x) is Tensor
        and x.is_cuda
        and x.dtype in DTYPES
        and not (x.requires_grad and torch.is_grad_enabled())
        and not (x.dtype is not torch.float32 and torch.is_autocast_enabled("cuda"))
        and forward_ad._current_level < 0
        and not torch._C._len_torch_dispatch_stack()
        and peek_interpreter_stack() is None
    )


def _apply_any(
    x: Tensor, dim: int, log: bool, dtype: torch.dtype | None, out: Tensor | None
) -> Tensor:
    if not isinstance(x, Tensor):
        raise WrongType(f"x is a {type(x).__name__}; softmax takes a torch.Tensor.")
    if dtype is None and out is None and x.dtype in DTYPES and torch.is_autocast_enabled("cuda"):
        dtype = torch.float32  # as torch's own has it
    to = dtype or x.dtype
    if not x.is_cuda or to not in DTYPES or forward_ad._current_level >= 0:
        return _by_torch(x, dim, log, dtype, out)
    if out is None:
        return operators.apply(x.to(_taken(x.dtype, to)), dim, log, to)
    if torch.is_grad_enabled() and x.requires_grad:
        raise BadInput("A call with out= has no gradient, and x requires one; leave out= away.")
    _check_out(x, to, out)
    compute(x.detach().to(_taken(x.dtype, to)), None, out.detach(), dim, log)
    increment_version(out)
    return out


def _by_torch(
    x: Tensor, dim: int, log: bool, dtype: torch.dtype | None, out: Tensor | None
) -> Tensor:
    if x.is_cuda and dtype is None and not x.is_floating_point() and not x.is_complex():
        raise WrongType(
            f"x is {x.dtype}; softmax takes floating-point numbers, or a dtype to convert to."
        )
    function = _TORCHS[log]
    return function(x, dim, dtype=dtype) if out is None else function(x, dim, dtype=dtype, out=out)


def _taken(of: torch.dtype, to: torch.dtype) -> torch.dtype:
    """What x is converted to before the kernel, which itself turns 16 bits into float32."""
    return of if of == to or (of in DTYPES and to == torch.float32) else to


def _check_out(x: Tensor, dtype: torch.dtype, out: Tensor) -> None:
    """Raise `WrongType` or `BadInput` unless `out` can hold the result."""
    if not isinstance(out, Tensor):
        raise WrongType(f"out is a {type(out).__name__}; softmax takes a torch.Tensor.")
    if out.dtype is not dtype:
        raise WrongType(f"out is {out.dtype}; the result is {dtype}.")
    if out.shape != x.shape:
        raise BadInput(f"out has shape {tuple(out.shape)} and x has {tuple(x.shape)}.")
    if out.get_device() != x.get_device():
        raise BadInput(f"out is on {out.device} and x is on {x.device}.")
    if out.requires_grad and torch.is_grad_enabled():
        raise BadInput("out requires a gradient, which a call with out= does not have.")
    distance = out.data_ptr() - x.data_ptr()
    if not distance and x.stride() == out.stride() and x.dtype is dtype:
        return  # in place: each number lies where its result goes
    if -_span_bytes(out) < distance < _span_bytes(x):
        raise BadInput("out overlaps x in memory; it may be x itself, or has to lie apart.")


def _span_bytes(x: Tensor) -> int:
    """From the first byte of a tensor's numbers to behind the last."""
    if x.is_contiguous():
        return x.nbytes
    steps = zip(x.shape, x.stride(), strict=True)
    return x.itemsize * (1 + sum((size - 1) * step for size, step in steps)) if x.numel() else 0
