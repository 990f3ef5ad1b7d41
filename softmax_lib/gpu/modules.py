"""Kernels of any source on a GPU: loaded by CuPy, with their signature and their variables."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from softmax_lib.engine.errors import BadInput
from softmax_lib.engine.signature import ROW, Signature, read_signature
from softmax_lib.engine.source import Program
from softmax_lib.engine.spec import LaunchSpec
from softmax_lib.gpu.compile import compile_kernel, nvrtc
from softmax_lib.gpu.presence import arch_of

_TO_DEVICE, _TO_HOST, _ON_DEVICE = 1, 2, 3  # cudaMemcpyKind


@dataclass(frozen=True)
class _Variable:
    """A `__device__` or `__constant__` variable: where it lies, and what it held before any launch."""

    address: int
    first: bytes


@dataclass(frozen=True)
class Module:
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


def load_module(spec: LaunchSpec) -> Module:
    """The kernel of `spec` on the current GPU. Raises `CompileError`, or `NotAvailable` without CuPy."""
    nvrtc()  # says what to install when CuPy is missing
    import cupy

    device = cupy.cuda.Device().id
    return _load_once(spec.program, spec.program.digest, device)


@lru_cache(maxsize=64)
def _load_once(program: Program, digest: str, device: int) -> Module:
    """A kernel on one GPU. The digest is also that of headers, which may have been changed."""
    import cupy

    source, kernel = program.source, program.entry
    cubin, entry = compile_kernel(program, arch_of(device))
    module = cupy.cuda.function.Module()
    module.load(cubin)
    numbers, variables = (int(n) for n in _fetch(module, "softmax_lib_counts", np.int32, 2))
    rows = _fetch(module, "softmax_lib_signature", np.int32, numbers).reshape(-1, ROW)
    declared = source.kernel(kernel)
    written = (declared.parameters, declared.parameter_names) if declared else ((), ())
    addresses = _fetch(module, "softmax_lib_variables", np.uint64, variables).tolist()
    sizes = _fetch(module, "softmax_lib_sizes", np.uint64, variables).tolist()
    first = [_Variable(at, _read(at, size)) for at, size in zip(addresses, sizes, strict=True)]
    named = dict(zip(source.variables, first, strict=True))
    return Module(
        module, module.get_function(entry).ptr, read_signature(kernel, *written, rows), named
    )


def _fetch(module: Any, name: str, dtype: Any, count: int) -> np.ndarray:
    """The first `count` numbers of a variable of the module."""
    content = _read(module.get_global_var(name), count * np.dtype(dtype).itemsize)
    return np.frombuffer(content, dtype)


def _read(address: int, length: int) -> bytes:
    import cupy

    content = ctypes.create_string_buffer(max(1, length))
    cupy.cuda.runtime.memcpy(ctypes.addressof(content), address, length, _TO_HOST)
    return content.raw[:length]
