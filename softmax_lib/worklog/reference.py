"""What is right: softmax in float64, how far off float32 may be, and rows that break careless kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray


def softmax(x: Any) -> ndarray:
    """Softmax over the last dimension in float64, as a numpy array of the shape of `x`.

    `x` is a numpy array or a torch tensor of any shape, wherever it lies. A row without a largest
    number (all -inf, or with a NaN or +inf) is all NaN, as torch has it.
    """
    x = as_numpy(x).astype(np.float64)
    with np.errstate(invalid="ignore"):  # -inf - -inf
        power = np.exp(x - x.max(axis=-1, keepdims=True, initial=-math.inf))
        return power / power.sum(axis=-1, keepdims=True)


def as_numpy(array: Any) -> ndarray:
    """The numbers of a numpy array or torch tensor, copied only if they lie on a GPU."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        array = array.float() if str(array.dtype) == "torch.bfloat16" else array  # numpy has none
    return np.asarray(array)


ROUNDING = {"float32": 0.0, "bfloat16": 2.0**-8, "float16": 2.0**-10}
"""One unit in the last place of the dtype that a result is rounded to, relative to it."""

SMALLEST = {"float32": 1e-37, "bfloat16": 1e-37, "float16": 2.0**-24}
"""About the smallest step of each dtype: what lies below may be lost."""


def relative_tolerance(cols: int, dtype: str = "float32") -> float:
    """Error that float32 arithmetic may leave in a row of `cols` elements, relative to each of them.

    exp turns the rounding of its argument, at most 104 in size before the result vanishes, into a
    relative error of 104 * 2**-24; a sum of n positive terms in any order is off by at most
    (n - 1) * 2**-24 of itself (Higham, Accuracy and Stability of Numerical Algorithms, chapter 4).
    A result in another `dtype` is rounded once more.
    """
    return 1e-5 + cols * 2.0**-24 + ROUNDING[dtype]


Fill = Callable[[ndarray], ndarray]
"""What makes a row of a (cols,) array of normal noise."""


def _set(index: int, value: float) -> Fill:
    def fill(noise: ndarray) -> ndarray:
        noise[index % len(noise)] = value
        return noise

    return fill


def _mask(keep: slice) -> Fill:
    def fill(noise: ndarray) -> ndarray:
        row = np.full_like(noise, -math.inf)
        row[keep] = noise[keep]
        return row

    return fill


ROWS: dict[str, Fill] = {
    "normal": lambda noise: noise,
    "wide": lambda noise: 30 * noise,
    "equal": lambda noise: np.full_like(noise, 0.1),
    "shifted up": lambda noise: noise + 1e4,
    "all very negative": lambda noise: noise - 1e4,
    "all near -3e38": lambda noise: -3e38 + 1e37 * noise.clip(-3, 3),
    "both ends of float32": lambda noise: 3e38 * np.sign(noise),
    "rising": lambda noise: np.sort(noise),
    "falling": lambda noise: np.sort(noise)[::-1],
    "outlier first": _set(0, 80.0),
    "outlier last": _set(-1, 80.0),
    "-inf first": _set(0, -math.inf),
    "first half -inf": lambda noise: _mask(slice(len(noise) // 2, None))(noise),
    "only the last alive": _mask(slice(-1, None)),
    "all -inf": _mask(slice(0, 0)),
    "NaN in the middle": lambda noise: _set(len(noise) // 2, math.nan)(noise),
    "NaN among -inf": lambda noise: _set(len(noise) // 2, math.nan)(_mask(slice(0, 0))(noise)),
    "+inf last": _set(-1, math.inf),
}
"""Rows that a careless kernel gets wrong, by their kind; a matrix of them also fills part of a block and of a grid."""

KINDS = tuple(ROWS)
"""What they are called."""

NUMBERS = tuple(kind for kind in KINDS if "NaN" not in kind)
"""Rows in which any two scores can be compared."""


def noise(rows: int, cols: int, seed: int = 0) -> ndarray:
    """Normal noise of mean 0 and deviation 1: a (rows, cols) float32 array, the same on every machine."""
    return np.random.default_rng(seed).standard_normal((rows, cols), np.float32)


SEED = 24
"""Of the adversarial rows; any would do, and with this one the book prints what it always did."""


def adversarial(cols: int, kinds: Sequence[str] = KINDS) -> ndarray:
    """One row of each of these kinds: a float32 array of shape (len(kinds), cols)."""
    plain = noise(len(ROWS), cols, SEED + cols)
    rows = [ROWS[kind](plain[KINDS.index(kind)].copy()) for kind in kinds]
    return np.stack(rows).astype(np.float32)


@dataclass(frozen=True)
class Judgement:
    """How far off a result is, and of its first wrong element the place, the value and what was due.

    `row_name` is that row's kind where the kinds were told, or `column_name` that column's; `wrong_rows` are all rows
    with a wrong element. All but the error are None, or empty, where nothing is wrong.
    """

    max_abs_error: float
    row: int | None = None
    column: int | None = None
    value: float | None = None
    due: float | None = None
    row_name: str = ""
    column_name: str = ""
    wrong_rows: tuple[int, ...] = ()

    @property
    def mistake(self) -> str | None:
        """The first wrong element in words."""
        if self.row is None:
            return None
        row, column = (f" ({name})" if name else "" for name in (self.row_name, self.column_name))
        place = f"row {self.row}{row}, column {self.column}{column}"
        return f"{place} is {self.value:.6g} and should be {self.due:.6g}"


def judge(y: Any, x: Any, dtype: str = "float32", kinds: Sequence[str] = ()) -> Judgement:
    """Hold `y` of `dtype` against softmax of `x`, both (rows, cols) numpy arrays or torch tensors.

    `kinds` names what each row is, for the sentence about a wrong one.
    """
    due = softmax(x)
    return compare(
        y, due, relative_tolerance(due.shape[1], dtype) * np.abs(due) + SMALLEST[dtype], kinds
    )


def compare(
    y: Any, due: ndarray, allowed: ndarray, kinds: Sequence[str] = (), *, by_column: bool = False
) -> Judgement:
    """Hold `y` against the (rows, cols) float64 numbers that are due: off by what is `allowed` at most, as `within` has it.

    `kinds` names the rows, or `by_column` the columns.
    """
    got = as_numpy(y).astype(np.float64)
    with np.errstate(invalid="ignore"):  # inf - inf
        distance = np.abs(got - due)
    worst = float(np.nan_to_num(distance, nan=0.0).max(initial=0.0))
    wrong = ~within(got, due, allowed)
    if not wrong.any():
        return Judgement(worst)
    row, column = (int(index) for index in np.argwhere(wrong)[0])
    rows = tuple(np.flatnonzero(wrong.any(axis=1)).tolist())
    name = kinds[column if by_column else row] if kinds else ""
    value, due_there = float(got[row, column]), float(due[row, column])
    names = ("", name) if by_column else (name, "")
    return Judgement(worst, row, column, value, due_there, *names, rows)


def within(got: ndarray, due: ndarray, allowed: ndarray) -> ndarray:
    """Where `got` is off by what is `allowed` at most; NaN is right where it is due, and an infinity where the same one is."""
    with np.errstate(invalid="ignore"):  # inf - inf
        near = np.isfinite(due) & (np.abs(got - due) <= allowed)
    return near | (got == due) | (np.isnan(got) & np.isnan(due))
