"""Answers that are kernels of chapter 11, which find the k largest of each row."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from softmax_lib.engine.source import Source
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.finding import Finding, Mistake, Subject, safety, tally
from softmax_lib.grading.softmaxes import launched_as
from softmax_lib.worklog import selections
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.reference import NUMBERS, adversarial, noise
from softmax_lib.worklog.xray import xray_launch

BLOCK_SIZE = 64
"""Two warps, which have to meet."""

LOOKED_AT = ((3, 97, 5, 64), (2, 1001, 10, 64))
"""Rows, columns, k and block size of the launches in which hazards are looked for."""

UNWRITTEN = int(np.iinfo(np.int32).min)
"""The column of an entry before a launch."""

CHOSEN_ALONE = "chosen_softmax"
"""The reference of an exercise whose values are a softmax of the k chosen, and not of the row."""


def subject(exercise: Exercise, source: Source) -> Subject:
    """The kernel in `source`, launched as the book's that it is made of, and how it is looked at."""
    kernel = launched_as(selections.kernels[exercise.of], exercise, source)

    @cache  # several goals look at one matrix
    def look(**on: Any) -> XRay:
        return _look(kernel, **on)

    def safe(everywhere: bool) -> Finding:
        return safety([_look(kernel, *on) for on in LOOKED_AT[: None if everywhere else 1]])

    sizes = exercise.block_sizes or (BLOCK_SIZE,)
    others = [
        {"rows": len(NUMBERS), "cols": cols, "k": k, "block_size": size}
        for (cols, k), size in zip(selections.CHECKED[-2:], (sizes[-1], sizes[0]), strict=True)
    ]
    return Subject(kernel, lambda: _right(exercise, kernel), safe, look, others)


def _right(exercise: Exercise, kernel: Kernel) -> Finding:
    sizes = exercise.block_sizes or (BLOCK_SIZE,)
    tried = [_mistake(exercise, kernel, *on, size) for size in sizes for on in selections.CHECKED]
    return tally(tried, f"with {selections.RIGHT}")


def _mistake(exercise: Exercise, kernel: Kernel, cols: int, k: int, size: int) -> Mistake | None:
    """None where all is right."""
    x = adversarial(cols, NUMBERS)
    selection = selections.select(kernel, x, k, block_size=size)
    values, places = selection.found
    values.fill(np.nan), places.fill(UNWRITTEN)
    selection.launch()
    due = selections.judge(values, places, x, alone=exercise.reference == CHOSEN_ALONE)
    if not due.wrong.any():
        return None
    row, entry = at = tuple(np.argwhere(due.wrong)[0].tolist())
    rows = ",".join(map(str, np.flatnonzero(due.wrong.any(axis=1))))
    value, place = values[at], places[at]
    got = "unwritten" if place == UNWRITTEN else f"column {place}, {value:.6g}"
    return Mistake(
        f'the row "{NUMBERS[row]}" of {cols}, k = {k}, {size} threads per block',
        f"entry {entry} is {got}, and should be column {due.places[at]}, {due.values[at]:.6g}",
        f"{len(NUMBERS)}x{cols}/{size}+{k} [{rows}] {entry} {place} {value:.4g}",
    )


def _look(kernel: Kernel, rows: int, cols: int, k: int, block_size: int) -> XRay:
    (words,) = selections.select(kernel, noise(rows, cols), k, block_size=block_size).launches
    return replace(xray_launch(**words, path="written"), rows=rows, cols=cols)
