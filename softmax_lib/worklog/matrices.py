"""What a kernel of the book takes for x, and for the matrix that its result goes to."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from softmax_lib.engine.arrays import Matrix, address, check_bytes, is_contiguous, is_tensor
from softmax_lib.worklog.errors import BadInput, WrongType
from softmax_lib.worklog.kernel import MAX_COLS, MAX_ROWS, Kernel

_FLOAT32 = np.dtype("float32")


def check_x(x: Any, taker: str = "run") -> None:
    """Raises `WrongType` or `BadInput`, in a sentence about `taker`, for what no kernel can take."""
    tensor = _is_tensor("x", x, taker)
    if not tensor and isinstance(x, np.ma.MaskedArray):
        raise WrongType("x is a masked array; kernels see no mask, so pass x.filled(-np.inf).")
    float32 = sys.modules["torch"].float32 if tensor else _FLOAT32
    if x.dtype != float32:
        how = "x.float()" if tensor else 'x.astype("float32")'
        raise WrongType(f"x is {x.dtype}; the kernels take {float32}, so pass {how}.")
    if tensor:
        check_bytes("x", x)
        if x.requires_grad and sys.modules["torch"].is_grad_enabled():
            raise BadInput(
                f"x requires a gradient, and {taker} gives none: pass x.detach(), or call softmax(x), which does."
            )
    if x.ndim != 2:
        raise BadInput(f"x has {x.ndim} dimensions; {taker} takes a matrix of shape (rows, cols).")
    if not is_contiguous(x, tensor):
        how = "x.contiguous()" if tensor else "np.ascontiguousarray(x)"
        raise BadInput(f"The rows of x do not follow one another in memory; pass {how}.")
    rows, cols = x.shape
    if rows > MAX_ROWS or cols > MAX_COLS:
        raise BadInput(f"x has shape {(rows, cols)}; {taker} takes up to ({MAX_ROWS}, {MAX_COLS}).")


def _is_tensor(name: str, given: Any, taker: str) -> bool:
    """Whether it is a tensor, and not an array. Raises `WrongType` for what is neither."""
    if not (tensor := is_tensor(given)) and not isinstance(given, np.ndarray):
        raise WrongType(
            f"{name} is a {type(given).__name__}; {taker} takes a torch.Tensor or a numpy array."
        )
    return tensor


def check_out(kernel: Kernel, x: Matrix, out: Any) -> None:
    """Raises `WrongType` or `BadInput` where `out` cannot take the result of `kernel` on `x`."""
    tensor = _is_tensor("out", out, "run")
    if out.dtype != x.dtype:
        raise WrongType(f"out is {out.dtype} and x is {x.dtype}; they must be the same.")
    if tensor:
        check_bytes("out", out)
        if out.requires_grad and sys.modules["torch"].is_grad_enabled():
            raise BadInput("out requires a gradient, which a call with out= does not have.")
    if out.shape != x.shape:
        raise BadInput(f"out has shape {tuple(out.shape)} and x has {tuple(x.shape)}.")
    if tensor and out.device != x.device:
        raise BadInput(f"out is on {out.device} and x is on {x.device}.")
    if not is_contiguous(out, tensor):
        raise BadInput(
            "The rows of out do not follow one another in memory; pass a contiguous out."
        )
    if not tensor and not out.flags.writeable:
        raise BadInput("out is read-only; pass an array that can be written.")
    distance = address(out) - address(x)
    if abs(distance) < x.nbytes and not (distance == 0 and kernel.in_place):
        allowed = "out may be x itself, or else" if kernel.in_place else "out and x"
        raise BadInput(f"out overlaps x in memory; for {kernel.name} {allowed} must lie apart.")
