"""A launch in words, for the command line and the cell magic: --grid 8,4 --block 256 --arg x:f32:64x4096 --arg 3.5."""

from __future__ import annotations

import argparse
import re
import zlib
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from softmax_lib.engine.arrays import bfloat16_bits
from softmax_lib.engine.source import Source
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.launch_options import DTYPES, FILLS

MOST_ELEMENTS = 1 << 28

_ARRAY = re.compile(r"(\w+):(\w+):(\d+(?:x\d+)*)(?::([^:]+))?")


def read_launch(
    options: argparse.Namespace, source: Source, given: Mapping[str, np.ndarray] | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The arguments of `emulator.launch` that `options` ask for, and the arrays among them by name.

    Bare names are those of arrays in `given`. Raises `BadInput`, naming the word.
    """
    if options.grid is None or options.block is None:
        raise BadInput("A launch needs --grid and --block.")
    arrays: dict[str, np.ndarray] = {}
    args = [_read(word, arrays, given or {}) for word in options.args]
    symbols: dict[str, np.ndarray] = {}
    for word in options.symbols:
        if not isinstance(_read(word, symbols, given or {}), np.ndarray):
            raise BadInput(f"--symbol {word}: it takes an array such as NAME:f32:64.")
    words = {
        "source": source,
        "grid": options.grid,
        "block": options.block,
        "args": args,
        "shared_bytes": options.shared_bytes,
        "kernel": options.kernel,
        "cooperative": options.cooperative,
        "cluster": options.cluster,
        "symbols": symbols,
        "defines": dict(map(read_define, options.defines)),
    }
    return words, {**arrays, **symbols}


def _read(word: str, arrays: dict[str, np.ndarray], given: Mapping[str, np.ndarray]) -> Any:
    """An array, kept among `arrays` by its name, or a number."""
    if word in arrays:
        return arrays[word]
    if word in given:
        arrays[word] = np.ascontiguousarray(given[word])
        return arrays[word]
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
    seed = zlib.crc32(word.partition(":")[0].encode())
    try:
        values = _values(shape, fill, seed, is_whole=dtype[0] in "iu")
    except ValueError:
        fills = ", ".join(FILLS)
        raise BadInput(
            f"--arg {word}: arrays are filled with {fills} or a number, not {fill}."
        ) from None
    if dtype == "bf16":
        return bfloat16_bits(values)
    with np.errstate(invalid="ignore", over="ignore"):
        return values.astype(DTYPES[dtype])


def _values(shape: tuple[int, ...], fill: str, seed: int, *, is_whole: bool) -> np.ndarray:
    random = np.random.default_rng(seed)
    if fill == "noise":
        return random.integers(0, 100, shape) if is_whole else random.standard_normal(shape)
    if fill == "uniform":
        return random.random(shape)
    if fill == "arange":
        return np.arange(int(np.prod(shape))).reshape(shape)
    return np.full(shape, float({"zeros": "0", "ones": "1"}.get(fill, fill)))


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, by name. Raises `BadInput`."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise BadInput(f"Cannot read the arrays of {path}: {error}.") from None
