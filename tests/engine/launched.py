"""Kernels of a few words, launched; and what they make of their threads.

Every launch of the tables goes through `launch`, so that a GPU can be given the same sources.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from softmax_lib import emulator

launch = emulator.launch

FULL = 0xFFFFFFFF
TYPES = {
    "float": np.float32, "double": np.float64, "int": np.int32, "unsigned": np.uint32,
    "long long": np.int64, "unsigned long long": np.uint64, "unsigned short": np.uint16,
    "short": np.int16, "__half": np.float16, "unsigned char": np.uint8,
}  # fmt: skip
"""Of numpy, by their names in CUDA."""


@dataclass(frozen=True)
class Table:
    """Expressions that every thread evaluates: `thread` is its number, `lane` that in its warp.

    `x` holds a number for each thread, of the C++ type `of`; results are of the type `to`.
    """

    expressions: tuple[str, ...]
    threads: int = 32
    before: str = ""
    prologue: str = ""
    x: tuple[float, ...] = ()
    of: str = "int"
    to: str = "unsigned"
    how: dict = field(default_factory=dict, hash=False)

    @property
    def source(self) -> str:
        """One kernel for all expressions, whose results lie one after the other."""
        lines = [
            f"    y[{i} * blockDim.x + thread] = {expression};"
            for i, expression in enumerate(self.expressions)
        ]
        return "\n".join((
            self.before,
            f'extern "C" __global__ void table(const {self.of}* x, {self.to}* y) {{',
            "    const unsigned thread = threadIdx.x, lane = threadIdx.x % 32;",
            "    (void)lane;",
            self.prologue,
            *lines,
            "}\n",
        ))  # fmt: skip

    def results(self) -> dict[str, list]:
        """By expression: what each thread has found."""
        return _results(self)


@cache
def _results(table: Table) -> dict[str, list]:
    x = np.array(table.x or range(table.threads), TYPES[table.of])
    y = np.zeros((len(table.expressions), table.threads), TYPES[table.to])
    launch(table.source, 1, table.threads, [x, y], **table.how)
    return dict(zip(table.expressions, y.tolist(), strict=True))


def run(body, *arrays, grid=1, block=32, before="", parameters="", **how):
    """Launch one kernel with this body; its parameters are arrays a, b, c, ... unless they are given."""
    declared = ", ".join(
        f"{_name(a)}* {letter}" for a, letter in zip(arrays, "abcdefgh", strict=False)
    )
    source = f'{before}\nextern "C" __global__ void body({parameters or declared}) {{\n{body}\n}}\n'
    launch(source, grid, block, list(arrays), **how)
    return arrays[0] if len(arrays) == 1 else arrays


def run_all(bodies, *arrays, **how):
    """What `run` gives of each of several bodies, by their names: in one kernel, one after the other, on a copy of the arrays each."""
    many = [np.tile(array, len(bodies)) for array in arrays]
    parts = []
    for number, body in enumerate(bodies.values()):
        own = " ".join(
            f"{_name(array)}* {letter} = all_{letter} + {number * array.size};"
            for array, letter in zip(arrays, "abc", strict=False)
        )
        parts.append(f"[&] {{ {own}\n{body}\n}}();\n__syncthreads();")
    declared = (f"{_name(a)}* all_{letter}" for a, letter in zip(arrays, "abc", strict=False))
    run("\n".join(parts), *many, parameters=", ".join(declared), **how)
    of_each = zip(*(array.reshape(len(bodies), -1) for array in many), strict=True)
    return {
        name: found[0] if len(arrays) == 1 else found
        for name, found in zip(bodies, of_each, strict=True)
    }


def _name(array):
    """What an element of it is called in C++."""
    return next(name for name, kind in TYPES.items() if kind == array.dtype)


def like(kind, *values):
    """An array of the C++ type."""
    return np.array(values, TYPES[kind])


def zeros(kind, count):
    """An array of so many zeros of the C++ type."""
    return np.zeros(count, TYPES[kind])
