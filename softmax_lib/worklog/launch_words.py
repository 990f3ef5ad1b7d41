"""A launch in words, for the command line and the cell magic: --grid 8,4 --block 256 --arg x:f32:64x4096 --arg 3.5.

The options alone load no numpy: a parser that only answers for help should not.
"""

from __future__ import annotations

import argparse
import re
import zlib
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from softmax_lib.worklog.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from softmax_lib.engine.source import Source

DTYPES = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "f16": "float16", "bf16": "uint16", "f32": "float32", "f64": "float64", "c64": "complex64",
}  # fmt: skip
"""Words for dtypes. numpy has no bfloat16: such an array holds the bits."""

FILLS = ("noise", "uniform", "arange", "zeros", "ones", "nan")
"""What an array holds at first, unless it is one number: normal noise (integers: 0 to 99) without a
word, "uniform" from 0 to 1. Arrays of different names get different noise."""


MOST_DIGITS = 20
"""Of a number on the command line: Python refuses to read very long ones."""


def add_launch_words(parser: argparse._ActionsContainer) -> None:
    """The options that say how any kernel is launched."""
    add = parser.add_argument
    add(
        "--kernel",
        metavar="NAME",
        help='which kernel of the file, or "name<float, 4>" of a template',
    )
    add("--grid", type=_axes, metavar="X[,Y[,Z]]", help="blocks")
    add("--block", type=_axes, metavar="X[,Y[,Z]]", help="threads of a block")
    add("--arg", action="append", default=[], metavar="ARG", dest="args",
        help="in the kernel's order: NAME:DTYPE:SHAPE[:FILL] makes an array, such as x:f32:64x4096 or "
             "n:i32:8:zeros; NAME is one that is there already, or in --npz; else a number, true, false or "
             f"null. DTYPE: {', '.join(DTYPES)}. FILL: {', '.join(FILLS)}, or a number; noise without one, "
             "of mean 0 and deviation 1 (whole numbers: 0 to 99)")  # fmt: skip
    add("--symbol", action="append", default=[], metavar="NAME:DTYPE:SHAPE[:FILL]", dest="symbols",
        help="an array for a __constant__ or __device__ variable")  # fmt: skip
    add("--shared-bytes", type=int, default=0, metavar="N", help="dynamic shared memory")
    add(
        "--define",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        dest="defines",
        help="a macro of the file, such as BLOCK=256",
    )
    add("--cluster", type=_axes, metavar="X[,Y[,Z]]", help="blocks of a cluster")
    add("--cooperative", action="store_true", help="blocks may wait for each other")


def _axes(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    short = (part if part.isdecimal() and len(part) < MOST_DIGITS else "0" for part in parts)
    numbers = tuple(map(int, short))
    if len(numbers) > 3 or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not one to three whole numbers from 1 up")
    return numbers


def is_any_kernel(options: argparse.Namespace) -> bool:
    """Whether `options` describe a launch, and not a softmax of rows."""
    return bool(options.args or options.kernel or options.block)


# ---- what was asked for, read

MOST_ELEMENTS = 1 << 28

_TAKEN_OVER = ("grid", "block", "shared_bytes", "kernel", "cooperative", "cluster")
_ARRAY = re.compile(r"(\w+):(\w+):(\d+(?:x\d+)*)(?::([^:]+))?")


def read_launch(
    options: argparse.Namespace, source: Source, given: Mapping[str, np.ndarray] | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The arguments of `emulator.launch` that `options` ask for, and the arrays among them by name.

    Bare names are of arrays in `given`. Raises `BadInput`, naming the word.
    """
    if options.grid is None or options.block is None:
        raise BadInput("A launch needs --grid and --block.")
    arrays: dict[str, np.ndarray] = {}
    args = [_read(word, arrays, given or {}) for word in options.args]
    symbols: dict[str, np.ndarray] = {}
    for word in options.symbols:
        if not hasattr(_read(word, symbols, given or {}), "dtype"):
            raise BadInput(f"--symbol {word}: it takes an array such as NAME:f32:64.")
    words = {
        "source": source,
        "args": args,
        "symbols": symbols,
        "defines": dict(map(read_define, options.defines)),
        **{name: getattr(options, name) for name in _TAKEN_OVER},
    }
    return words, {**arrays, **symbols}


def _read(word: str, arrays: dict[str, np.ndarray], given: Mapping[str, np.ndarray]) -> Any:
    """An array, kept among `arrays` by its name, or a number."""
    if word in arrays:
        return arrays[word]
    if word in given:
        import numpy as np

        return arrays.setdefault(word, np.ascontiguousarray(given[word]))
    if match := _ARRAY.fullmatch(word):
        name, dtype, shape, fill = match.groups()
        if name in arrays:
            raise BadInput(
                f"--arg {word}: there is a {name} already; to pass it again, write {name}."
            )
        arrays[name] = _make(word, dtype, tuple(map(int, shape.split("x"))), fill or "noise")
        return arrays[name]
    return _number(word)


def read_define(word: str) -> tuple[str, int]:
    name, _, value = word.partition("=")
    try:
        return name, int(value, 0)
    except ValueError:
        raise BadInput(
            f"--define {word}: it takes a macro and a whole number, such as BLOCK=256."
        ) from None


def _number(word: str) -> Any:
    named = {"true": True, "false": False, "null": None}
    if word.lower() in named:
        return named[word.lower()]
    for kind in (lambda text: int(text, 0), float):
        try:
            return kind(word)
        except ValueError:
            continue
    raise BadInput(
        f"--arg is {word!r}; it takes a number, an array such as x:f32:64x4096, or the name of one "
        "that is there already."
    )


def _make(word: str, dtype: str, shape: tuple[int, ...], fill: str) -> np.ndarray:
    if dtype not in DTYPES:
        raise BadInput(f"--arg {word}: there is no dtype {dtype}; there are {', '.join(DTYPES)}.")
    if prod(shape) > MOST_ELEMENTS:
        raise BadInput(f"--arg {word}: an array has up to {MOST_ELEMENTS} elements here.")
    import numpy as np

    from softmax_lib.engine.arrays import bfloat16_bits

    seed = zlib.crc32(word.partition(":")[0].encode())
    try:
        values = _values(np.random.default_rng(seed), shape, fill, is_whole=dtype[0] in "iu")
    except ValueError:
        fills = ", ".join(FILLS)
        raise BadInput(
            f"--arg {word}: arrays are filled with {fills} or a number, not {fill}."
        ) from None
    if dtype == "bf16":
        return bfloat16_bits(values)
    with np.errstate(invalid="ignore", over="ignore"):
        return values.astype(DTYPES[dtype])


def _values(random: Any, shape: tuple[int, ...], fill: str, *, is_whole: bool) -> np.ndarray:
    import numpy as np

    if fill == "noise":
        return random.integers(0, 100, shape) if is_whole else random.standard_normal(shape)
    if fill == "uniform":
        return random.random(shape)
    if fill == "arange":
        return np.arange(prod(shape)).reshape(shape)
    return np.full(shape, float({"zeros": "0", "ones": "1"}.get(fill, fill)))


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, by name. Raises `BadInput`."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise BadInput(f"Cannot read the arrays of {path}: {error}.") from None
