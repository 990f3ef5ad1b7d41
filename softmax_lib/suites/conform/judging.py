"""Who answers an ask how: operators by their names, torch's words for what they compute, and verdicts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import Any, NamedTuple

import torch
from torch import Tensor

from softmax_lib.ops.adoption import LogSoftmax, Softmax, patch_torch
from softmax_lib.ops.functional import log_softmax, softmax
from softmax_lib.ops.scores import added_up
from softmax_lib.ops.topk import softmax_topk
from softmax_lib.records.measurement import PEERS
from softmax_lib.suites.conform.asks import REFUSALS, Ask, Skipped, Wrong, noise
from softmax_lib.suites.conform.asks import Softmax as Function
from softmax_lib.suites.peers.providers import first_line, made, peer
from softmax_lib.worklog.errors import BadInput

Answer = tuple[str, str]
"""A verdict, of `record.VERDICTS` or "skipped", and what there is to say of it."""
K, LONGEST = 8, 120
"""The first of each row that are asked for, and characters of what is told."""
_TOLERANCES = {torch.bfloat16: (2e-2, 1e-3), torch.float16: (4e-3, 1e-4), torch.int64: (0, 0)}
"""Relative and absolute; of other dtypes 1e-4 and 1e-6."""
_SOFTMAX, _LOG_SOFTMAX = torch.softmax, torch.log_softmax  # before anybody patches torch


class Operator(NamedTuple):
    """How to get a softmax, what it computes, and whether it is asked about bits alone."""

    make: Callable[[], Function]
    of: str = "softmax"
    of_bits: bool = False


def _topk(x: Tensor, dim: int = -1, **words: Any) -> Tensor:
    return softmax_topk(x, _k(x, dim), dim, **words).values


def _k(x: Tensor, dim: int) -> int:
    return min(K, x.shape[dim]) if isinstance(x, Tensor) and x.dim() else 1


def _scaled(x: Tensor, dim: int) -> Tensor:
    """With the same mask for all rows."""
    return softmax(x, dim, scale=0.3, mask=noise(x.device.type, x.shape[-1]).to(x.dtype))


def _patched() -> Function:
    patch_torch()
    return torch.softmax


def _named(name: str) -> Function:
    """Anybody's function, "module:function"."""
    module, _, function = name.partition(":")
    return made(name, lambda: attrgetter(function)(import_module(module)))


def _of_rows(name: str) -> Function:
    """A peer, which knows the last dimension alone."""
    call = peer(name)

    def f(x: Tensor, dim: int = -1) -> Any:
        if dim not in (-1, x.dim() - 1):
            raise NotImplementedError("It takes the last dimension alone.")
        return call(x, torch.empty_like(x))

    return f


OPERATORS: dict[str, Operator] = {
    "softmax()": Operator(lambda: softmax),
    "log_softmax()": Operator(lambda: log_softmax, "log_softmax"),
    "softmax_topk()": Operator(lambda: _topk, "topk"),
    "Softmax": Operator(lambda: lambda x, dim=-1, mask=None, **how: Softmax(dim, **how)(x, mask)),
    "LogSoftmax": Operator(lambda: lambda x, dim=-1, mask=None, **how: LogSoftmax(dim, **how)(x, mask), "log_softmax"),
    "patch_torch()": Operator(_patched),
    "softmax(scale, mask)": Operator(lambda: _scaled, of_bits=True),
    "torch": Operator(lambda: _SOFTMAX),
    "torch.compile": Operator(lambda: torch.compile(_SOFTMAX)),
    **{name: Operator(partial(_of_rows, name)) for name in PEERS[2:]},
}  # fmt: skip
"""By the name that a run has of them: ours, then torch's and those of others, each by its public function."""


def operator(name: str) -> Operator:
    """One of `OPERATORS`, or a function of anybody's: "module:function". Raises `BadInput` for another name."""
    if name not in OPERATORS and not all(name.partition(":")):
        known = ", ".join(OPERATORS)
        raise BadInput(f"{name} is no operator; there are {known}, and MODULE:FUNCTION.")
    return OPERATORS.get(name) or Operator(partial(_named, name))


# ---- verdicts


def judge(ask: Ask, who: Operator, device: str) -> Answer:
    """How an operator answers."""
    wanted = refused = None
    try:
        if not ask.finds:
            wanted, refused = _wanted(ask, who.of, device)
        found = ask.do(who.make(), noise(device, *ask.shape))
        if device == "cuda":
            torch.cuda.synchronize()
    except Skipped as error:
        return "skipped", str(error)
    except Wrong as error:
        return "wrong", str(error)
    except Exception as error:
        says = first_line(error)
        in_words = isinstance(error, REFUSALS) and " " in says
        if refused and (in_words or type(error) is type(refused)):
            return "holds", ""
        return "refused" if in_words else "raised", f"{type(error).__name__}: {says}"[:LONGEST]
    told = "" if ask.finds else _difference(found, wanted, refused)
    return "wrong" if told else "holds", told[:LONGEST]


def _wanted(ask: Ask, of: str, device: str) -> tuple[Any, Exception | None]:
    """What torch gives, or where it refuses a layout gives of a dense tensor; and what it raises."""
    refused: Exception | None = None
    for dense in (False, True):
        try:
            f = partial(_in_torchs_words, of, dense)
            return (ask.want or ask.do)(f, noise(device, *ask.shape)), refused
        except Exception as error:
            refused = refused or error
    return None, refused


def _in_torchs_words(
    of: str, dense: bool, x: Tensor, dim: int = -1, *, scale: float = 1.0, mask: Tensor | None = None,
    causal: bool = False, **out: Any,
) -> Any:  # fmt: skip
    if dense:
        x = x.dequantize() if x.is_quantized else x.to_dense()
    if mask is not None and mask.dtype is torch.bool:
        mask = torch.zeros_like(mask, dtype=x.dtype).masked_fill(~mask, -torch.inf)
    if scale != 1 or mask is not None or causal:
        x = added_up(x, mask, scale, causal)
    if of == "topk":
        return torch.topk(_SOFTMAX(x, dim, **out), _k(x, dim), dim)[0]
    return (_LOG_SOFTMAX if of == "log_softmax" else _SOFTMAX)(x, dim, **out)


def _difference(found: Any, wanted: Any, refused: Exception | None) -> str:
    """Of a result from torch's, in words; "" where there is none."""
    if wanted is None:
        return f"It gives something where torch refuses: {refused}"
    if refused is None and type(found) is not type(wanted):
        return f"It gives a {type(found).__name__}, torch a {type(wanted).__name__}."
    try:
        numbers = _numbers(found), _numbers(wanted)
        relative, absolute = _TOLERANCES.get(numbers[1].dtype, (1e-4, 1e-6))
        torch.testing.assert_close(
            *numbers, rtol=relative, atol=absolute, equal_nan=True, check_device=False
        )
    except (AssertionError, AttributeError) as error:
        return " ".join(str(error).split())
    return ""


def _numbers(y: Any) -> Tensor:
    """A result as a plain tensor; of one without numbers its sizes and strides."""
    kind = type(y).__name__
    if y.is_meta or kind == "FakeTensor":
        return torch.tensor([*y.shape, *y.stride()])
    if kind == "DTensor":
        return y.full_tensor()
    if kind == "MaskedTensor":
        return y.to_tensor(7.0)
    if y.is_nested:
        return y.to_padded_tensor(7.0)
    return y.as_subclass(Tensor).detach().to_dense().clone()
