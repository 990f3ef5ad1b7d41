"""What the command line does with any kernel: launch it, count it, tell what its arrays hold."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from softmax_lib.engine.source import Source
from softmax_lib.engine.written import launch
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.launch_words import read_launch, read_npz
from softmax_lib.worklog.xray import xray_launch


@dataclass(frozen=True)
class Summary:
    """An array after a launch. `least`, `most` and `mean` are of its numbers, None where it has none."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    least: float | None
    most: float | None
    mean: float | None
    nans: int

    def as_json(self) -> dict:
        """Plain lists and dictionaries."""
        return asdict(self)


def run_kernel(options: argparse.Namespace) -> list[Summary]:
    """Launch what `options` ask for, write the arrays where they say, and sum each up.

    Raises what `emulator.launch` raises.
    """
    words, arrays = _read(options)
    launch(**words)
    if options.out:
        try:
            np.savez(options.out, allow_pickle=False, **arrays)
        except OSError as error:
            raise BadInput(f"Cannot write {options.out}: {error}.") from None
    return [_sum_up(name, array) for name, array in arrays.items()]


def xray_kernel(options: argparse.Namespace) -> XRay:
    """Count what the launch that `options` ask for does. Raises what `xray_launch` raises."""
    words, _ = _read(options)
    return xray_launch(**words, path=options.path, arch=options.arch)


def _read(options: argparse.Namespace) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    given = read_npz(options.npz) if options.npz else {}
    return read_launch(options, Source.read(options.name), given)


def _sum_up(name: str, array: np.ndarray) -> Summary:
    sizes = np.abs(array) if array.dtype.kind == "c" else array
    numbers = sizes[np.isfinite(sizes)]
    nans = int(np.isnan(sizes).sum())
    if not numbers.size:
        return Summary(name, str(array.dtype), array.shape, None, None, None, nans)
    least, most, mean = float(numbers.min()), float(numbers.max()), float(numbers.mean(dtype=float))
    known_mean = mean if math.isfinite(mean) else None
    return Summary(name, str(array.dtype), array.shape, least, most, known_mean, nans)


def print_arrays(arrays: list[Summary]) -> None:
    """One line an array."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("array", "dtype", "shape", "least", "mean", "most", "NaNs"):
        table.add_column(heading, justify="left" if heading in ("array", "dtype") else "right")
    for array in arrays:
        numbers = ["" if n is None else f"{n:.6g}" for n in (array.least, array.mean, array.most)]
        shape = " x ".join(map(str, array.shape))
        table.add_row(array.name, array.dtype, shape, *numbers, str(array.nans))
    Console(markup=False).print(table)
