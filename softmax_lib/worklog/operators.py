"""An operator of a reader's own: its reference in float64, and what its kernel takes.

`check`, `xray` and `measure` take these words where a kernel computes something else than softmax.
"""

from __future__ import annotations

import ctypes
import inspect
import re
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy import ndarray

from softmax_lib.engine.arrays import bfloat16_bits, from_bfloat16_bits, is_tensor
from softmax_lib.engine.source import Source
from softmax_lib.engine.spec import choose_kernel, read_source
from softmax_lib.engine.whole_numbers import whole
from softmax_lib.worklog.errors import BadInput, WrongType
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.reference import (
    KINDS,
    SMALLEST,
    Judgement,
    as_numpy,
    compare,
    noise,
    relative_tolerance,
)

BLOCK_SIZE = 256
"""Threads of a block where nobody says."""

REFERENCE_S = 10.0
"""Seconds after which a reference has to be back; on the matrices of `check` numpy takes milliseconds."""

Threads = int | Callable[[int], int]
"""Threads of a block, or a function of cols that gives them."""

Reference = Callable[..., Any]
"""A function of some of the kernel's parameters by name, which it gets as float64 arrays and numbers, rows and cols
among them; it returns the output, or a tuple of outputs in their order."""

Grid = int | Sequence[int] | Callable[[int, int, int], int | Sequence[int]]
"""Blocks, or a function of rows, cols and threads per block that gives them."""

_TYPES = {r"bfloat16": "bfloat16", r"\b__half|\bhalf": "float16", r"\bfloat[234]?\b": "float32"}
_LANES = re.compile(r"\b(?:float|half|bfloat16)([24])\b|\b__(?:half|nv_bfloat16)(2)\b")


class OperatorWords(TypedDict, total=False):
    """What says which operator a kernel computes; arrays and numbers go by the names of the kernel's parameters.

    `inputs` and `outputs` say
    each array's shape in words, {"x": "rows cols", "weight": "cols"}; x and y are a matrix each unless said.
    An input that is an output too is written in place. `scalars` are the other numbers that the kernel takes;
    rows and cols are filled in. Types are read from the kernel's parameters; of a template's they are `dtype`,
    float32 unless said. `kernel` is which one, where the source has several; `vector` the elements of one load, where
    rows are whole ones; `leave_out` the kinds of rows in `reference.ROWS` that the operator is not made for. A result
    may be off by `rtol` of itself, what float32 arithmetic leaves unless said, and by `atol`. `shared_bytes` and
    `defines` are as for `emulator.launch`; a macro BLOCK is the threads per block.
    """

    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    scalars: Mapping[str, float]
    dtype: str
    kernel: str
    vector: int
    leave_out: Sequence[str]
    rtol: float
    atol: float
    shared_bytes: int
    defines: Mapping[str, int]


