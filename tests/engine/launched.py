"""Kernels of a few words, launched; and what they make of their threads.

Launches are by the same words in either place: on a GPU on copies of the arrays, which are written back.
"""

import os
from functools import cache
from itertools import count

import numpy as np
import pytest

from softmax_lib import emulator, gpu
from softmax_lib.engine.compiled import running as compiled
from softmax_lib.engine.compiled.program import decode_program
from softmax_lib.engine.compiled.ptx.program import translate
from softmax_lib.engine.spec import LaunchSpec

FUNCTIONS_ON = os.environ.get("FUNCTIONS_ON", "cpu")
"""Where the tests of CUDA's functions run them: "cuda" holds a GPU to the same sentences."""

FULL = 0xFFFFFFFF
DTYPES = {
    "bool": "?", "signed char": "i1", "unsigned char": "u1", "short": "i2", "unsigned short": "u2",
    "int": "i4", "unsigned": "u4", "long long": "i8", "long": "i8", "unsigned long long": "u8",
    "float": "f4", "double": "f8", "__half": "f2", "__nv_bfloat16": "u2", "__half2": "f2",
    "__nv_bfloat162": "u2",
}  # fmt: skip
"""How numpy holds each type of CUDA; pairs are two elements in a row, and bfloat16s are seen as their bits."""
C_NAMES = {np.dtype(code).name: name for name, code in reversed(DTYPES.items())}
C_NAMES["bfloat16"] = "__nv_bfloat16"
"""The other way round, by numpy's names."""

COMPILED = {"machine": decode_program, "ptx": translate}


def launch(source, grid, block, args, on="", **how):
    """Launches where `FUNCTIONS_ON` says, or `on` another place: as machine code or PTX."""
    launch_on(on or FUNCTIONS_ON, {"source": source, "grid": grid, "block": block, **how}, args)


def launch_on(device, words, arguments):
    """Launches, on copies of the arrays if it is a GPU, which are written back."""
    if device == "cpu":
        emulator.launch(args=arguments, **words)
        return
    if device in COMPILED:
        compiled.run(LaunchSpec.of(args=arguments, **words), arch=90, decoder=COMPILED[device])
        return
    import torch

    if "cluster" in words and torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("clusters came with sm_90")

    def there(value):
        if isinstance(value, list):
            return [there(array) for array in value]
        if not isinstance(value, np.ndarray):
            return value
        signed = {"uint16": "int16", "uint32": "int32", "uint64": "int64"}.get(str(value.dtype))
        moved = torch.from_numpy(value.view(signed) if signed else value).cuda()
        return moved.view(getattr(torch, str(value.dtype))) if signed else moved

    on_gpu = [there(value) for value in arguments]
    symbols = {name: there(array) for name, array in words.get("symbols", {}).items()}
    gpu.launch(args=on_gpu, **words | {"symbols": symbols})
    torch.cuda.synchronize()
    for host, moved in zip(arguments, on_gpu, strict=True):
        if isinstance(host, np.ndarray):
            host[...] = moved.view(torch.uint8).cpu().numpy().view(host.dtype).reshape(host.shape)


def run(body, *arrays, grid=1, block=32, before="", parameters="", **how):
    """Launch one kernel with this body; its parameters are arrays a, b, c, ... unless they are given."""
    declared = ", ".join(
        f"{C_NAMES[a.dtype.name]}* {letter}" for a, letter in zip(arrays, "abcdefgh", strict=False)
    )
    source = f'{before}\nextern "C" __global__ void body({parameters or declared}) {{\n{body}\n}}\n'
    launch(source, grid, block, list(arrays), **how)
    return arrays[0] if len(arrays) == 1 else arrays


def evaluation(expressions, prologue=""):
    """A body by which each thread evaluates them into b, one after the other: `thread` is its number, `lane` that in its warp.

    Of the numbers in a, x[thread] is its own.
    """
    first = "const int* x = a; const unsigned thread = threadIdx.x, lane = thread % 32; (void)x; (void)lane;"
    lines = (f"b[{i} * blockDim.x + thread] = {each};" for i, each in enumerate(expressions))
    return "\n".join((first, prologue, *lines))


@cache
def evaluate(expressions, threads=32, x=(), to="unsigned", prologue="", before=""):
    """By expression what each thread finds, as a number of this type."""
    found = zeros(to, len(expressions) * threads)
    body = evaluation(expressions, prologue)
    run(body, like("int", *(x or range(threads))), found, block=threads, before=before)
    return dict(zip(expressions, found.reshape(-1, threads).tolist(), strict=True))


def run_all(bodies, *arrays, **how):
    """What `run` gives of each of several bodies, by their names: in one kernel, on a copy of the arrays each."""
    rows = {name: (body, [array.copy() for array in arrays]) for name, body in bodies.items()}
    _run_together(rows, **how)
    return {name: own[0] if len(own) == 1 else own for name, (_, own) in rows.items()}


class Rows(dict):
    """By name a body, its arrays, what each then holds (None where that is open), and words of the launch of its own.

    Those of the same words run in one kernel.
    """

    def __init__(self, rows, **how):
        super().__init__({name: (*row[:3], how | dict(*row[3:])) for name, row in rows.items()})
        self._run = cache(self._run_alike)

    def check(self, name):
        _, arrays, expected, how = self[name]
        self._run(repr(how))
        for array, values in zip(arrays, expected, strict=True):
            assert values is None or array.tolist() == values

    def _run_alike(self, words):
        rows = {name: row for name, row in self.items() if repr(row[3]) == words}
        *_, how = next(iter(rows.values()))
        _run_together({name: row[:2] for name, row in rows.items()}, **how)


def _run_together(rows, **how):
    """Bodies, each with arrays that it calls a, b, c, one after the other."""
    parts, given = [], []
    for body, arrays in rows.values():
        own = (
            f"auto {letter} = given{at};"
            for at, letter in zip(count(len(given)), "abc"[: len(arrays)], strict=False)
        )
        parts.append(f"[&] {{ {' '.join(own)}\n{body}\n}}();\n__syncthreads();")
        given += arrays
    declared = ", ".join(
        f"{C_NAMES[array.dtype.name]}* given{at}" for at, array in enumerate(given)
    )
    run("\n".join(parts), *given, parameters=declared, **how)


def like(kind, *values):
    """An array of the C++ type."""
    return np.array(values, DTYPES[kind])


def zeros(kind, count):
    """An array of so many zeros of the C++ type."""
    return np.zeros(count, DTYPES[kind])
