"""The shortest way of a call: from tensors to the driver in C, for shapes that were seen before.

It is there where softmax_lib was installed with a C compiler and torch offers its tensors to C, as
2.11 does (`__dlpack_c_exchange_api__`). Elsewhere `plans` does the same, some microseconds slower.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import forward_ad
from torch.autograd.graph import increment_version

from softmax_lib.gpu.driver_api import driver
from softmax_lib.ops.launches import Launch
from softmax_lib.ops.plans import KEPT_AT_MOST

if TYPE_CHECKING:
    from softmax_lib.ops._calls import Calls

CUDA = 2
"""A type of device, as DLPack counts them."""

IDLE = (
    (torch._C._len_torch_dispatch_stack, 0),
    (peek_interpreter_stack, None),
    (torch._C._get_tracing_state, None),
    (partial(getattr, forward_ad, "_current_level"), -1),
)
"""Functions, and what they return while no mode of torch wants to hear of a call."""
IDLE_16 = ((partial(torch.is_autocast_enabled, "cuda"), False),)
"""More of them, for tensors of 16 bits, which autocast converts."""


class Way:
    """Launches that were kept, and calls of them; without a GPU or the module of C it has none."""

    run: Callable[[Any, Any, Any, bool], Tensor | None]
    """Softmax of x into out, or a new tensor, by a launch that was kept; None where there is none, or
    anything is out of the ordinary."""

    def __init__(self) -> None:
        self.run = self._run_first

    def _run_first(self, x: Any, out: Any, dim: Any, log: bool) -> Tensor | None:
        if isinstance(x, Tensor) and x.is_cuda:
            calls = _calls()
            self.run = (lambda *call: None) if calls is None else calls.run
        return None

    def keep(
        self, x: Tensor, out: Tensor | None, dim: int, log: bool, launch: Launch | None
    ) -> None:
        """Let `run` take calls such as this one, if one `launch` did it; a grid's needs more than C knows."""
        calls = _calls()
        if calls is not None and launch is not None and not launch.meet:
            calls.keep(x, out, dim, log, *launch.told)


way = Way()


@cache
def _calls() -> Calls | None:
    exchange = getattr(Tensor, "__dlpack_c_exchange_api__", None)
    try:
        from softmax_lib.ops._calls import Calls

        functions = (driver().cuLaunchKernelEx, driver().cuCtxGetDevice)
        launch, current_device = (
            ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions
        )
        return Calls(
            exchange, launch, current_device, CUDA,
            Tensor, torch.empty_like, increment_version, torch.is_grad_enabled, Tensor.is_neg,
            IDLE, IDLE_16, KEPT_AT_MOST,
        )  # fmt: skip
    except (ImportError, OSError, AttributeError, ValueError):
        return None
