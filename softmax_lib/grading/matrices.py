"""What answers are launched on: rows for one mistake each, many rows, and the matrices of an exercise's goals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.references import Kinds, Matrix
from softmax_lib.worklog.reference import ROWS, noise

MANY_ROWS = (198, 5)
"""More rows than two blocks of 96 threads have, for kernels that give a row to a thread."""

FAR_BELOW = -100.0
"""So far below normal noise that only an exponent above 0 notices."""

_PLACES = {"the second far below": 1, "the third far below": 2, "the last far below": -1}
"""Rows of which one score is FAR_BELOW: at an odd place, at an even one, and where a loop ends."""


def more_matrices(
    exercise: Exercise, sizes: Sequence[int], longer: Callable[[int], int]
) -> Iterator[tuple[Kinds, Matrix, int]]:
    """Kinds of rows, a matrix of them, and the block size: what a written answer is tried on beside all kinds of rows.

    `longer` gives the shortest row that the kernel takes of so many columns or more.
    """
    rows, cols = MANY_ROWS
    reference = exercise.asks
    for size in sizes:
        yield (), noise(rows, longer(cols)), size
        if len(reference.kinds) == len(ROWS):
            masked = reference.half_masked(exercise.lengths[-1])
            yield ("half -inf, half near -10000",), masked, size
    for rows, cols, size in dict.fromkeys(_of_goals(exercise)):
        yield *reference.rows(*reference.shape(rows, cols)), size


def _of_goals(exercise: Exercise) -> Iterator[tuple[int, int, int]]:
    """Rows, columns and block sizes that counters are read on."""
    for goal in exercise.goals:
        if goal.on:
            yield goal.on["rows"], goal.on["cols"], goal.on["block_size"]


def kinds_of(exercise: Exercise, cols: int) -> tuple[Kinds, Matrix]:
    """The rows of its reference, and some of which one score is far below all others; what each is called."""
    names, x = exercise.asks.rows(cols)
    low = noise(len(_PLACES), cols)
    for row, place in zip(low, _PLACES.values(), strict=True):
        row[place % cols] = FAR_BELOW
    return (*names, *_PLACES), np.concatenate((x, low))
