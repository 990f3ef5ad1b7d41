"""Launching any kernel on a GPU, by the words of `emulator.launch`, through NVRTC and the driver."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from softmax_lib.engine.arrays import address, is_on_gpu, is_tensor
from softmax_lib.engine.errors import BadInput, NotAvailable
from softmax_lib.engine.signature import ROW, Signature, read_signature
from softmax_lib.engine.source import Program, Source
from softmax_lib.engine.spec import LaunchSpec
from softmax_lib.gpu.compile import compile_kernel, nvrtc
from softmax_lib.gpu.driver_api import (
    CLUSTER,
    COOPERATIVE,
    Config,
    attributes,
    check_threads,
    driver,
    meaning,
    permit,
)
from softmax_lib.gpu.presence import arch_of, why_no_gpu

_TO_DEVICE, _TO_HOST, _ON_DEVICE = 1, 2, 3  # cudaMemcpyKind
_REFUSALS = frozenset({1, 701, 720, 912})  # impossible values, resources, cooperative grid, cluster


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
    if missing := why_no_gpu():
        raise NotAvailable(f"No GPU to launch on: {missing}; emulator.launch takes the same words.")
    nvrtc()  # says what to install when CuPy is missing
    import cupy
    import torch

    device = _device(spec)
    with torch.cuda.device(device), cupy.cuda.Device(device):
        module = _load(spec.program, spec.program.digest, device)
        _launch(module, spec, torch.cuda.current_stream(device).cuda_stream)


def _device(spec: LaunchSpec) -> int:
    """The GPU that the first array is on; the current one where there is no array."""
    import torch

    for array in spec.arguments:
        if is_on_gpu(array):
            return array.get_device() if is_tensor(array) else array.device.id
    return torch.cuda.current_device()


def _launch(module: _Module, spec: LaunchSpec, stream: int) -> None:
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


# ---- kernels and their variables


@dataclass(frozen=True)
class _Variable:
    """A `__device__` or `__constant__` variable: where it lies, and what it held before any launch."""

    address: int
    first: bytes


@dataclass(frozen=True)
class _Module:
    """A kernel on one GPU: `function` is its address, `loaded` what keeps it there."""

    loaded: Any
    function: int
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

    def copy(self, name: str, address: int, length: int, *, into: bool) -> None:
        """Between a variable and memory of the GPU, after all that was to be done before. Raises `BadInput`."""
        import cupy

        variable = self.variables[name]
        if length > len(variable.first):
            raise BadInput(
                f"The symbol {name} is given {length} bytes; it has {len(variable.first)}."
            )
        cupy.cuda.runtime.deviceSynchronize()
        ends = (variable.address, address) if into else (address, variable.address)
        cupy.cuda.runtime.memcpy(*ends, length, _ON_DEVICE)


@lru_cache(maxsize=64)
def _load(program: Program, digest: str, device: int) -> _Module:
    """A kernel on one GPU, the current one. The digest is also that of headers, which may have been changed."""
    import cupy

    source, kernel = program.source, program.entry
    cubin, entry = compile_kernel(program, arch_of(device))
    module = cupy.cuda.function.Module()
    module.load(cubin)
    numbers, variables = (int(n) for n in _fetch(module, "softmax_lib_counts", np.int32, 2))
    rows = _fetch(module, "softmax_lib_signature", np.int32, numbers).reshape(-1, ROW)
    addresses = _fetch(module, "softmax_lib_variables", np.uint64, variables).tolist()
    sizes = _fetch(module, "softmax_lib_sizes", np.uint64, variables).tolist()
    first = [_Variable(at, _read(at, size)) for at, size in zip(addresses, sizes, strict=True)]
    named = dict(zip(source.variables, first, strict=True))
    signature = read_signature(kernel, source.kernel(kernel), rows)
    return _Module(module, module.get_function(entry).ptr, signature, named)


def _fetch(module: Any, name: str, dtype: Any, count: int) -> np.ndarray:
    """The first `count` numbers of a variable of the module."""
    content = _read(module.get_global_var(name), count * np.dtype(dtype).itemsize)
    return np.frombuffer(content, dtype)


def _read(address: int, length: int) -> bytes:
    import cupy

    content = ctypes.create_string_buffer(max(1, length))
    cupy.cuda.runtime.memcpy(ctypes.addressof(content), address, length, _TO_HOST)
    return content.raw[:length]


# ---- the driver


def launch_function(
    function: int, spec: LaunchSpec, stream: int, arguments: Sequence[ctypes.Array]
) -> None:
    """Launch the function at this address, with the bytes of each argument, on a stream of the current GPU.

    Raises `BadInput` for what this GPU does not take, and CuPy's `CUDADriverError` for all else.
    """
    check_threads(function, spec.kernel, prod(spec.block))
    addresses = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
    more: dict[int, tuple[int, ...]] = {COOPERATIVE: (1,)} if spec.cooperative else {}
    if prod(spec.cluster) > 1:
        more[CLUSTER] = spec.cluster
    said = attributes(more)
    config = Config(spec.grid, spec.block, spec.shared_bytes, stream, said, len(said))
    _check(permit(function, spec.shared_bytes, prod(spec.cluster)), spec)
    call = (ctypes.byref(config), ctypes.c_void_p(function), addresses, None)
    _check(driver().cuLaunchKernelEx(*call), spec)


def _check(status: int, spec: LaunchSpec) -> None:
    if status in _REFUSALS:
        raise BadInput(f"This GPU does not take this launch of {spec.kernel}: {meaning(status)}.")
    import cupy

    cupy.cuda.driver.check_status(status)
