"""The one way to launch a kernel: `run` looks at where x lies and takes the GPU or the emulator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from softmax_lib.engine.arrays import Matrix, address, empty_like, host_view, is_on_gpu, like
from softmax_lib.engine.grids import blocks_of
from softmax_lib.engine.source import WARP, Source
from softmax_lib.engine.whole_numbers import whole
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.matrices import check_out, check_x
from softmax_lib.worklog.registry import note_on_axes, resolve, with_copy

if TYPE_CHECKING:
    from softmax_lib.engine.written import Trace


def run(
    kernel_or_source: str | Path | Source | Kernel,
    x: Matrix,
    *,
    block_size: int | None = None,
    out: Matrix | None = None,
) -> Matrix:
    """Softmax of each row of `x` by one kernel: on the GPU for a CUDA tensor, else in the emulator.

    `x` is a contiguous float32 numpy array or torch tensor of shape (rows, cols), and so is the
    result. It has no gradient: where torch records one, an `x` that requires it is `BadInput`.
    `kernel_or_source` is a name from `kernels`, "copy" (y = x, with which times are compared),
    the path of a .cu file, or CUDA text. `out`, of the kind, shape, dtype and device of `x`, takes
    the result; without it a new matrix does. Warns of a source that asks for other axes than x. A
    CUDA launch goes to torch's current stream and returns before it has finished.

    Raises `UnknownKernel`, `WrongType`, `BadInput` (and its kinds `BlockSizeNotAllowed` and
    `RowTooLong`), `NotAvailable`, `CompileError`, and on the CPU `KernelFault`; `out` is then untouched.
    """
    kernel = resolve(kernel_or_source, with_copy)
    _warn_of_axes(kernel_or_source, kernel)
    check_x(x)
    if out is not None:
        check_out(kernel, x, out)
    if kernel.vector > 1:
        _check_starts(kernel, x=x, out=out)
    if is_on_gpu(x) and x.numel():
        return _gpu().run(kernel, x, block_size, out)
    block_size = kernel.settle_block_size(block_size, x.shape[1])
    y = empty_like(x) if out is None else out
    if 0 not in x.shape:
        from softmax_lib.engine.written.running import launch

        launch(*kernel.launches(x, y, block_size))
    return y


def trace(
    kernel_or_source: str | Path | Source | Kernel,
    x: Matrix,
    block_size: int | None = None,
    warp_size: int = WARP,
    *,
    grid: int | None = None,
) -> Trace:
    """Run a kernel on `x` in the emulator and return what every thread did, in order.

    `kernel_or_source` and `x` are as for `run`, in the host's memory; a block may have any 1 to 1024
    threads, and a warp 1 to 32 lanes. `grid` replaces the number of blocks. Every access is checked,
    so that one outside of its array or misaligned raises `IllegalAddress`. Raises as `run` does, and
    `NotAvailable` where programs are not ELF files (macOS).
    """
    from softmax_lib.engine.written import tracing

    kernel = resolve(kernel_or_source)
    _warn_of_axes(kernel_or_source, kernel)
    check_x(x, "trace")
    if is_on_gpu(x):
        raise BadInput(f"x is on {x.device}; trace runs in the emulator, so pass x.cpu().")
    if block_size is None:
        block_size = kernel.choose_block_size(x.shape[1])
    block_size, warp_size = whole("block_size", block_size), whole("warp_size", warp_size)
    y = np.full(x.shape, np.nan, np.float32)
    given = kernel.launches(host_view(x), y, block_size, grid=blocks_of(grid), warp_size=warp_size)
    return replace(tracing.trace(*given), y=like(x, y))


def _check_starts(kernel: Kernel, **arrays: Matrix | None) -> None:
    """Raises `BadInput` where a kernel that loads whole vectors would meet the middle of one: on a GPU a sticky fault."""
    vector_bytes = 4 * kernel.vector
    for name, array in arrays.items():
        if array is not None and (rest := address(array) % vector_bytes):
            raise BadInput(
                f"{name} starts {rest} bytes behind a multiple of {vector_bytes}, and {kernel.name} loads "
                f"{kernel.vector} floats at a time; float4 takes any start."
            )


def _warn_of_axes(given: object, kernel: Kernel) -> None:
    note = None if given is kernel else note_on_axes(kernel)
    if note:
        warnings.warn(f"{kernel.name}: {note}", stacklevel=3)


@cache
def _gpu() -> ModuleType:
    from softmax_lib.worklog import on_gpu

    return on_gpu


def launcher(*, on_gpu: bool) -> Callable[..., None]:
    """What launches any kernel by its words: on a GPU, or in the emulator."""
    if on_gpu:
        from softmax_lib.gpu import launch
    else:
        from softmax_lib.engine.written import launch
    return launch
