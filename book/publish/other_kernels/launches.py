"""The launches of other people's kernels: their facts in the .toml files beside this, their arguments, their arrays."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from softmax_lib.engine.source import Source
from softmax_lib.worklog.launch_words import read_launch

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Entry:
    """One kernel and its launch.

    `path` is a file of the repository. `args` and `symbols` are in the words of `softmax-lib run-kernel`,
    but that "eps=1e-8" is the number that the reference knows as `eps`. `prepare` and `reference` are names
    of functions in `FILLS` and in the modules of references. `tolerance` bounds an array's greatest error
    over its greatest element; why it is more than 0 stands beside it.
    """

    name: str
    subject: str
    repository: str
    path: str
    kernel: str
    grid: Sequence[int]
    block: Sequence[int]
    args: Sequence[str]
    reference: str
    tolerance: float = 0
    prepare: str | None = None
    symbols: Sequence[str] = ()
    shared_bytes: int = 0
    cooperative: bool = False

    @property
    def checkout(self) -> str:
        """The repository's folder among the checkouts."""
        return self.repository.partition("/")[2]


def read_table() -> dict[str, Entry]:
    """All entries by name, repository after repository."""
    return {entry.name: entry for path in sorted(FOLDER.glob("*.toml")) for entry in _read(path)}


def _read(path: Path) -> Iterator[Entry]:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    for facts in content.pop("kernel"):
        given = {**content, "reference": facts["name"], **facts}
        given["path"] = given["path"].format(name=given["name"])
        yield Entry(**given)


# ---- arguments and arrays

Arrays = dict[str, Any]
"""By name: arrays of float64 or of integers, the numbers that have a name, and of the launch the number
of `blocks` and of `threads` per block.
"""


def make_launch(entry: Entry, source: Source) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The arguments of `emulator.launch`, and the arrays among them by name; the same ones at each call."""
    args = [word.rpartition("=")[2] for word in entry.args]
    given = {**vars(entry), "args": args, "cluster": None, "defines": []}
    words, arrays = read_launch(argparse.Namespace(**given), source)
    if entry.prepare:
        FILLS[entry.prepare](arrays)
    return words, arrays


def read_numbers(entry: Entry, arrays: dict[str, np.ndarray]) -> Arrays:
    """Copies, floating ones in float64, and the numbers of the launch that have a name."""
    bfloat16 = {word.partition(":")[0] for word in entry.args if ":bf16:" in word}
    found: Arrays = {name: _exact(array, name in bfloat16) for name, array in arrays.items()}
    found |= {"blocks": prod(entry.grid), "threads": prod(entry.block)}
    for word in entry.args:
        name, is_named, value = word.partition("=")
        if is_named:
            found[name] = float(value)
    return found


def _exact(array: np.ndarray, is_bfloat16: bool) -> np.ndarray:
    if is_bfloat16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64) if array.dtype.kind == "f" else array.copy()


# ---- what some arrays have to hold before a launch

Filled = dict[str, np.ndarray]


def random_words(arrays: Filled) -> None:
    """All bits at random in what a kernel takes apart or compares: 31 of them where there is a sign."""
    random = np.random.default_rng(1)
    for name in ("d_Data", "valueInBuckets"):
        if name in arrays:
            array = arrays[name]
            array[...] = random.integers(0, np.iinfo(array.dtype).max, array.shape, array.dtype)


def atomics(arrays: Filled) -> None:
    """What the sample's main() begins with: ones to be cleared by AND and turned by XOR."""
    arrays["g_odata"][[8, 10]] = 0xFF


def tridiagonal(arrays: Filled) -> None:
    """A symmetric matrix by rows, its diagonal 10 to 11, beside it 0 to 1."""
    size, random = len(arrays["r"]), np.random.default_rng(1)
    rows, columns = (axis.ravel() for axis in np.indices((size, size), np.int32))
    near = np.abs(rows - columns) <= 1
    rows, columns = rows[near], columns[near]
    beside, diagonal = random.random(size), random.random(size) + 10
    values = np.where(rows == columns, diagonal[rows], beside[np.minimum(rows, columns)])
    arrays["I"][...] = np.r_[0, np.cumsum(np.bincount(rows))]
    arrays["J"][...], arrays["val"][...] = columns, values


def options(arrays: Filled) -> None:
    """The sample's: prices 5 to 30, strikes 1 to 100, terms of 0.25 to 10 years, all equally likely."""
    for name, low, high in (
        ("StockPrice", 5, 30),
        ("OptionStrike", 1, 100),
        ("OptionYears", 0.25, 10),
    ):
        array = arrays[f"d_{name}"]
        array[...] = low + (high - low) * array


FILLS = {fill.__name__: fill for fill in (random_words, atomics, tridiagonal, options)}
