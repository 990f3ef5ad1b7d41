"""Launching any kernel on a GPU, by the words of `emulator.launch`: compiled and launched by CuPy."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from softmax_lib.arrays import address, is_on_gpu, is_tensor
from softmax_lib.errors import BadInput, CompileError, NotAvailable
from softmax_lib.gpu.compile import nvrtc
from softmax_lib.gpu.presence import why_no_gpu
from softmax_lib.launch_spec import LaunchSpec, specify
from softmax_lib.signature import HEADER, ROW, Signature, read_signature
from softmax_lib.source import FLAGS, WARP, Source

_SIGNATURE = """
extern "C" __device__ kernel_signature::Of<decltype(&{0})>::Table softmax_lib_signature =
    kernel_signature::Of<decltype(&{0})>::table;
extern "C" __device__ int softmax_lib_rows = sizeof(softmax_lib_signature) / sizeof(int);
"""
_DECLARES_WARP = re.compile(r"\b(?:\w+\s+WARP\s*[={;(]|#\s*define\s+WARP\b)")


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
) -> None:
    """Launch any kernel of `source` on the GPU that the arrays among `args` are on.

    The words are those of `emulator.launch`, with CUDA tensors or CuPy arrays in place of numpy's; so a
    kernel that runs there runs here unchanged. The launch goes to torch's current stream and returns
    before it has finished; with `symbols` it waits. Clusters have to be declared, by `__cluster_dims__`.

    Raises `WrongType`, `BadInput`, `UnknownKernel`, `CompileError`, and `NotAvailable` without a GPU.
    """
    spec = specify(
        source, grid, block, args, shared_bytes=shared_bytes, kernel=kernel,
        cooperative=cooperative, cluster=cluster, symbols=symbols,
    )  # fmt: skip
    missing = why_no_gpu()
    if missing:
        raise NotAvailable(f"No GPU to launch on: {missing}; emulator.launch takes the same words.")
    if cluster is not None:
        raise BadInput("On a GPU a kernel declares its clusters: write __cluster_dims__(x, y, z).")
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
            device = array.device
            return int(getattr(device, "index", None) or getattr(device, "id", 0))
    return torch.cuda.current_device()


def _launch(spec: LaunchSpec, stream: int) -> None:
    from cupy.cuda import driver

    module = _module(spec) if not spec.source.variables else _load(spec)
    signature = _signature(spec, module)
    bound = signature.bind(spec.arguments)
    for name, array in spec.symbols.items():
        _copy(module, name, array, into=True)
    function = module.get_function(spec.kernel)
    if spec.shared_bytes > 48 << 10:
        function.max_dynamic_shared_size_bytes = spec.shared_bytes
    keep = [_bytes(argument, signature) for argument in bound]
    addresses = (ctypes.c_void_p * len(keep))(*(ctypes.addressof(value) for value in keep))
    start = driver.launchCooperativeKernel if spec.cooperative else driver.launchKernel
    last = () if spec.cooperative else (0,)
    start(
        function.kernel.ptr, *spec.grid, *spec.block, spec.shared_bytes, stream,
        ctypes.addressof(addresses), *last,
    )  # fmt: skip
    if spec.symbols:
        for name, array in spec.symbols.items():
            if not spec.source.variables[name]:
                _copy(module, name, array, into=False)


def _bytes(argument: Any, signature: Signature) -> ctypes.Array[ctypes.c_char]:
    """What the driver copies for one argument: a value's bytes, or an address."""
    if isinstance(argument, list):
        raise BadInput(
            f"{signature.kernel} takes pointers to pointers; on a GPU pass their addresses."
        )
    if not isinstance(argument, bytes):
        argument = (0 if argument is None else _address(argument)).to_bytes(8, "little")
    return ctypes.create_string_buffer(argument, max(1, len(argument)))


def _address(array: Any) -> int:
    if not is_on_gpu(array):
        raise BadInput("An array is in the host's memory; gpu.launch takes CUDA tensors.")
    return address(array) if is_tensor(array) else int(array.data.ptr)


# ---- modules


def _load(spec: LaunchSpec) -> Any:
    """The kernel, compiled; CuPy keeps the machine code on disk."""
    nvrtc()  # says what to install when CuPy is missing
    import cupy

    source = spec.source
    options = (*FLAGS, *(f"-I{folder}" for folder in source.include_folders))
    text = f"{_prelude(source)}{source.text}\n{HEADER}{_SIGNATURE.format(spec.kernel)}"
    module = cupy.RawModule(
        code=text,
        options=options,
        name_expressions=[spec.kernel],
        enable_cooperative_groups=spec.cooperative,
    )
    try:
        module.compile()
    except cupy.cuda.compiler.CompileException as error:
        raise CompileError(str(error).strip()) from None
    return module


def _prelude(source: Source) -> str:
    """What NVRTC lacks of what kernels here use, and the source's own line numbers."""
    lines = ["#ifndef INFINITY", "#define INFINITY __int_as_float(0x7f800000)", "#endif"]
    if source.mentions("WARP") and not _DECLARES_WARP.search(source.code):
        lines.append(f"#define WARP {WARP}")
    return "\n".join((*lines, f'#line 1 "{source.file_name}"', ""))


@lru_cache(maxsize=64)
def _kept(source: Source, kernel: str, cooperative: bool, device: int) -> list[Any]:
    """Where the module of a kernel is kept once it is loaded."""
    return []


def _module(spec: LaunchSpec) -> Any:
    import cupy

    kept = _kept(spec.source, spec.kernel, spec.cooperative, cupy.cuda.Device().id)
    if not kept:
        kept.append(_load(spec))
    return kept[0]


def _signature(spec: LaunchSpec, module: Any) -> Signature:
    import cupy

    def read(name: str, count: int) -> np.ndarray:
        numbers = np.empty(count, np.int32)
        pointer = module.get_global(name).ptr
        cupy.cuda.runtime.memcpy(numbers.ctypes.data, pointer, numbers.nbytes, 2)
        return numbers

    count = int(read("softmax_lib_rows", 1)[0])
    declared = spec.source.kernel(spec.kernel)
    written = (declared.parameters, declared.parameter_names) if declared else ((), ())
    rows = read("softmax_lib_signature", count).reshape(-1, ROW)
    return read_signature(spec.kernel, *written, rows)


def _copy(module: Any, name: str, array: Any, *, into: bool) -> None:
    """Between a `__device__` or `__constant__` variable and an array on the GPU, after all before it."""
    import cupy

    cupy.cuda.runtime.deviceSynchronize()
    variable, size = module.get_global(name), array.nbytes
    ends = (variable.ptr, _address(array)) if into else (_address(array), variable.ptr)
    cupy.cuda.runtime.memcpy(*ends, size, 3)
