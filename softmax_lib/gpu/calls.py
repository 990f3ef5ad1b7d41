"""Launching any kernel on a GPU, by the words of `emulator.launch`: compiled and launched by CuPy."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from softmax_lib.arrays import address, is_on_gpu, is_tensor
from softmax_lib.errors import BadInput, CompileError, NotAvailable
from softmax_lib.gpu.compile import nvrtc
from softmax_lib.gpu.presence import why_no_gpu
from softmax_lib.grids import MOST_STATIC_SHARED_BYTES
from softmax_lib.launch_spec import LaunchSpec, specify
from softmax_lib.signature import HEADER, ROW, Signature, read_signature
from softmax_lib.source import FLAGS, WARP, Program, Source

_FACTS = """
extern "C" __device__ kernel_signature::Of<decltype(&{kernel})>::Table softmax_lib_signature =
    kernel_signature::Of<decltype(&{kernel})>::table;
extern "C" __device__ int softmax_lib_counts[] = {{sizeof(softmax_lib_signature) / sizeof(int), {count}}};
extern "C" __device__ void* softmax_lib_variables[] = {{{addresses}nullptr}};
extern "C" __device__ unsigned long long softmax_lib_sizes[] = {{{sizes}0}};
"""
"""What Python asks a module for: what the kernel takes, and where the source's variables lie."""

_TO_DEVICE, _TO_HOST, _ON_DEVICE = 1, 2, 3  # cudaMemcpyKind

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
            return array.get_device() if is_tensor(array) else array.device.id
    return torch.cuda.current_device()


def _launch(spec: LaunchSpec, stream: int) -> None:
    from cupy.cuda import driver

    module = _load(spec)
    bound = module.signature.bind(spec.arguments)
    module.restore(stream)
    for name, array in spec.symbols.items():
        _copy(module.variables[name], array, into=True)
    if spec.shared_bytes > MOST_STATIC_SHARED_BYTES:
        module.function.max_dynamic_shared_size_bytes = spec.shared_bytes
    keep = [_bytes(argument, spec.kernel) for argument in bound]
    addresses = (ctypes.c_void_p * len(keep))(*(ctypes.addressof(value) for value in keep))
    start = driver.launchCooperativeKernel if spec.cooperative else driver.launchKernel
    last = () if spec.cooperative else (0,)
    start(
        module.function.kernel.ptr, *spec.grid, *spec.block, spec.shared_bytes, stream,
        ctypes.addressof(addresses), *last,
    )  # fmt: skip
    for name, array in spec.symbols.items():
        if not spec.source.variables[name]:
            _copy(module.variables[name], array, into=False)


def _bytes(argument: Any, kernel: str) -> ctypes.Array[ctypes.c_char]:
    """What the driver copies for one argument: a value's bytes, or an address."""
    if isinstance(argument, list):
        raise BadInput(f"{kernel} takes pointers to pointers; on a GPU pass their addresses.")
    if not isinstance(argument, bytes):
        argument = (0 if argument is None else _address(argument)).to_bytes(8, "little")
    return ctypes.create_string_buffer(argument, max(1, len(argument)))


def _address(array: Any) -> int:
    if not is_on_gpu(array):
        raise BadInput("An array is in the host's memory; gpu.launch takes CUDA tensors.")
    return address(array) if is_tensor(array) else int(array.data.ptr)


# ---- modules


@dataclass(frozen=True)
class _Variable:
    """A `__device__` or `__constant__` variable: where it lies, and what it held before any launch."""

    address: int
    first: bytes


@dataclass(frozen=True)
class _Module:
    """A kernel on one GPU."""

    function: Any
    signature: Signature
    variables: Mapping[str, _Variable]

    def restore(self, stream: int) -> None:
        """Give the variables their first values again, after what `stream` has to do before."""
        import cupy

        for variable in self.variables.values():
            length = len(variable.first)
            first = ctypes.create_string_buffer(variable.first, length)
            cupy.cuda.runtime.streamSynchronize(stream)
            cupy.cuda.runtime.memcpy(variable.address, ctypes.addressof(first), length, _TO_DEVICE)


def _load(spec: LaunchSpec) -> _Module:
    import cupy

    device = cupy.cuda.Device().id
    return _load_once(spec.program, spec.program.digest, spec.kernel, spec.cooperative, device)


@lru_cache(maxsize=64)
def _load_once(
    program: Program, digest: str, kernel: str, cooperative: bool, device: int
) -> _Module:
    """A kernel, compiled for the current GPU; CuPy keeps the machine code on disk.

    The digest is also that of headers, which may have been changed.
    """
    source = program.source
    module = _compile(source, digest, kernel, cooperative)
    numbers, variables = (int(n) for n in _fetch(module, "softmax_lib_counts", np.int32, 2))
    rows = _fetch(module, "softmax_lib_signature", np.int32, numbers).reshape(-1, ROW)
    declared = source.kernel(kernel)
    written = (declared.parameters, declared.parameter_names) if declared else ((), ())
    addresses = _fetch(module, "softmax_lib_variables", np.uint64, variables).tolist()
    sizes = _fetch(module, "softmax_lib_sizes", np.uint64, variables).tolist()
    first = [_Variable(at, _read(at, size)) for at, size in zip(addresses, sizes, strict=True)]
    named = dict(zip(source.variables, first, strict=True))
    return _Module(module.get_function(kernel), read_signature(kernel, *written, rows), named)


def _compile(source: Source, digest: str, kernel: str, cooperative: bool) -> Any:
    nvrtc()  # says what to install when CuPy is missing
    import cupy

    options = (*FLAGS, *(f"-I{folder}" for folder in source.include_folders))
    facts = _FACTS.format(
        kernel=kernel,
        count=len(source.variables),
        addresses="".join(f"(void*)&{name}, " for name in source.variables),
        sizes="".join(f"sizeof({name}), " for name in source.variables),
    )
    module = cupy.RawModule(
        code=f"{_prelude(source)}{source.text}\n{HEADER}{facts}// {digest}\n",
        options=options,
        name_expressions=[kernel],
        enable_cooperative_groups=cooperative,
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


def _fetch(module: Any, name: str, dtype: Any, count: int) -> np.ndarray:
    """The first `count` numbers of a variable of the module."""
    content = _read(module.get_global(name).ptr, count * np.dtype(dtype).itemsize)
    return np.frombuffer(content, dtype)


def _read(address: int, length: int) -> bytes:
    import cupy

    content = ctypes.create_string_buffer(max(1, length))
    cupy.cuda.runtime.memcpy(ctypes.addressof(content), address, length, _TO_HOST)
    return content.raw[:length]


def _copy(variable: _Variable, array: Any, *, into: bool) -> None:
    """Between a variable and an array on the GPU, after all that was to be done before."""
    import cupy

    if array.nbytes > len(variable.first):
        raise BadInput(f"A symbol is given {array.nbytes} bytes; it has {len(variable.first)}.")
    cupy.cuda.runtime.deviceSynchronize()
    ends = (variable.address, _address(array)) if into else (_address(array), variable.address)
    cupy.cuda.runtime.memcpy(*ends, array.nbytes, _ON_DEVICE)
