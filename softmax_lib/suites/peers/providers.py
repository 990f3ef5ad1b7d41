"""The softmaxes of others that the kernels are measured against; none is a dependency."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import Any, TypeVar

import torch
from torch import Tensor

from softmax_lib.engine.words import without_colours
from softmax_lib.suites.peers import c_functions
from softmax_lib.suites.timing import SCALE, Call, mask_of
from softmax_lib.worklog.errors import NotAvailable, UnknownKernel
from softmax_lib.worklog.reference import judge
from softmax_lib.worklog.registry import kernels
from softmax_lib.worklog.tiles.launching import launch
from softmax_lib.worklog.tiles.programs import Setting, settle
from softmax_lib.worklog.tiles.programs import kernels as tile_kernels

Made = TypeVar("Made")
PERSISTENT_WARPS = 8
AMPLE_SHARED_BYTES = 200_000
"""A multiprocessor with more shared memory than this gets four stages of Triton's tutorial, another two."""


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """What torch.compile makes of it for one shape. Whatever a half-installed compiler stack raises."""
    torch._dynamo.reset()  # a shape seen before would make this one dynamic
    return torch.compile(function, dynamic=False)


def tile_setting(cols: int) -> Setting:
    """Of chapter 12's `simple` by its tutorial's rule: a warp for each 1024 elements of the tile, and 4 at least.

    Raises `RowTooLong`.
    """
    tile = settle(cols).tile
    return settle(cols, num_warps=min(32, max(4, tile // 1024)), num_stages=1)


def _triton_tile(x: Tensor, y: Tensor) -> Tensor:
    launch(tile_kernels["simple"], x, y, tile_setting(x.shape[1]))
    return y


def _triton(x: Tensor, y: Tensor) -> Tensor:
    """The tutorial's other: as many programs as fit at once, which prefetch their next row by its choice of stages."""
    from triton.runtime import driver

    facts = driver.active.utils.get_device_properties(x.device.index)
    stages = 4 if facts["max_shared_mem"] > AMPLE_SHARED_BYTES else 2
    launch(tile_kernels["persistent"], x, y, settle(x.shape[1], None, PERSISTENT_WARPS, stages))
    return y


def _imported(
    module: str, name: str, takes: Callable[..., tuple] = lambda x: (x,)
) -> Callable[..., Call]:
    """How to get a call of what another package has by this name, which `takes` these arguments of an x, and a dimension."""

    def make(*dim: int) -> Call:
        function = attrgetter(name)(import_module(module))
        return lambda x, y: function(*takes(x, *dim))

    return make


CALLS: dict[str, Callable[..., Call]] = {
    "torch": lambda dim=-1: lambda x, y: torch.softmax(x, dim, out=y),
    "torch.compile": lambda dim=-1: compiled(lambda x, y: torch.softmax(x, dim)),
    "triton": lambda: _triton,
    "triton-tile": lambda: _triton_tile,
    "liger": _imported("liger_kernel.ops.softmax", "LigerSoftmaxFunction.apply"),
    "quack": _imported("quack.softmax", "softmax"),
    "helion": _imported("softmax_lib.suites.peers.helion_softmax", "softmax_helion"),
    "flashinfer": c_functions.flashinfer,
    "flaggems": _imported("flag_gems.ops.softmax", "softmax", lambda x, dim=-1: (x, dim)),
    "tilegym": _imported(  # in chunks where a row is longer than those
        "tilegym.ops.cutile.softmax",
        "_Softmax.apply",
        lambda x: (x, False, x.shape[1] > 8192, False),
    ),
}
"""How to get the call of each of `records.measurement.PEERS` and of more peers; the import fails where one is not installed."""

ANY_DIM = ("torch", "torch.compile", "flaggems")
"""Those that take another dimension than the last, which makes them."""


def _torch_backward(dim: int = -1) -> Call:
    out = torch.ops.aten._softmax_backward_data.out
    return lambda x, y: out(x[1], x[0], dim, y.dtype, grad_input=y)


def _compiled_backward(dim: int = -1) -> Call:
    gradient = compiled(lambda y, grad: torch._softmax_backward_data(grad, y, dim, y.dtype))
    return lambda x, y: gradient(x[0], x[1])


def _liger_backward() -> Call:
    from liger_kernel.ops.softmax import _softmax_backward, _softmax_forward

    chosen: list[Any] = []

    def run(x: Tensor, y: Tensor) -> Tensor:
        if not chosen:  # how it launches on rows of this length
            chosen.extend(_softmax_forward(x[0])[1:])
        return _softmax_backward(x[1], x[0], *chosen)

    return run


BACKWARD: dict[str, Callable[..., Call]] = {
    "torch": _torch_backward,
    "torch.compile": _compiled_backward,
    "liger": _liger_backward,
    "quack": _imported("quack.softmax", "softmax_bwd", lambda x: (x[1], x[0])),
    "flaggems": _imported(
        "flag_gems.ops.softmax", "softmax_backward", lambda x, dim=-1: (x[1], x[0], dim, x.dtype)
    ),
}
"""The same of those that have a backward pass: of (2, rows, cols), a result and its gradient."""


def _compiled_scores() -> Call:
    function = compiled(lambda x, mask: torch.softmax(x * SCALE + mask, -1))
    return lambda x, y: function(x, mask_of(x))


SCORES: dict[str, Callable[[], Call]] = {
    "torch": lambda: lambda x, y: torch.softmax(x * SCALE + mask_of(x), -1, out=y),
    "torch.compile": _compiled_scores,
    "transformer-engine": c_functions.transformer_engine,
}
"""The same of those that take scores with such a mask."""

GRADIENT_ROUGHNESS = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}
"""How far off a gradient may be, relative to the largest of it."""

ROWS_JUDGED, NUMBERS_JUDGED = 64, 2**20
"""So many rows of a result at most, and so many numbers in all, but for those of two rows."""


def peer(name: str) -> Call:
    """The call of one peer, made anew.

    Raises `NotAvailable` with the reason when it cannot be had, `UnknownKernel` for another name.
    """
    if name not in CALLS:
        raise UnknownKernel(
            f"There is no kernel or peer called {name!r}; the peers are {', '.join(CALLS)}, and "
            f"the kernels {', '.join(kernels)}."
        )
    return made(name, CALLS[name])


def made(name: str, make: Callable[[], Made]) -> Made:
    """What `make` gives. Raises `NotAvailable` where that, which is called `name`, cannot be had."""
    try:
        return make()
    except Exception as error:  # a half-installed compiler stack fails in many ways
        raise NotAvailable(f"{name} cannot be had: {first_line(error)}") from error


def try_once(name: str, call: Call, x: Tensor, backward: bool = False) -> None:
    """Run `call` once on `x` and judge its first rows; of a `backward` one x is a result and its gradient.

    Raises `NotAvailable` when it refuses or is wrong, torch's OutOfMemoryError when that is all.
    """
    shape = tuple(x.shape[-2:])
    y = ran(f"{name} refuses {shape}", call, x, torch.empty_like(x[0] if backward else x))
    rows = max(2, min(ROWS_JUDGED, NUMBERS_JUDGED // max(1, shape[-1])))
    some, of = y[:rows], x[..., :rows, :]
    dtype = str(x.dtype).removeprefix("torch.")
    if not (_is_gradient(some, of) if backward else not judge(some, of, dtype).mistake):
        raise NotAvailable(f"{name} gives a wrong result for {shape}")


def ran(refuses: str, call: Call, x: Tensor, y: Tensor) -> Any:
    """What `call` gives. Raises `NotAvailable` where it raises anything but that and torch's OutOfMemoryError."""
    try:
        found = call(x, y)
        torch.cuda.synchronize()
        return found
    except (torch.OutOfMemoryError, NotAvailable):
        raise
    except Exception as error:
        raise NotAvailable(f"{refuses}: {first_line(error)}") from error


def _is_gradient(dx: Tensor, of: Tensor) -> bool:
    """Whether `dx` is the gradient where `of` is a softmax and its gradient; a difference, judged by the largest."""
    y, grad = of.double()
    exact = y * (grad - (y * grad).sum(-1, keepdim=True))
    worst = (dx.double() - exact).abs().max() / exact.abs().max()
    return bool(worst <= GRADIENT_ROUGHNESS[of.dtype])


def first_line(error: Exception) -> str:
    """What an error says, in one line, or its kind where it says nothing."""
    return (without_colours(str(error)).strip().splitlines() or [type(error).__name__])[0]
