"""What an answer is to compute, in float64, and the rows on which that is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from types import MappingProxyType

import numpy as np
from numpy import ndarray

from softmax_lib.worklog.reference import (
    KINDS,
    NUMBERS,
    SMALLEST,
    Judgement,
    adversarial,
    compare,
    noise,
    relative_tolerance,
    softmax,
)

Matrix = ndarray
"""Float32 of shape (rows, cols)."""

Kinds = tuple[str, ...]
"""What each row of a matrix is; empty where that is nothing special."""

FINITE: Kinds = (
    "normal",
    "wide",
    "shifted up",
    "rising",
    "falling",
    "outlier first",
    "outlier last",
)
"""Rows of which squares and their sums are finite, and no two results lie near zero by chance."""

GROUP = 32
"""Columns that share a scale in MX formats."""

EPSILON = 1e-5
"""What norms add to a variance, as torch does."""


@dataclass(frozen=True)
class Reference:
    """A function of a (rows, cols) matrix that gives another one, asked on rows of these kinds, or all of them.

    With `by_column` it goes along columns, and they are of these kinds. With `loses_digits` it subtracts, so that
    an error is allowed by the size of the scores, and not of the result.
    """

    function: Callable[[ndarray], ndarray]
    kinds: Kinds = KINDS
    by_column: bool = False
    loses_digits: bool = False

    def rows(self, length: int, count: int = 0) -> tuple[Kinds, Matrix]:
        """So many rows of this length that a careless answer gets wrong, or one of each kind, and what each is called."""
        kinds = tuple(islice(cycle(self.kinds), count or len(self.kinds)))
        return kinds, self._turned(adversarial(length, kinds))

    def shape(self, rows: int, cols: int) -> tuple[int, int]:
        """The length of what it goes along in such a matrix, and how many of them there are."""
        return (rows, cols) if self.by_column else (cols, rows)

    def half_masked(self, length: int) -> Matrix:
        """One row whose second half is all that counts, and lies so low that a warp which has none of it is to notice."""
        row = noise(1, length) - np.float32(1e4)
        row[:, : length // 2] = -np.inf
        return self._turned(row)

    def _turned(self, x: Matrix) -> Matrix:
        return np.ascontiguousarray(x.T) if self.by_column else x

    def judge(self, y: Matrix, x: Matrix, kinds: Kinds = ()) -> Judgement:
        """Hold `y` against this function of `x`, within float32; `kinds` names what it goes along."""
        with np.errstate(all="ignore"):
            due = self.function(x.astype(np.float64)).astype(np.float32).astype(np.float64)
            return compare(y, due, self._allowed(due, x), kinds, by_column=self.by_column)

    def _allowed(self, due: ndarray, x: Matrix) -> ndarray:
        along = 0 if self.by_column else 1
        tolerance = relative_tolerance(x.shape[along])
        scale = np.abs(due)
        if self.loses_digits:
            largest = np.where(np.isfinite(x), np.abs(x), 0.0).max(axis=along, keepdims=True)
            scale = np.maximum(scale, largest)
        return tolerance * scale + SMALLEST["float32"]


def _log_softmax(x: ndarray) -> ndarray:
    shifted = x - x.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def _layer_norm(x: ndarray) -> ndarray:
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + EPSILON)


def _scaled_groups(x: ndarray) -> ndarray:
    starts = np.arange(0, x.shape[1], GROUP)
    largest = np.maximum.reduceat(np.abs(x), starts, axis=1)
    return x / largest.repeat(GROUP, axis=1)[:, : x.shape[1]]


REFERENCES: Mapping[str, Reference] = MappingProxyType(
    {
        "softmax": Reference(softmax),
        "log_softmax": Reference(_log_softmax, loses_digits=True),
        "column_softmax": Reference(lambda x: softmax(x.T).T, by_column=True),
        "causal_softmax": Reference(
            lambda x: softmax(np.where(np.tri(*x.shape) > 0, x, -np.inf)), FINITE
        ),
        "cumulative_softmax": Reference(lambda x: softmax(x).cumsum(axis=1)),
        "argmax": Reference(
            lambda x: np.arange(x.shape[1]) == x.argmax(axis=1, keepdims=True), NUMBERS
        ),
        "scaled_groups": Reference(_scaled_groups, FINITE),
        "layer_norm": Reference(_layer_norm, FINITE, loses_digits=True),
    }
)
"""By the word that an exercise has for it; a row without a largest number is NaN, as in torch."""
