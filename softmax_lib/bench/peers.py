"""The softmaxes of others that the kernels are measured against; none is a dependency."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor

from softmax_lib.bench.timing import Call
from softmax_lib.errors import NotAvailable, UnknownKernel
from softmax_lib.reference import judge
from softmax_lib.registry import kernels
from softmax_lib.words import without_colours


def _torch() -> Call:
    return lambda x, y: torch.softmax(x, -1, out=y)


def _compiled() -> Call:
    torch._dynamo.reset()  # a shape seen before would make this one dynamic
    return torch.compile(lambda x, y: torch.softmax(x, -1), dynamic=False)


def _triton() -> Call:
    from softmax_lib.bench.triton_softmax import softmax_persistent

    return softmax_persistent


def _triton_tile() -> Call:
    from softmax_lib.bench.triton_softmax import softmax_tile

    return softmax_tile


def _liger() -> Call:
    from liger_kernel.ops.softmax import LigerSoftmaxFunction

    return lambda x, y: LigerSoftmaxFunction.apply(x)


def _quack() -> Call:
    from quack.softmax import softmax

    return lambda x, y: softmax(x)


def _helion() -> Call:
    from softmax_lib.bench.helion_softmax import softmax_helion

    return lambda x, y: softmax_helion(x)


CALLS: dict[str, Callable[[], Call]] = {
    "torch": _torch,
    "torch.compile": _compiled,
    "triton": _triton,
    "triton-tile": _triton_tile,
    "liger": _liger,
    "quack": _quack,
    "helion": _helion,
}
"""How to get the call of each of `records.measurement.PEERS`; the import fails where one is not installed."""


def _torch_backward() -> Call:
    out = torch.ops.aten._softmax_backward_data.out
    return lambda x, y: out(x[1], x[0], -1, y.dtype, grad_input=y)


def _compiled_backward() -> Call:
    torch._dynamo.reset()
    gradient = torch.compile(
        lambda y, grad: torch._softmax_backward_data(grad, y, -1, y.dtype), dynamic=False
    )
    return lambda x, y: gradient(x[0], x[1])


def _liger_backward() -> Call:
    from liger_kernel.ops.softmax import _softmax_backward, _softmax_forward

    chosen: list[Any] = []

    def run(x: Tensor, y: Tensor) -> Tensor:
        if not chosen:  # how it launches on rows of this length
            chosen.extend(_softmax_forward(x[0])[1:])
        return _softmax_backward(x[1], x[0], *chosen)

    return run


def _quack_backward() -> Call:
    from quack.softmax import softmax_bwd

    return lambda x, y: softmax_bwd(x[1], x[0])


BACKWARD: dict[str, Callable[[], Call]] = {
    "torch": _torch_backward,
    "torch.compile": _compiled_backward,
    "liger": _liger_backward,
    "quack": _quack_backward,
}
"""The same of those that have a backward pass: of (2, rows, cols), a result and its gradient."""

ROWS_JUDGED = 64


def peer(name: str, backward: bool = False) -> Call:
    """The call of one peer, made anew.

    Raises `NotAvailable` with the reason when it cannot be had, `UnknownKernel` for another name.
    """
    if name not in CALLS:
        raise UnknownKernel(
            f"There is no kernel or peer called {name!r}; the peers are {', '.join(CALLS)}, and "
            f"the kernels {', '.join(kernels)}."
        )
    try:
        return (BACKWARD if backward else CALLS)[name]()
    except Exception as error:  # a half-installed compiler stack fails in many ways
        raise NotAvailable(f"{name} cannot be had: {_first_line(error)}") from error


def try_once(name: str, call: Call, x: Tensor) -> None:
    """Run `call` once on `x` and judge its first rows.

    Raises `NotAvailable` when it refuses or is wrong, torch's OutOfMemoryError when that is all.
    """
    try:
        y = cast(Tensor, call(x, torch.empty_like(x)))
        torch.cuda.synchronize()
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        raise NotAvailable(f"{name} refuses {tuple(x.shape)}: {_first_line(error)}") from error
    dtype = str(x.dtype).removeprefix("torch.")
    if judge(y[:ROWS_JUDGED], x[:ROWS_JUDGED], dtype).mistake:
        raise NotAvailable(f"{name} gives a wrong result for {tuple(x.shape)}")


def _first_line(error: Exception) -> str:
    return (without_colours(str(error)).strip().splitlines() or [type(error).__name__])[0]
