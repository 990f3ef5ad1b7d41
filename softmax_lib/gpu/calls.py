"""Launching any kernel on a GPU, by the words of `emulator.launch`, through NVRTC and the driver."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from softmax_lib.engine.arrays import address, is_on_gpu, is_tensor
from softmax_lib.engine.errors import BadInput, NotAvailable
from softmax_lib.engine.source import Source
from softmax_lib.engine.spec import LaunchSpec
from softmax_lib.gpu.driver import launch_function
from softmax_lib.gpu.modules import load_module
from softmax_lib.gpu.presence import why_no_gpu


def launch(
    source: str | Path | Source,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    *,
    shared_bytes: int = 0,
    kernel: str | None = None,
    cooperative: bool = False,
    cluster: int | Sequence[int] | None = None,
    symbols: Mapping[str, Any] | None = None,
    defines: Mapping[str, int] | None = None,
) -> None:
    """Launch any kernel of `source` on the GPU that the arrays among `args` are on.

    The words are those of `emulator.launch`, with CUDA tensors or CuPy arrays in place of numpy's; so a
    kernel that runs there runs here unchanged. The launch goes to torch's current stream and returns
    before it has finished; with `symbols` it waits.

    Raises `WrongType`, `BadInput`, `UnknownKernel`, `CompileError`, and `NotAvailable` without a GPU.
    """
    spec = LaunchSpec.of(
        source, grid, block, args, shared_bytes=shared_bytes, kernel=kernel,
        cooperative=cooperative, cluster=cluster, symbols=symbols, defines=defines,
    )  # fmt: skip
    missing = why_no_gpu()
    if missing:
        raise NotAvailable(f"No GPU to launch on: {missing}; emulator.launch takes the same words.")
    import cupy
    import torch

    device = _device(spec)
    with torch.cuda.device(device), cupy.cuda.Device(device):
        _launch(spec, torch.cuda.current_stream(device).cuda_stream)


def _device(spec: LaunchSpec) -> int:
    """The GPU that the first array is on; the current one where there is no array."""
    import torch

    for array in spec.arguments:
        if is_on_gpu(array):
            return array.get_device() if is_tensor(array) else array.device.id
    return torch.cuda.current_device()


def _launch(spec: LaunchSpec, stream: int) -> None:
    module = load_module(spec)
    bound = module.signature.bind(spec.arguments)
    module.restore(stream)
    for name, array in spec.symbols.items():
        module.copy(name, _address(array), array.nbytes, into=True)
    placed = [_place(argument) for argument in bound]
    launch_function(module.function, spec, stream, [_bytes(one) for one in placed])
    for name, array in spec.symbols.items():
        if not spec.source.variables[name]:
            module.copy(name, _address(array), array.nbytes, into=False)


def _place(argument: Any) -> Any:
    """What an argument is on the GPU: of a list of arrays, an array of their addresses."""
    if not isinstance(argument, list):
        return argument
    import torch

    # torch keeps its memory, once it is given back, for what comes later on this stream
    return torch.tensor([_address(array) for array in argument], dtype=torch.int64, device="cuda")


def _bytes(argument: Any) -> ctypes.Array[ctypes.c_char]:
    """What the driver copies for one argument: a value's bytes, or an address."""
    if not isinstance(argument, bytes):
        argument = (0 if argument is None else _address(argument)).to_bytes(8, "little")
    return ctypes.create_string_buffer(argument, max(1, len(argument)))


def _address(array: Any) -> int:
    if not is_on_gpu(array):
        raise BadInput("An array is in the host's memory; gpu.launch takes CUDA tensors.")
    return address(array) if is_tensor(array) else int(array.data.ptr)
