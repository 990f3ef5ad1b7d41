"""Machine code and PTX of one kernel of any source, by its C++ name, and of what Python asks its module for."""

from __future__ import annotations

from softmax_lib.gpu.compile import (
    KIND,
    LINE_FLAGS,
    compile_named,
    compile_once,
    own_flags,
    split_name,
)
from softmax_lib.gpu.headers import read_headers
from softmax_lib.signature import HEADER
from softmax_lib.source import FLAGS, Program, Source

_FACTS = """
extern "C" __device__ kernel_signature::SignatureOf<decltype(&{kernel})>::SignatureTable softmax_lib_signature =
    kernel_signature::SignatureOf<decltype(&{kernel})>::signature_table;
extern "C" __device__ int softmax_lib_counts[] = {{sizeof(softmax_lib_signature) / sizeof(int), {count}}};
extern "C" __device__ void* softmax_lib_variables[] = {{{addresses}nullptr}};
extern "C" __device__ unsigned long long softmax_lib_sizes[] = {{{sizes}0}};
"""
"""What Python asks a module for: what the kernel takes, and where the source's variables lie."""


def compile_kernel(program: Program, arch: int, *, lines: bool = False) -> tuple[bytes, str]:
    """Machine code for sm_`arch` of the program's `entry`, and its name in it; from the disk cache when it is there.

    With `lines` it knows the line of the source that each instruction comes from. Raises `CompileError`, and
    `NotAvailable` without CuPy or NVRTC.
    """
    return _compile(program, arch, KIND[lines], LINE_FLAGS[lines])


def compile_kernel_ptx(program: Program, arch: int) -> tuple[str, str]:
    """PTX for sm_`arch` of the same, which knows its lines; as `compile_kernel` else."""
    ptx, name = _compile(program, arch, "ptx", LINE_FLAGS[True], ptx=True)
    return ptx.decode(), name


def _compile(
    program: Program, arch: int, kind: str, lines: tuple[str, ...], *, ptx: bool = False
) -> tuple[bytes, str]:
    signature = HEADER.read_text(encoding="utf-8")
    source, kernel = program.source, program.entry
    text = f"{signature}{source.with_prelude()}\n{_facts(source, kernel)}"
    flags = (*FLAGS, *lines, *own_flags(program))
    held = compile_once(
        f"kernel.{kind}",
        (text, read_headers(source), kernel, arch, flags),
        lambda: compile_named(source, text, arch, flags, kernel, ptx=ptx),
    )
    return split_name(held)


def _facts(source: Source, kernel: str) -> str:
    return _FACTS.format(
        kernel=kernel,
        count=len(source.variables),
        addresses="".join(f"(void*)&{name}, " for name in source.variables),
        sizes="".join(f"sizeof({name}), " for name in source.variables),
    )