@dataclass(frozen=True)
class Operator:
    """An operator's words, read against its kernel: see `read_operator`."""

    source: Source
    kernel: str
    parameters: Mapping[str, str]
    reference: Reference
    inputs: Mapping[str, tuple[str, ...]]
    outputs: Mapping[str, tuple[str, ...]]
    scalars: Mapping[str, float]
    grid: Grid | None = None
    block_size: Threads = BLOCK_SIZE
    dtype: str = "float32"
    vector: int = 1
    leave_out: tuple[str, ...] = ()
    rtol: float | None = None
    atol: float | None = None
    shared_bytes: int = 0
    defines: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What a verdict calls it."""
        stem = self.source.file_name.removesuffix(".cu")
        return self.kernel if stem == "kernel" else stem

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of rows that it is checked on."""
        return tuple(kind for kind in KINDS if kind not in self.leave_out)

    @cached_property
    def matrix(self) -> str | None:
        """The input that gets the adversarial rows: the first that has rows and columns."""
        return next((n for n, shape in self.inputs.items() if shape == ("rows", "cols")), None)

    @property
    def result_dtype(self) -> str:
        """Of the first output."""
        return self.dtype_of(next(iter(self.outputs)))

    def dtype_of(self, name: str) -> str:
        """The dtype of an array, as its parameter is declared."""
        declared = self.parameters[name]
        return next((d for p, d in _TYPES.items() if re.search(p, declared)), self.dtype)

    @property
    def item_bytes(self) -> int:
        """Of an element of the first output."""
        return _ITEM_BYTES[self.result_dtype]

    def longer(self, cols: int) -> int:
        """The shortest row of `cols` elements or more that it takes."""
        return -(-cols // self.vector) * self.vector

    def sizes(self, name: str, rows: int, cols: int) -> tuple[int, ...]:
        """The shape of an input or output."""
        known = {"rows": rows, "cols": cols}
        shape = self.inputs.get(name) or self.outputs[name]
        return tuple(known[word] if word in known else int(word) for word in shape)

    def bytes_moved(self, rows: int, cols: int) -> int:
        """Bytes of all inputs, read once, and of all outputs."""
        return sum(
            prod(self.sizes(name, rows, cols)) * _ITEM_BYTES[self.dtype_of(name)]
            for name in (*self.inputs, *self.outputs)
        )

    # ---- what goes in, and what is due

    def make_inputs(
        self, rows: int, cols: int, matrix: ndarray | None = None
    ) -> dict[str, ndarray]:
        """Noise for every input, from its name, as its parameter's dtype has it; `matrix` for that of `matrix`."""
        values = {}
        for name in self.inputs:
            sizes = self.sizes(name, rows, cols)
            values[name] = noise(1, prod(sizes), zlib.crc32(name.encode())).reshape(sizes)
        if self.matrix and matrix is not None:
            values[self.matrix] = matrix
        return {name: encode(array, self.dtype_of(name)) for name, array in values.items()}

    def make_outputs(
        self, inputs: Mapping[str, ndarray], rows: int, cols: int
    ) -> dict[str, ndarray]:
        """NaN for every output, but what is there where it is an input too."""
        made = {}
        for name in self.outputs:
            blank = np.full(self.sizes(name, rows, cols), np.nan, np.float32)
            was = inputs.get(name)
            made[name] = encode(blank, self.dtype_of(name)) if was is None else was.copy()
        return made

    def due(self, inputs: Mapping[str, Any], rows: int, cols: int) -> dict[str, ndarray]:
        """What the reference says of these inputs. Raises `BadInput` where it says nothing of use."""
        wide = {
            name: decode(array, self.dtype_of(name)).astype(np.float64)
            for name, array in inputs.items()
        }
        values = wide | dict(self.scalars) | {"rows": rows, "cols": cols}
        given = named("The reference", self.reference, values)
        found = _call(self.reference, given, f"({rows}, {cols})")
        several = found if isinstance(found, (tuple, list)) else (found,)
        if len(several) != len(self.outputs):
            raise BadInput(
                f"The reference returned {len(several)} arrays; there are {len(self.outputs)} outputs, "
                f"{', '.join(self.outputs)}."
            )
        pairs = zip(self.outputs, several, strict=True)
        return {name: _fitting(name, self.sizes(name, rows, cols), one) for name, one in pairs}

    def judge(
        self, got: Mapping[str, Any], due: Mapping[str, ndarray], kinds: Sequence[str] = ()
    ) -> tuple[str, Judgement]:
        """The first output that is wrong, or the worst, and its judgement."""
        found = [(name, self._judge(name, got[name], due[name], kinds)) for name in self.outputs]
        worst = max(found, key=lambda one: one[1].max_abs_error)
        return next((one for one in found if one[1].mistake), worst)

    def _judge(self, name: str, got: Any, due: ndarray, kinds: Sequence[str]) -> Judgement:
        dtype = self.dtype_of(name)
        rtol = relative_tolerance(due.shape[-1], dtype) if self.rtol is None else self.rtol
        atol = SMALLEST[dtype] if self.atol is None else self.atol
        flat = due.reshape(len(due), -1)
        with np.errstate(over="ignore"):
            flat = np.where(np.abs(flat) > _LARGEST[dtype], np.copysign(np.inf, flat), flat)
        lines = kinds if len(due) == len(kinds) else ()
        return compare(
            decode(got, dtype).reshape(flat.shape), flat, rtol * np.abs(flat) + atol, lines
        )

    # ---- how it is launched

    def threads(self, cols: int) -> int:
        """Threads of a block for rows of `cols`. Raises `WrongType` for what is no number."""
        given = self.block_size
        return whole("block_size", given(cols) if callable(given) else given)

    def launch_words(self, arrays: Mapping[str, Any], rows: int, cols: int) -> dict[str, Any]:
        """The words of `emulator.launch` and `gpu.launch` for these arrays."""
        block_size = self.threads(cols)
        values = {**self.scalars, "rows": rows, "cols": cols, **arrays}
        grid = rows if self.grid is None else self.grid
        defines = {"BLOCK": block_size} if self.source.mentions("BLOCK") else {}
        return {
            "source": self.source,
            "grid": grid(rows, cols, block_size) if callable(grid) else grid,
            "block": block_size,
            "args": [values[name] for name in self.parameters],
            "kernel": self.kernel,
            "shared_bytes": self.shared_bytes,
            "defines": defines | dict(self.defines),
        }

    def noise_words(self, rows: int, cols: int) -> dict[str, Any]:
        """The same for arrays of noise."""
        inputs = self.make_inputs(rows, cols)
        return self.launch_words(inputs | self.make_outputs(inputs, rows, cols), rows, cols)


def threads_of(given: Any) -> int | None:
    """Threads of a block of a softmax, which are a number. Raises `WrongType`."""
    return None if given is None else whole("block_size", given)


def read_operator(
    source: str | Path | Source | Kernel,
    reference: Reference | None,
    grid: Grid | None,
    block_size: Threads | None,
    words: OperatorWords,
) -> Operator:
    """The operator that `words` say of a kernel. Raises `WrongType`, `BadInput` or `UnknownKernel`."""
    if reference is None:
        raise BadInput("An operator needs its reference: a function that computes it in float64.")
    if not callable(reference):
        raise WrongType(f"reference is a {type(reference).__name__}; it is a function.")
    read = source.source if isinstance(source, Kernel) else read_source(source)
    kernel = choose_kernel(read, words.get("kernel"))
    declared = read.kernel(kernel)
    if declared is None:
        raise BadInput(f"What {kernel} takes cannot be read from {read.file_name}.")
    parameters = dict(zip(declared.parameter_names, declared.parameters, strict=True))
    inputs = _read_shapes("inputs", words.get("inputs", {"x": "rows cols"}))
    outputs = _read_shapes("outputs", words.get("outputs", {"y": "rows cols"}))
    if not outputs:
        raise BadInput("An operator has at least one output.")
    scalars = dict(words.get("scalars", {}))
    _check_names(kernel, parameters, {**inputs, **outputs}, scalars)
    lanes = [int(a or b) for text in parameters.values() for a, b in _LANES.findall(text)]
    vector = whole("vector", words.get("vector", max(lanes, default=1)))
    if vector < 1:
        raise BadInput(f"vector is {vector}; a load has one element or more.")
    dtype = words.get("dtype", "float32")
    if dtype not in SMALLEST:
        raise BadInput(f"dtype is one of {', '.join(SMALLEST)}, and not {dtype!r:.40}.")
    return Operator(
        read, kernel, parameters, reference, inputs, outputs, scalars, grid,
        BLOCK_SIZE if block_size is None else block_size, dtype, vector,
        _read_kinds(words.get("leave_out", ())), words.get("rtol"), words.get("atol"),
        words.get("shared_bytes", 0), words.get("defines", {}),
    )  # fmt: skip


_ITEM_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_LARGEST = {"float32": 3.4028235e38, "bfloat16": 3.3895314e38, "float16": 65504.0}


def encode(values: ndarray, dtype: str) -> ndarray:
    """Float32 values as an array of `dtype`; of bfloat16, which numpy has not, as bits."""
    if dtype == "bfloat16":
        return bfloat16_bits(values)
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, np.dtype(dtype))


