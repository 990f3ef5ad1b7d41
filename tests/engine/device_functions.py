"""Functions of CUDA's headers, many in one kernel: what each makes of columns of arguments, here or on a GPU."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from engine.launch_on import launch

DTYPES = {
    "bool": "?", "signed char": "i1", "unsigned char": "u1", "short": "i2", "unsigned short": "u2",
    "int": "i4", "unsigned": "u4", "long": "i8", "long long": "i8", "unsigned long long": "u8",
    "float": "f4", "double": "f8", "__half": "f2", "__nv_bfloat16": "u2", "__half2": "f2",
    "__nv_bfloat162": "u2",
}  # fmt: skip
"""How numpy holds each type; pairs are two elements in a row, and bfloat16s are seen as their bits."""

ELEMENT = {"__half2": "__half", "__nv_bfloat162": "__nv_bfloat16"}
"""What an array of pairs is declared to be."""


@dataclass(frozen=True)
class Function:
    """One function: C++ types, and an expression of a, b, c, ... where it is no plain call."""

    name: str
    result: str
    arguments: tuple[str, ...]
    expression: str = ""

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.arguments)})"

    @property
    def value(self) -> str:
        """C++ for the value, of the arguments a, b, c, ..."""
        return self.expression or f"{self.name}({', '.join('abcdef'[: len(self.arguments)])})"


def functions(signature: str, names: str) -> list[Function]:
    """Functions of one signature: `functions("float(float, float)", "powf fmodf")`."""
    result, _, arguments = signature.rstrip(")").partition("(")
    taken = tuple(argument.strip() for argument in arguments.split(","))
    return [Function(name, result, taken) for name in names.split()]


def kernel_source(calls: Sequence[Function], include: str = "") -> str:
    """A kernel with a row of results for each of `calls`, which all take the same types."""
    taken = calls[0].arguments
    assert all(call.arguments == taken for call in calls)
    parameters = [
        f"const {ELEMENT.get(kind, kind)}* of_{name}"
        for kind, name in zip(taken, "abcdef", strict=False)
    ]
    parameters += [
        f"{ELEMENT.get(call.result, call.result)}* result{i}" for i, call in enumerate(calls)
    ]
    loads = [
        f"    {kind} {name} = reinterpret_cast<const {kind}*>(of_{name})[i];"
        for kind, name in zip(taken, "abcdef", strict=False)
    ]
    stores = [
        f"    reinterpret_cast<{call.result}*>(result{i})[i] = {call.value};"
        for i, call in enumerate(calls)
    ]
    head = f'extern "C" __global__ void call_each({", ".join([*parameters, "int n"])}) {{'
    first = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;"
    return "\n".join((include, head, first, *loads, *stores, "}", ""))


MOST = 200
"""Calls that share a kernel."""


def call_each(
    calls: Sequence[Function], *columns: np.ndarray, include: str = ""
) -> Mapping[str, np.ndarray]:
    """The results of each call by its text; argument i of a call is an element of `columns[i]`.

    Pairs are columns of shape (n, 2).
    """
    columns = tuple(np.ascontiguousarray(column) for column in columns)
    n = len(columns[0])
    results = {}
    for start in range(0, len(calls), MOST):
        some = calls[start : start + MOST]
        outputs = [
            np.zeros((n, 2) if call.result in ELEMENT else n, DTYPES[call.result]) for call in some
        ]
        launch(kernel_source(some, include), -(-n // 256), 256, [*columns, *outputs, n])
        results |= {str(call): output for call, output in zip(some, outputs, strict=True)}
    return results


def call(signature: str, names: str, *columns: np.ndarray) -> dict[str, np.ndarray]:
    """What functions of one signature make of the columns, by name."""
    calls = functions(signature, names)
    found = call_each(calls, *columns)
    return {one.name: found[str(one)] for one in calls}


def parts(taken: str, statement: str, *columns: np.ndarray, **kinds: str) -> list[np.ndarray]:
    """What is in each variable of `kinds` after a statement of a, b, ...: `parts("float", "z = modff(a, &w)", x, z="float", w="float")`."""
    declared = " ".join(f"{kind} {name};" for name, kind in kinds.items())
    calls = [
        Function(name, kind, (taken,) * len(columns), f"[&] {{ {declared} {statement}; return {name}; }}()")
        for name, kind in kinds.items()
    ]  # fmt: skip
    return list(call_each(calls, *columns).values())


def assert_same(what: object, arguments: Sequence, found: np.ndarray, expected: Iterable) -> None:
    """Each number is the expected one, and of the same sign where it is zero."""
    wrong = [
        (of, y, e)
        for of, y, e in zip(arguments, found.tolist(), expected, strict=True)
        if y != e or math.copysign(1, y) != math.copysign(1, e)
    ]
    assert not wrong, f"{what}: {wrong[:3]}"
