"""What some arrays have to hold before a launch: functions that fill them in place, by name."""

from __future__ import annotations

import numpy as np

Arrays = dict[str, np.ndarray]


def random_words(arrays: Arrays) -> None:
    """All bits at random in what a kernel takes apart or compares: 31 of them where there is a sign."""
    random = np.random.default_rng(1)
    for name in ("d_Data", "valueInBuckets"):
        if name in arrays:
            array = arrays[name]
            array[...] = random.integers(0, np.iinfo(array.dtype).max, array.shape, array.dtype)


def atomics(arrays: Arrays) -> None:
    """What the sample's main() begins with: ones to be cleared by AND and turned by XOR."""
    arrays["g_odata"][[8, 10]] = 0xFF


def tridiagonal(arrays: Arrays) -> None:
    """A symmetric matrix by rows, its diagonal 10 to 11, beside it 0 to 1."""
    size, random = len(arrays["r"]), np.random.default_rng(1)
    rows, columns = (axis.ravel() for axis in np.indices((size, size), np.int32))
    near = np.abs(rows - columns) <= 1
    rows, columns = rows[near], columns[near]
    beside, diagonal = random.random(size), random.random(size) + 10
    values = np.where(rows == columns, diagonal[rows], beside[np.minimum(rows, columns)])
    arrays["I"][...] = np.r_[0, np.cumsum(np.bincount(rows))]
    arrays["J"][...], arrays["val"][...] = columns, values


def options(arrays: Arrays) -> None:
    """The sample's: prices 5 to 30, strikes 1 to 100, terms of 0.25 to 10 years, all equally likely."""
    for name, low, high in (
        ("StockPrice", 5, 30),
        ("OptionStrike", 1, 100),
        ("OptionYears", 0.25, 10),
    ):
        array = arrays[f"d_{name}"]
        array[...] = low + (high - low) * array
