"""Which array a place in a block's shared memory is of. A cubin does not say; the PTX before it has them, in the same order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

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


@dataclass(frozen=True)
class SharedArrays:
    """Those of a `kernel` of a program, "" for its `entry`; a launch gives the dynamic one `dynamic_bytes`."""

    program: Program
    arch: int
    kernel: str
    dynamic_bytes: int

    def word(self, offset: int) -> str:
        """What lies so many bytes behind the start of shared memory: "part[8], past the end of its 8 elements"."""
        arrays: list[tuple[int, str, int]] = []
        with suppress(NotAvailable, CompileError):
            arrays = sorted(self._arrays())
        below = [one for one in arrays if one[0] <= offset] or arrays[:1]
        if not below:
            return f"byte {offset} of shared memory"
        start, name, size = below[-1]
        declared = re.search(rf"\b__shared__\b([^;{{}}()]*?)\b{name}\b", self.program.source.code)
        item = _element_bytes(declared[1]) if declared else 0
        at = offset - start
        if item:
            return element(name, at, item, size)
        return f"byte {at} of {name}" + ("" if 0 <= at < size else f", outside of its {size} bytes")

    def _arrays(self) -> Iterator[tuple[int, str, int]]:
        """Where each begins, what the source calls it, its bytes."""
        module, entry, _ = ptx_of(self.program, self.arch)
        function = module.functions[called(self.kernel or entry, module.functions)]
        variables = flatten(module, function).variables
        for mangled, start in lay_out(function, variables, self.arch)[0].shared.items():
            is_dynamic = variables[mangled].dynamic
            yield (
                start,
                _plain(mangled),
                self.dynamic_bytes if is_dynamic else variables[mangled].size,
            )


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
