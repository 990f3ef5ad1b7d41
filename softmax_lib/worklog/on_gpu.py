"""Launching on a GPU: modules loaded by CuPy, memory and streams of torch."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from softmax_lib.gpu.compile import load
from softmax_lib.gpu.driver_api import OfThisThread, check_threads, permit, require
from softmax_lib.gpu.presence import arch_of
from softmax_lib.worklog.errors import NotAvailable
from softmax_lib.worklog.kernel import Kernel

PREPARED_AT_MOST = 256
"""Launches that a thread keeps prepared: one per kernel, shape, block size and device."""


def run(kernel: Kernel, x: Tensor, block_size: int | None, out: Tensor | None) -> Tensor:
    """Launch `kernel` on the CUDA tensor `x`, checked and not empty, on its device's current stream."""
    device = x.get_device()
    if device != torch.cuda.current_device():
        with torch.cuda.device(device):
            return run(kernel, x, block_size, out)
    chosen_by = (kernel.default_block_size, kernel.thread_share)
    key = (kernel.digest, chosen_by, x.shape, block_size, device)
    prepared = _of_this_thread.table.get(key)
    if prepared is None:
        settled = kernel.settle_block_size(block_size, x.shape[1])
        torch.cuda.set_device(device)  # a new thread has no CUDA context until it asks for one
        prepared = _Prepared(kernel, x.shape[0], x.shape[1], settled, device)
        _of_this_thread.keep(key, prepared, PREPARED_AT_MOST)
    y = torch.empty_like(x) if out is None else out
    prepared.launch(x, y, torch.cuda.current_stream(device).cuda_stream)
    return y


class _Prepared:
    """A kernel's launches for one shape: arguments laid out once, addresses filled in at each call.

    CuPy's own launch looks at every argument's type each time; here a call writes two addresses. On
    the host of an H200 that takes 6.2 instead of 7.7 µs, and the device needs 2 for a small matrix.
    """

    def __init__(self, kernel: Kernel, rows: int, cols: int, block_size: int, device: int):
        import cupy

        if kernel.cluster > 1 and arch_of(device) < 90:
            raise NotAvailable(f"{kernel.name} needs clusters, which GPUs have from sm_90 on.")
        module = load(kernel.program(block_size, cols), device)
        shared_bytes = kernel.shared_bytes(cols)
        self.launch_kernel = cupy.cuda.driver.launchKernel
        self.rows, self.scratch = rows, kernel.scratch
        self.pointers = {name: ctypes.c_void_p() for name in ("x", "y", *kernel.scratch)}
        values = {**self.pointers, "rows": ctypes.c_int(rows), "cols": ctypes.c_int(cols)}
        self.launches, self.keep = [], []
        for step in kernel.steps:
            function = module.get_function(step.entry)
            check_threads(function.ptr, step.entry, block_size)
            require(permit(function.ptr, shared_bytes, step.cluster), "prepare a kernel")
            # the driver wants the address of an array that holds the address of each argument
            given = [values[name] for name in step.arguments]
            addresses = (ctypes.c_void_p * len(given))(*map(ctypes.addressof, given))
            blocks = step.blocks(rows, cols, block_size)
            ends = (shared_bytes, ctypes.addressof(addresses))
            self.launches.append((function.ptr, blocks, block_size, *ends))
            self.keep.append((function, given, addresses))  # which the driver reads

    def launch(self, x: Tensor, y: Tensor, stream: int) -> None:
        self.pointers["x"].value = x.data_ptr()
        self.pointers["y"].value = y.data_ptr()
        scratch = [x.new_empty(self.rows) for _ in self.scratch]
        for name, tensor in zip(self.scratch, scratch, strict=True):
            self.pointers[name].value = tensor.data_ptr()
        for function, blocks, threads, shared_bytes, arguments in self.launches:
            sizes = blocks, 1, 1, threads, 1, 1, shared_bytes
            self.launch_kernel(function, *sizes, stream, arguments, 0)


_of_this_thread: OfThisThread[_Prepared] = OfThisThread()
