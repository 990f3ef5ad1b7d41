"""A kernel's machine code or PTX, launched as a `LaunchSpec` says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from softmax_lib.engine.arrays import host_bytes, is_array
from softmax_lib.engine.compiled.cubin import Cubin, Variable, called
from softmax_lib.engine.compiled.launching import (
    FIRST_WITH_CLUSTERS,
    VARIABLES,
    Argument,
    Counted,
    Progress,
    launch,
)
from softmax_lib.engine.compiled.memory import Memory
from softmax_lib.engine.compiled.program import Decoder, decode_program
from softmax_lib.engine.compiled.ptx.inlining import flatten, lay_out
from softmax_lib.engine.compiled.ptx.program import ptx_of
from softmax_lib.engine.errors import BadInput, CompileError, NotAvailable
from softmax_lib.engine.signature import ROW, Signature, read_signature
from softmax_lib.engine.source import Program
from softmax_lib.engine.spec import LaunchSpec, Unkept
from softmax_lib.engine.words import element


def run(
    *specs: LaunchSpec,
    arch: int,
    progress: Progress | None = None,
    decoder: Decoder = decode_program,
    hear: Callable[[Counted], None] | None = None,
) -> tuple[Counted, ...]:
    """Run each of `specs` for sm_`arch`, and give what it did; arrays are written in place, also where one faults.

    `decoder` says what is run, PTX in place of machine code. With somebody to `hear` what each did, also one that
    faults, hazards are looked for.

    Raises `WrongType` or `BadInput` for arguments that do not fit, `CompileError`, `KernelFault`, and
    `NotAvailable` without NVRTC or nvdisasm, or for what the interpreter does not have; and `ReadBack` where a
    kernel reads what is `Unkept`.
    """
    memory = Memory(hear, specs[0].inputs, specs[0].unwritten)
    return tuple(_run(spec, arch, memory, progress, decoder) for spec in specs)


def _run(
    spec: LaunchSpec, arch: int, memory: Memory, progress: Progress | None, decoder: Decoder
) -> Counted:
    if spec.cluster != (1, 1, 1) and arch < FIRST_WITH_CLUSTERS:
        raise NotAvailable(f"GPUs of sm_{arch} have no clusters; those from sm_90 on do.")
    kernel = spec.kernel if spec.entries else ""
    decoded = decoder(spec.program, arch, kernel)
    filled = _fill(decoded.cubin, spec.symbols)
    arguments = [_place(memory, *one) for one in _bound(spec, decoded.cubin)]
    shared_word = partial(_describe_shared, spec.program, arch, kernel, spec.shared_bytes)
    decoded = replace(decoded, cubin=filled)
    counted = launch(decoded, spec.geometry, arguments, memory, progress, shared_word)
    _fetch(counted, filled, spec.symbols)
    return counted


def _bound(spec: LaunchSpec, cubin: Cubin) -> list[tuple[str, Any]]:
    """Name and argument of each parameter; numbers as bytes.

    Code that is compiled for several kernels says of each parameter no more than how many bytes it has.
    """
    if spec.entries:
        sizes = [one.bytes for one in cubin.parameters]
        values = [
            one
            if is_array(one) or isinstance(one, Unkept)
            else int(one).to_bytes(size, "little", signed=True)
            for one, size in zip(spec.arguments, sizes, strict=True)
        ]
        return list(zip(spec.names, values, strict=True))
    signature = _signature(spec, cubin)
    names = [parameter.name for parameter in signature.parameters]
    return list(zip(names, signature.bind(spec.arguments), strict=True))


def _signature(spec: LaunchSpec, cubin: Cubin) -> Signature:
    rows, _ = _content(cubin, "softmax_lib_counts").view(np.int32)
    held = _content(cubin, "softmax_lib_signature").view(np.int32)[:rows].reshape(-1, ROW)
    return read_signature(spec.kernel, spec.source.kernel(spec.kernel), held)


def _content(cubin: Cubin, name: str) -> np.ndarray:
    variable = _find(cubin, name)
    return np.frombuffer(cubin.globals, np.uint8, variable.bytes, variable.offset)


def _find(cubin: Cubin, name: str) -> Variable:
    """The variable of this name, which is part of a longer one where it is in a namespace."""
    *spaces, last = name.split("::")
    mangled = "".join(f"{len(part)}{part}" for part in (*spaces, last))
    for variable in cubin.variables:
        if variable.name == last or variable.name.endswith(f"{mangled}E"):
            return variable
    raise BadInput(f"The machine code has no variable {name}: nothing reads it.")


def _place(memory: Memory, name: str, argument: Any) -> Argument:
    if argument is None or isinstance(argument, bytes):
        return argument
    if isinstance(argument, Unkept):
        return memory.place_unkept(name, argument.nbytes)
    if isinstance(argument, list):
        addresses = [memory.place(name, one).address for one in argument]
        return memory.place(name, np.array(addresses, np.uint64))
    return memory.place(name, argument)


def _fill(cubin: Cubin, symbols: Mapping[str, Any]) -> Cubin:
    """With the symbols' arrays in place of what the source gives its variables."""
    held, constants = bytearray(cubin.globals), bytearray(cubin.constants.get(3, b""))
    for name, array in symbols.items():
        variable, content = _find(cubin, name), host_bytes(array)
        if content.nbytes > variable.bytes:
            raise BadInput(
                f"The symbol {name} is given {content.nbytes} bytes; it has {variable.bytes}."
            )
        into = constants if variable.is_constant else held
        into[variable.offset : variable.offset + content.nbytes] = content.tobytes()
    return replace(cubin, globals=bytes(held), constants={**cubin.constants, 3: bytes(constants)})


