"""What a call of `softmax` may be given."""

from __future__ import annotations

from functools import cache
from itertools import product
from numbers import Real

import torch
from torch import Tensor
from torch._C import DispatchKey, DispatchKeySet, _dispatch_keys, _get_tracing_state
from torch._C._functorch import get_unwrapped, is_functorch_wrapped_tensor, peek_interpreter_stack
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.autograd import forward_ad

from softmax_lib.ops.plans import positive
from softmax_lib.worklog.errors import BadInput, WrongType

DTYPES = frozenset({torch.float32, torch.float16, torch.bfloat16})
"""What the kernels take; exponentials and sums are float32 in all of them."""

LARGEST_SCALE = 3.4e38
"""Of scores, which are scaled as float32."""


@cache
def _own_keys() -> int:
    """What torch asks of a plain tensor when it chooses a kernel: nothing of a batch, a layout, a sign that is still to be
    turned, zeros that nobody wrote or a subclass."""
    found = DispatchKeySet(DispatchKey.ADInplaceOrView)
    for place, device in product(("", "Autograd", "Autocast"), ("CPU", "CUDA")):
        found |= DispatchKeySet(getattr(DispatchKey, place + device))
    return found.raw_repr()


def is_readable(x: Tensor) -> bool:
    """Whether a kernel can be given its memory: a dense tensor of torch's own on a GPU."""
    return x.is_cuda and is_own(x)


def is_own(x: Tensor) -> bool:
    """Whether a tensor's memory holds its numbers, and torch makes nothing else of a call.

    Not where it follows one for a derivative forwards or by a trace, or torch.compile is at a function of `torch.func`.
    """
    is_plain = type(x) in _PLAIN and x.layout is torch.strided and not x.is_nested
    if not is_plain or forward_ad._current_level >= 0:
        return False
    if torch.compiler.is_compiling():
        return not _is_transformed()
    if _get_tracing_state() is not None:
        return False
    if torch._C._len_torch_dispatch_stack():
        # a mode takes every operator, as that of fake tensors; not what torch.func makes of it
        return peek_interpreter_stack() is None
    if peek_interpreter_stack() is not None:
        while is_functorch_wrapped_tensor(x):
            x = get_unwrapped(x)
    return not _dispatch_keys(x).raw_repr() & ~_own_keys()


_PLAIN = (Tensor, torch.nn.Parameter, FakeTensor, FunctionalTensor)
"""Of others torch asks what they make of a call."""


def has_memory(x: Tensor) -> bool:
    """Whether it has an address now, which tensors that are only looked at or transformed have not."""
    return not is_traced() and peek_interpreter_stack() is None and is_own(x)


def is_traced() -> bool:
    """Whether a call is only looked at, by torch.compile or by a mode that takes every operator."""
    return torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() > 0


def _is_transformed() -> bool:
    """Whether torch.compile is at a function that `torch.func` has changed, of which it follows torch's own softmax alone."""
    return peek_interpreter_stack() is not None


# what torch.compiler.assume_constant_result does, which loads torch's compiler: most of a second
_is_transformed._dynamo_marked_constant = True  # type: ignore[attr-defined]


def check_tensor(name: str, given: object, may_be_nested: bool = False) -> None:
    """Raise `WrongType` unless the argument of this name is a tensor, and no sparse one, MKL-DNN's or several."""
    if not isinstance(given, Tensor):
        raise WrongType(f"{name} is a {type(given).__name__}; it has to be a torch.Tensor.")
    if given.layout not in (torch.strided, torch.jagged):
        raise WrongType(f"{name} has the layout {given.layout}; pass {name}.to_dense().")
    if given.is_nested and not may_be_nested:
        raise WrongType(f"{name} is a nested tensor; it has to be a dense one.")


def check_dtype(dtype: object) -> None:
    """Raise `WrongType` for a dtype, unless it is None, that probabilities cannot have."""
    if dtype is None:
        return
    if not isinstance(dtype, torch.dtype):
        raise WrongType(f"dtype is a {type(dtype).__name__}; it has to be a torch.dtype.")
    if not dtype.is_floating_point:
        raise WrongType(f"dtype is {dtype}; probabilities are floating-point numbers.")


