"""Which array a place in a block's shared memory is of. A cubin does not say; the PTX before it has them, in the same order."""

from __future__ import annotations

import re
from contextlib import suppress

from softmax_lib.engine.compiled.cubin import called
from softmax_lib.engine.compiled.ptx.inlining import flatten, lay_out
from softmax_lib.engine.compiled.ptx.program import ptx_of
from softmax_lib.engine.errors import CompileError, NotAvailable
from softmax_lib.engine.source import Program
from softmax_lib.engine.words import element

_SIZES = {
    8: "double|long|longlong|int64_t|size_t",
    2: "short|half|nv_bfloat16|int16_t",
    1: "char|bool|int8_t",
    4: "float|int|unsigned|int32_t",
}
"""Bytes of a number of each type, as its last word says; a digit behind it tells how many a vector has."""


def describe_shared(
    program: Program, arch: int, kernel: str, dynamic_bytes: int, offset: int
) -> str:
    """What lies so many bytes behind the start of shared memory: "part[8], past the end of its 8 elements".

    It is that of a `kernel` of a program, "" for its `entry`; a launch gives the dynamic array `dynamic_bytes`.
    """
    arrays: list[tuple[int, str, int]] = []
    with suppress(NotAvailable, CompileError):
        module, entry, _ = ptx_of(program, arch)
        function = module.functions[called(kernel or entry, module.functions)]
        variables = flatten(module, function).variables
        for mangled, start in lay_out(function, variables, arch)[0].shared.items():
            size = dynamic_bytes if variables[mangled].dynamic else variables[mangled].size
            arrays.append((start, _plain(mangled), size))
    if not arrays:
        return f"byte {offset} of shared memory"
    start, name, size = max((one for one in arrays if one[0] <= offset), default=min(arrays))
    declared = re.search(rf"\b__shared__\b([^;{{}}()]*?)\b{name}\b", program.source.code)
    at, item = offset - start, _element_bytes(declared[1]) if declared else 0
    if item:
        return element(name, at, item, size)
    return f"byte {at} of {name}" + ("" if 0 <= at < size else f", outside of its {size} bytes")


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
