"""Adopting the kernels: torch's own softmax replaced in a line, and layers that take the place of torch's."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.jit._builtins import _find_builtin, _register_builtin

from softmax_lib.ops.arguments import DTYPES, is_own, is_readable, is_traced
from softmax_lib.ops.functional import log_softmax, softmax
from softmax_lib.worklog.errors import NotAvailable

_PLACES = (torch, torch.special, torch.nn.functional, Tensor)
_FUNCTIONS = {"softmax": softmax, "log_softmax": log_softmax}

_log = logging.getLogger("softmax_lib")
_patches: list[Patch] = []


class Patch(contextlib.ExitStack):
    """What `patch_torch` has replaced. `undo()` puts it back, as does leaving a `with` block."""

    def __init__(self) -> None:
        super().__init__()
        self.callback(_patches.clear)
        for place, name in product(_PLACES, _FUNCTIONS):
            original = getattr(place, name)
            if name in vars(place):
                self.callback(setattr, place, name, original)
            else:
                self.callback(delattr, place, name)  # a tensor has it from its base
            setattr(place, name, _replacement(original, _FUNCTIONS[name]))

    def undo(self) -> None:
        """Put torch's own functions back; does nothing the second time."""
        self.close()


def patch_torch() -> Patch:
    """Let `torch.softmax`, `F.softmax`, `x.softmax()` and their logarithms call our kernels on a GPU.

    So do modules and functions of torch that call these. What the kernels do not take falls through
    to torch: tensors elsewhere, other dtypes, layouts and subclasses with functions of their own.
    Returns what undoes it; when torch is patched already, the same again.
    """
    if not _patches:
        _patches.append(Patch())
    return _patches[0]


@functools.cache
def _replacement(original: Callable[..., Tensor], ours: Callable[..., Tensor]) -> Callable:
    @functools.wraps(original)
    def function(*arguments: Any, **words: Any) -> Tensor:
        call = _read_call(arguments, words)
        if call is None:
            return original(*arguments, **words)
        try:
            return ours(call["input"], call["dim"], dtype=call["dtype"], out=call["out"])
        except NotAvailable as error:
            _tell(str(error))
            return original(*arguments, **words)

    # what torch.jit.script reads in its place
    if builtin := _find_builtin(original):
        _register_builtin(function, builtin)
    else:
        vars(function).update(__script_if_tracing_wrapper=True, __original_fn=original)
    return function


def _read_call(arguments: Sequence[Any], words: dict[str, Any]) -> dict[str, Any] | None:
    """A call of torch's functions or methods by the names of its arguments; None where it is not ours."""
    call: dict[str, Any] = {"input": None, "dim": None, "dtype": None, "out": None}
    call.update(zip(("input", "dim"), arguments, strict=False))
    for more in arguments[2:]:
        if isinstance(more, torch.dtype):
            call["dtype"] = more
        elif not isinstance(more, (int, type(None))):  # F.softmax has a number there: where to warn
            return None
    for name, value in words.items():
        if name != "_stacklevel":
            if name not in call:
                return None
            call[name] = value
    return call if _is_ours(**call) else None


def _is_ours(input: Any, dim: Any, dtype: Any, out: Any) -> bool:
    """Whether the kernels take such a call, and torch would not do something else with it."""
    if not isinstance(input, Tensor) or not isinstance(dim, int) or isinstance(dim, bool):
        return False
    dims = max(1, input.dim())
    return (
        is_readable(input)
        and (dtype or input.dtype) in DTYPES
        and (is_traced() or not any(getattr(input, "names", ())))  # which torch 2.13 has no more
        and not torch.overrides.has_torch_function_unary(input)
        and -dims <= dim < dims  # torch's own words are expected
        and (out is None or _fits(input, dtype, out))
    )


def _fits(x: Tensor, dtype: Any, out: Any) -> bool:
    """Whether our functions take this `out`; torch may resize it, or say what is wrong."""
    return (
        isinstance(out, Tensor)
        and out.device == x.device
        and is_own(out)
        and not (out.requires_grad or x.requires_grad)
        and out.shape == x.shape
        and out.dtype is (dtype or x.dtype)
        and (out is x or out.untyped_storage().data_ptr() != x.untyped_storage().data_ptr())
    )


@functools.cache
def _tell(reason: str) -> None:
    """Once for a reason."""
    _log.warning("softmax_lib leaves a softmax to torch: %s", reason)


class Softmax(torch.nn.Module):
    """`softmax` along `dim` of what it is given; takes the place of `torch.nn.Softmax`.

    With a `scale`, with `causal` or a mask in the call, that of scores of attention.
    """

    def __init__(self, dim: int = -1, *, scale: float | None = None, causal: bool = False) -> None:
        super().__init__()
        self.dim, self.scale, self.causal = dim, scale, causal

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return softmax(x, self.dim, scale=self.scale, mask=mask, causal=self.causal)

    def extra_repr(self) -> str:
        """As `print` shows it."""
        scale = "" if self.scale is None else f", scale={self.scale:g}"
        return f"dim={self.dim}{scale}{', causal=True' if self.causal else ''}"


class LogSoftmax(Softmax):
    """`log_softmax` along `dim` of what it is given; takes the place of `torch.nn.LogSoftmax`."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return log_softmax(x, self.dim, scale=self.scale, mask=mask, causal=self.causal)
