"""The one way to launch a kernel: `run` looks at where x lies and takes the GPU or the emulator."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from softmax_lib.errors import BadInput, WrongType
from softmax_lib.registry import MAX_COLS, MAX_ROWS, Kernel, Step, resolve
from softmax_lib.source import Source


def run(
    kernel_or_source: str | Path | Source | Kernel,
    x: Tensor,
    *,
    block_size: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Softmax of each row of `x` by one kernel: on the GPU for a CUDA tensor, else in the emulator.

    `x` is a contiguous float32 tensor of shape (rows, cols). `kernel_or_source` is a name from
    `kernels`, the path of a .cu file, or CUDA text. `out`, of the shape, dtype and device of `x`,
    takes the result; without it a new tensor does. A CUDA launch goes to torch's current stream
    and returns before it has finished.

    Raises `UnknownKernel`, `WrongType`, `BadInput` (and its kinds `BlockSizeNotAllowed` and
    `RowTooLong`), `NotAvailable`, `CompileError`, and on the CPU `KernelFault`; `out` is then untouched.
    """
    kernel = resolve(kernel_or_source)
    _check_x(x)
    if out is not None:
        _check_out(kernel, x, out)
    if x.is_cuda and x.numel():
        return _run_on_gpu(kernel, x, block_size, out)
    block_size = kernel.settle_block_size(block_size, x.shape[1])
    y = torch.empty_like(x) if out is None else out
    if x.numel():
        from softmax_lib import emulator

        emulator.execute(kernel, x.detach(), y.detach(), block_size)
    return y


def _check_x(x: Tensor) -> None:
    if not isinstance(x, Tensor):
        raise WrongType(f"x is a {type(x).__name__}; run takes a torch.Tensor.")
    if x.dtype is not torch.float32:
        raise WrongType(f"x is {x.dtype}; the kernels take torch.float32, so pass x.float().")
    if x.dim() != 2:
        raise BadInput(f"x has {x.dim()} dimensions; run takes a matrix of shape (rows, cols).")
    if not x.is_contiguous():
        raise BadInput("The rows of x do not follow one another in memory; pass x.contiguous().")
    if not (x.is_cuda or x.device.type == "cpu"):
        raise BadInput(f"x is on {x.device}; run takes a CUDA tensor or a CPU tensor.")
    if x.shape[0] > MAX_ROWS or x.shape[1] > MAX_COLS:
        raise BadInput(f"x has shape {tuple(x.shape)}; run takes up to ({MAX_ROWS}, {MAX_COLS}).")


def _check_out(kernel: Kernel, x: Tensor, out: Tensor) -> None:
    if not isinstance(out, Tensor):
        raise WrongType(f"out is a {type(out).__name__}; run takes a torch.Tensor.")
    if out.dtype is not x.dtype:
        raise WrongType(f"out is {out.dtype} and x is {x.dtype}; they must be the same.")
    if out.shape != x.shape:
        raise BadInput(f"out has shape {tuple(out.shape)} and x has {tuple(x.shape)}.")
    if out.device != x.device:
        raise BadInput(f"out is on {out.device} and x is on {x.device}.")
    if not out.is_contiguous():
        raise BadInput(
            "The rows of out do not follow one another in memory; pass a contiguous out."
        )
    distance = abs(out.data_ptr() - x.data_ptr())
    if distance < 4 * x.numel() and not (distance == 0 and kernel.in_place):
        allowed = "out may be x itself, or else" if kernel.in_place else "out and x"
        raise BadInput(f"out overlaps x in memory; for {kernel.name} {allowed} must lie apart.")


class _Prepared:
    """A kernel's launches for one shape: arguments laid out once, addresses filled in at each call."""

    def __init__(self, kernel: Kernel, rows: int, cols: int, block_size: int, device: int):
        import cupy

        from softmax_lib.gpu import compile

        module = compile.load(kernel.program(block_size, cols), device)
        self.pointers = {name: ctypes.c_void_p() for name in ("x", "y", *kernel.scratch)}
        sizes = {"rows": ctypes.c_int(rows), "cols": ctypes.c_int(cols)}
        self.launch_kernel = cupy.cuda.driver.launchKernel
        self.launches = [
            self._lay_out(step, module, sizes, rows, cols, block_size) for step in kernel.steps
        ]
        self.scratch = kernel.scratch
        self.rows = rows

    def _lay_out(
        self, step: Step, module: Any, sizes: dict, rows: int, cols: int, block_size: int
    ) -> tuple:
        known = {**self.pointers, **sizes}
        values = [known[name] for name in step.arguments]
        arguments = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        keep = (module.get_function(step.entry), values, arguments)
        blocks = step.blocks(rows, cols, block_size)
        return keep, keep[0].ptr, blocks, block_size, ctypes.addressof(arguments)

    def launch(self, x: Tensor, y: Tensor, stream: int) -> None:
        self.pointers["x"].value = x.data_ptr()
        self.pointers["y"].value = y.data_ptr()
        scratch = [x.new_empty(self.rows) for _ in self.scratch]
        for name, tensor in zip(self.scratch, scratch, strict=True):
            self.pointers[name].value = tensor.data_ptr()
        for _, function, blocks, threads, arguments in self.launches:
            self.launch_kernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, 0)


class _OfThisThread(threading.local):
    """Addresses are written into the prepared arguments, so each thread has its own."""

    def __init__(self) -> None:
        self.prepared: dict[tuple, _Prepared] = {}


_of_this_thread = _OfThisThread()
_PREPARED_AT_MOST = 256


def _run_on_gpu(kernel: Kernel, x: Tensor, block_size: int | None, out: Tensor | None) -> Tensor:
    device = x.get_device()
    if device != torch.cuda.current_device():
        with torch.cuda.device(device):
            return _run_on_gpu(kernel, x, block_size, out)
    table = _of_this_thread.prepared
    key = (kernel.name, kernel.given_source, x.shape, block_size, device)
    prepared = table.get(key)
    if prepared is None:
        prepared = _prepare(kernel, x.shape[0], x.shape[1], block_size, device)
        if len(table) >= _PREPARED_AT_MOST:
            table.clear()
        table[key] = prepared
    y = torch.empty_like(x) if out is None else out
    prepared.launch(x, y, torch.cuda.current_stream(device).cuda_stream)
    return y


def _prepare(
    kernel: Kernel, rows: int, cols: int, block_size: int | None, device: int
) -> _Prepared:
    block_size = kernel.settle_block_size(block_size, cols)
    torch.cuda.set_device(device)  # a new thread has no CUDA context until it asks for one
    return _Prepared(kernel, rows, cols, block_size, device)
