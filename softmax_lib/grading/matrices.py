"""Matrices that answers are tried on beside those of `check`: many rows, a goal's own, and rows for one mistake each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy import ndarray

from softmax_lib.grading.exercise import Exercise
from softmax_lib.reference import ROWS, adversarial, noise

Matrix = ndarray
"""Float32 of shape (rows, cols)."""

Kinds = tuple[str, ...]
"""What each row of a matrix is; empty where that is nothing special."""

MANY_ROWS = (198, 5)
"""More rows than two blocks of 96 threads have, for kernels that give a row to a thread."""

FAR_BELOW = -100.0
"""So far below normal noise that only an exponent above 0 notices."""

_PLACES = {"the second far below": 1, "the third far below": 2, "the last far below": -1}
"""Rows of which one score is FAR_BELOW: at an odd place, at an even one, and where a loop ends."""


def more_matrices(exercise: Exercise, sizes: Sequence[int]) -> Iterator[tuple[Kinds, Matrix, int]]:
    """Kinds of rows, a matrix of them, and the block size: what a written answer is tried on beside `check`'s rows."""
    for size in sizes:
        yield (), noise(*MANY_ROWS), size
        yield ("half -inf, half near -10000",), _half_masked(exercise.lengths[-1]), size
    for rows, cols, size in dict.fromkeys(_of_goals(exercise)):
        kinds = np.resize([row.name for row in ROWS], rows)
        yield tuple(kinds), np.resize(adversarial(cols), (rows, cols)), size


def _of_goals(exercise: Exercise) -> Iterator[tuple[int, int, int]]:
    """Rows, columns and block sizes that counters are read on."""
    for goal in exercise.goals:
        if goal.on:
            yield goal.on["rows"], goal.on["cols"], goal.on["block_size"]


def _half_masked(cols: int) -> Matrix:
    """One row whose second half is all that counts, and lies so low that a warp which has none of it is to notice."""
    row = noise(1, cols) - np.float32(1e4)
    row[:, : cols // 2] = -np.inf
    return row


def kinds_of(cols: int) -> tuple[Kinds, Matrix]:
    """The rows of `reference.ROWS`, and some of which one score is far below all others; what each is called."""
    low = noise(len(_PLACES), cols)
    for row, place in zip(low, _PLACES.values(), strict=True):
        row[place % cols] = FAR_BELOW
    names = (*(row.name for row in ROWS), *_PLACES)
    return names, np.concatenate((adversarial(cols), low))