def check_out(x: Tensor, dtype: torch.dtype, out: Tensor) -> None:
    """Raise `WrongType` or `BadInput` unless `out` can hold the result."""
    check_tensor("out", out)
    if out.dtype is not dtype:
        raise WrongType(f"out is {out.dtype}; the result is {dtype}.")
    if out.shape != x.shape:
        raise BadInput(f"out has shape {tuple(out.shape)} and x has {tuple(x.shape)}.")
    if out.device != x.device:
        raise BadInput(f"out is on {out.device} and x is on {x.device}.")
    if out.requires_grad and torch.is_grad_enabled():
        raise BadInput("out requires a gradient, which a call with out= does not have.")
    check_apart(x, out)


def check_apart(x: Tensor, out: Tensor) -> None:
    """Raise `BadInput` where `out` overlaps itself, or x in part."""
    if not (has_memory(x) and has_memory(out)):
        return
    if _overlaps_itself(out):
        raise BadInput("out has several numbers at one place in memory; pass out.contiguous().")
    if x.data_ptr() == out.data_ptr() and x.stride() == out.stride() and x.dtype is out.dtype:
        return  # in place: each number lies where its result goes
    if overlap(x, out):
        raise BadInput("out overlaps x in memory; it may be x itself, or has to lie apart.")


def _overlaps_itself(out: Tensor) -> bool:
    found, reach = torch._debug_has_internal_overlap(out), 0
    if found != 2:  # which is that torch would have to try
        return found == 1
    for step, n in sorted(zip(out.stride(), out.shape, strict=True)):
        if n > 1 and step <= reach:
            places = torch.arange(_span_bytes(out) // out.itemsize)
            return places.as_strided(out.shape, out.stride()).unique().numel() < out.numel()
        reach += step * (n - 1)
    return False


def overlap(x: Tensor, out: Tensor) -> bool:
    """Whether two tensors that have memory share some, or lie within one another."""
    return -_span_bytes(out) < out.data_ptr() - x.data_ptr() < _span_bytes(x)


def check_scores(
    x: Tensor, dim: int, scale: float | None, mask: Tensor | None, causal: bool
) -> None:
    """Raise `WrongType`, `NoSuchDimension` or `BadInput` unless these go together."""
    check_tensor("x", x)
    if not x.is_floating_point():
        raise WrongType(f"x is {x.dtype}; scores are floating-point numbers.")
    last = positive(dim, x.dim()) == max(x.dim() - 1, 0)
    if scale is not None and not isinstance(scale, Real):
        raise WrongType(
            f"scale is a {type(scale).__name__}; it is a number, which has no gradient. Multiply x by a "
            "tensor before."
        )
    if scale is not None and not abs(scale) < LARGEST_SCALE:
        raise BadInput(f"scale is {scale:g}; it has to be finite as float32.")
    if causal and (x.dim() < 2 or not last):
        raise BadInput(
            "causal=True is for scores (..., queries, keys) along their last dimension; x has shape "
            f"{tuple(x.shape)} and dim is {dim}."
        )
    if mask is None:
        return
    if not isinstance(mask, Tensor) or mask.dtype not in (x.dtype, torch.bool):
        found = str(mask.dtype) if isinstance(mask, Tensor) else f"a {type(mask).__name__}"
        raise WrongType(
            f"mask is {found} and x is {x.dtype}; a mask is of bools, True for what takes part, or of x's dtype "
            "and added."
        )
    check_tensor("mask", mask)
    if mask.device != x.device:
        raise BadInput(f"mask is on {mask.device} and x is on {x.device}.")
    sizes = zip(reversed(mask.shape), reversed(x.shape), strict=False)
    if mask.dim() > x.dim() or any(one not in (1, other) for one, other in sizes):
        raise BadInput(
            f"mask has shape {tuple(mask.shape)}, which does not broadcast to x's {tuple(x.shape)}."
        )


def _span_bytes(x: Tensor) -> int:
    """From the first byte of a tensor's numbers to behind the last."""
    if x.is_contiguous():
        return x.nbytes
    steps = zip(x.shape, x.stride(), strict=True)
    return x.itemsize * (1 + sum((size - 1) * step for size, step in steps)) if x.numel() else 0
