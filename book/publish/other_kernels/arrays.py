"""What a launch is given, in words, and the same numbers as a reference formula takes them."""

from __future__ import annotations

import argparse
from math import prod
from typing import Any

import numpy as np

from other_kernels import fills
from other_kernels.table import Entry
from softmax_lib.engine.source import Source
from softmax_lib.worklog.launch_words import read_launch

Arrays = dict[str, Any]
"""By name: arrays of float64 or of integers, the numbers that have a name, and of the launch the number
of `blocks` and of `threads` per block.
"""


def make_launch(entry: Entry, source: Source) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The arguments of `emulator.launch`, and the arrays among them by name; the same ones at each call."""
    options = argparse.Namespace(
        **{name: getattr(entry, name) for name in ("grid", "block", "kernel", "symbols")},
        args=[word.rpartition("=")[2] for word in entry.args],
        shared_bytes=entry.shared_bytes,
        cooperative=entry.cooperative,
        cluster=None,
        defines=[],
    )
    words, arrays = read_launch(options, source)
    if entry.prepare:
        getattr(fills, entry.prepare)(arrays)
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