def _fetch(counted: Counted, cubin: Cubin, symbols: Mapping[str, Any]) -> None:
    """Write what the kernel left in `__device__` variables into the symbols' arrays."""
    held = next(one.host for one in counted.arrays if one.name == VARIABLES)
    for name, array in symbols.items():
        variable, content = _find(cubin, name), host_bytes(array)
        if not variable.is_constant:
            content[:] = held[variable.offset : variable.offset + content.nbytes]


# ---- which array a place in shared memory is of: a cubin does not say; the PTX before it has them, in the same order

_SIZES = {
    8: "double|long|longlong|int64_t|size_t",
    2: "short|half|nv_bfloat16|int16_t",
    1: "char|bool|int8_t",
    4: "float|int|unsigned|int32_t",
}
"""Bytes of a number of each type, as its last word says; a digit behind it tells how many a vector has."""


def _describe_shared(
    program: Program, arch: int, kernel: str, dynamic_bytes: int, offset: int
) -> str:
    """What lies so many bytes behind the start of shared memory: "part[8], past the end of its 8 elements".

    It is that of a `kernel` of a program, "" for its `entry`; a launch gives the dynamic array `dynamic_bytes`.
    """
    arrays = shared_arrays(program, arch, kernel, dynamic_bytes)
    if not arrays:
        return f"byte {offset} of shared memory"
    start, name, size, item = max((one for one in arrays if one[0] <= offset), default=min(arrays))
    at = offset - start
    if item:
        return element(name, at, item, size)
    return f"byte {at} of {name}" + ("" if 0 <= at < size else f", outside of its {size} bytes")


def shared_arrays(
    program: Program, arch: int, kernel: str, dynamic_bytes: int
) -> list[tuple[int, str, int, int]]:
    """Of each array in shared memory its start, name, bytes, and those of an element, 0 where not known; none without PTX."""
    arrays = []
    with suppress(NotAvailable, CompileError):
        module, entry, _ = ptx_of(program, arch)
        function = module.functions[called(kernel or entry, module.functions)]
        variables = flatten(module, function).variables
        for mangled, start in lay_out(function, variables, arch)[0].shared.items():
            size = dynamic_bytes if variables[mangled].dynamic else variables[mangled].size
            name = _plain(mangled)
            declared = re.search(rf"\b__shared__\b([^;{{}}()]*?)\b{name}\b", program.source.code)
            arrays.append((start, name, size, _element_bytes(declared[1]) if declared else 0))
    return arrays


def _element_bytes(declared: str) -> int:
    """Of an array behind these words; 0 of a type that is not known."""
    for size, names in _SIZES.items():
        if found := re.search(rf"\b(?:__)?u?(?:{names})([1-4]?)\b", declared):
            return size * int(found[1] or 1)
    return 0


def _plain(mangled: str) -> str:
    """The name at the end of one that C++ has made: "part" of "_ZZ1kPfE4part_0"."""
    for found in re.finditer(r"\d+", mangled) if mangled.startswith("_Z") else ():
        end = found.end() + int(found[0])
        if int(found[0]) and re.fullmatch(r"E?(?:_\d+)?", mangled[end:]):
            return mangled[found.end() : end]
    return mangled
