"""Kernels of any source on a GPU: compiled and loaded by CuPy, with their signature and their variables."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from softmax_lib.errors import BadInput, CompileError
from softmax_lib.gpu.compile import nvrtc
from softmax_lib.gpu.headers import lay_out_headers, options_for
from softmax_lib.launch_spec import LaunchSpec
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


@dataclass(frozen=True)
class _Variable:
    """A `__device__` or `__constant__` variable: where it lies, and what it held before any launch."""

    address: int
    first: bytes


@dataclass(frozen=True)
class Module:
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
    import cupy

    device = cupy.cuda.Device().id
    return _load_once(spec.program, spec.program.digest, spec.kernel, spec.cooperative, device)


@lru_cache(maxsize=64)
def _load_once(
    program: Program, digest: str, kernel: str, cooperative: bool, device: int
) -> Module:
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
    return Module(module.get_function(kernel), read_signature(kernel, *written, rows), named)


def _compile(source: Source, digest: str, kernel: str, cooperative: bool) -> Any:
    nvrtc()  # says what to install when CuPy is missing
    import cupy

    folders = (lay_out_headers(source), *source.include_folders)
    options = (*FLAGS, *options_for(source), *(f"-I{folder}" for folder in folders))
    facts = _FACTS.format(
        kernel=kernel,
        count=len(source.variables),
        addresses="".join(f"(void*)&{name}, " for name in source.variables),
        sizes="".join(f"sizeof({name}), " for name in source.variables),
    )
    module = cupy.RawModule(
        code=f"{_prelude(source)}{source.device_text}\n{HEADER}{facts}// {digest}\n",
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
    if source.mentions("WARP") and not source.declares_warp:
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
