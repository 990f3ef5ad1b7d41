"""Functions of CUDA's headers, many in one kernel: what each makes of columns of arguments, here or on a GPU."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from engine.launched import DTYPES, launch

WHOLE = (
    "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long long", "unsigned long long",
)  # fmt: skip
"""Types of integers, of each size once."""

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


MOST = 200
"""Calls that share a kernel."""


def call_all(
    calls: Sequence[Function],
    column: Callable[[str, int], np.ndarray],
    include: str = "",
    on: str = "",
) -> Mapping[Function, np.ndarray]:
    """The results of calls that may take different types; `column(kind, at)` is what their argument `at` of this type is.

    Pairs are columns of shape (n, 2).
    """
    results = {}
    for start in range(0, len(calls), MOST):
        some = calls[start : start + MOST]
        taken = dict.fromkeys((kind, at) for one in some for at, kind in enumerate(one.arguments))
        columns = [np.ascontiguousarray(column(kind, at)) for kind, at in taken]
        n = len(columns[0])
        outputs = [
            np.zeros((n, 2) if one.result in ELEMENT else n, DTYPES[one.result]) for one in some
        ]
        source = kernel_source(some, [*taken], include)
        launch(source, -(-n // 256), 256, [*columns, *outputs, n], on)
        results |= zip(some, outputs, strict=True)
    return results


def kernel_source(
    calls: Sequence[Function], taken: Sequence[tuple[str, int]], include: str = ""
) -> str:
    """A kernel that takes these columns, by type and place, and has a row of results for each of `calls`."""
    kinds = [*(f"const {ELEMENT.get(kind, kind)}* given" for kind, _ in taken)]
    parameters = [f"{kind}{number}" for number, kind in enumerate(kinds)]
    parameters += [
        f"{ELEMENT.get(call.result, call.result)}* result{i}" for i, call in enumerate(calls)
    ]
    lines = []
    for number, call in enumerate(calls):
        loads = " ".join(
            f"{kind} {'abcdef'[at]} = reinterpret_cast<const {kind}*>(given{taken.index((kind, at))})[i];"
            for at, kind in enumerate(call.arguments)
        )
        store = f"reinterpret_cast<{call.result}*>(result{number})[i] = {call.value};"
        lines.append(f"    {{ {loads} {store} }}")
    head = f'extern "C" __global__ void call_each({", ".join([*parameters, "int n"])}) {{'
    first = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;"
    return "\n".join((include, head, first, *lines, "}", ""))


def check_all(
    expected: Mapping[Function, Callable], column: Callable[[str, int], np.ndarray], on: str = ""
) -> None:
    """Each call gives of each row of its columns what the function of plain Python does."""
    for of, found in call_all([*expected], column, on=on).items():
        taken = (column(kind, at).tolist() for at, kind in enumerate(of.arguments))
        wanted = [expected[of](*row) for row in zip(*taken, strict=True)]
        assert_same(of, found, np.array(wanted, found.dtype))


def check_arrays(
    expected: Mapping[Function, np.ndarray],
    column: Callable[[str, int], np.ndarray],
    include: str = "",
) -> None:
    """Each call gives this array, or what has these bits."""
    for of, found in call_all([*expected], column, include).items():
        assert_same(of, found, np.asarray(expected[of]))


def check_values(expected: Mapping[str, float], kind: str, include: str = "") -> None:
    """Each expression has this value, as a number of this type."""
    calls = {Function(text, kind, ("int",), text): [value] for text, value in expected.items()}
    check_arrays(calls, lambda *_: np.zeros(1, np.int32), include)


def assert_same(of: Function, found: np.ndarray, wanted: np.ndarray) -> None:
    """Zeros have the same signs, and there is one NaN."""
    if wanted.nbytes == found.nbytes:
        found = found.view(wanted.dtype)
    found = found.reshape(wanted.shape)
    np.testing.assert_array_equal(found, wanted, err_msg=str(of))
    if found.dtype.kind == "f":
        signs = (np.signbit(one)[found == found] for one in (found, wanted))
        np.testing.assert_array_equal(*signs, err_msg=str(of))


def call_each(
    calls: Sequence[Function], *columns: np.ndarray, include: str = ""
) -> Mapping[str, np.ndarray]:
    """The results of each call by its text; argument i of a call is an element of `columns[i]`."""
    found = call_all(calls, lambda kind, at: columns[at], include)
    return {str(one): results for one, results in found.items()}


def call(signature: str, names: str, *columns: np.ndarray) -> dict[str, np.ndarray]:
    """What functions of one signature make of the columns, by name."""
    calls = functions(signature, names)
    found = call_each(calls, *columns)
    return {one.name: found[str(one)] for one in calls}


def part_calls(taken: Sequence[str], statement: str, **kinds: str) -> list[Function]:
    """For each variable of `kinds` what is in it after a statement of a, b, ...: `part_calls(["float"], "z = modff(a, &w)", z="float", w="float")`."""
    declared = " ".join(f"{kind} {name};" for name, kind in kinds.items())
    return [
        Function(f"{name} of {statement}", kind, tuple(taken), f"[&] {{ {declared} {statement}; return {name}; }}()")
        for name, kind in kinds.items()
    ]  # fmt: skip


def parts(taken: str, statement: str, *columns: np.ndarray, **kinds: str) -> list[np.ndarray]:
    """What is in each of these variables, of columns of one type."""
    calls = part_calls([taken] * len(columns), statement, **kinds)
    return list(call_each(calls, *columns).values())