def decode(array: Any, dtype: str) -> ndarray:
    """The numbers of an array or tensor that `encode` made, or a kernel wrote."""
    if not is_tensor(array) and dtype == "bfloat16":
        return from_bfloat16_bits(array)
    return as_numpy(array)


def _read_shapes(what: str, given: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(given, Mapping):
        raise WrongType(
            f'{what} is a {type(given).__name__}; it takes shapes by names, {{"x": "rows cols"}}.'
        )
    read = {}
    for name, text in given.items():
        words = read[name] = tuple(text.split()) if isinstance(text, str) else ()
        if not words or not all(w in ("rows", "cols") or w.isdecimal() for w in words):
            raise BadInput(
                f"{what}[{name!r}] is {text!r:.40}; "
                'a shape is such as "rows cols", "cols" or "rows 4".'
            )
    return read


def _check_names(
    kernel: str, parameters: Mapping[str, str], arrays: Mapping, scalars: Mapping
) -> None:
    """Every parameter has a value, and every value a parameter."""
    for name, text in parameters.items():
        if name in arrays or name in scalars or name in ("rows", "cols"):
            continue
        where = "inputs or outputs" if "*" in text else "scalars"
        raise BadInput(f"{kernel} takes `{text}`, and {name} is not in {where}.")
    for name in (*arrays, *scalars):
        if name not in parameters:
            raise BadInput(f"{kernel} has no parameter {name}; it has {', '.join(parameters)}.")
    for name in arrays:
        if "*" not in parameters[name]:
            raise BadInput(f"{name} is `{parameters[name]}`; an input or output is a pointer.")


def _read_kinds(given: Any) -> tuple[str, ...]:
    kinds = (given,) if isinstance(given, str) else tuple(given)
    for kind in kinds:
        if kind not in KINDS:
            raise BadInput(f"There are no rows called {kind!r:.40}; there are {', '.join(KINDS)}.")
    if set(KINDS) <= set(kinds):
        raise BadInput("leave_out has every kind of row; nothing would be checked.")
    return kinds


def _fitting(name: str, shape: tuple[int, ...], found: Any) -> ndarray:
    try:
        due = np.asarray(as_numpy(found), np.float64)
    except (TypeError, ValueError):
        raise BadInput(f"The reference returned a {type(found).__name__} for {name}.") from None
    if due.shape != shape:
        raise BadInput(f"The reference returned shape {due.shape} for {name}, which is {shape}.")
    return due


def named(who: str, function: Reference, values: dict[str, Any]) -> dict[str, Any]:
    """Those of `values` that a function names. Raises `BadInput`, saying `who`, where it needs another."""
    try:
        taken = inspect.signature(function).parameters
    except ValueError:  # a function of C says nothing
        return values
    if any(one.kind is one.VAR_KEYWORD for one in taken.values()):
        return values
    for name, one in taken.items():
        if one.default is one.empty and name not in values:
            raise BadInput(f"{who} takes {name}, which is none of {', '.join(values)}.")
    return {name: values[name] for name in taken if name in values}


def _call(reference: Reference, given: dict[str, Any], where: str) -> Any:
    """What it returns, within `REFERENCE_S`. Raises `BadInput` where it raises, or is slow."""
    found: list[Any] = []

    def run() -> None:
        try:
            with np.errstate(all="ignore"):
                found.append((reference(**given), None))
        except BaseException as error:
            found.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(REFERENCE_S)
    if not found:
        # which ends a loop of Python; one of C goes on until it returns
        ident = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(SystemExit))
        raise BadInput(f"The reference has not returned after {REFERENCE_S:g} s on {where}.")
    result, error = found[0]
    if error is not None:
        said = f": {error}".rstrip(": ")
        raise BadInput(f"The reference raised {type(error).__name__} on {where}{said}.") from None
    return result
