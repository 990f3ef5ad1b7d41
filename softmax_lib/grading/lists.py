"""Answers that are kernels of chapter 11, which find the k largest of each row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from softmax_lib import selections
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.finding import Finding, Subject, safety, tally
from softmax_lib.kernel import Kernel
from softmax_lib.reference import noise
from softmax_lib.source import Source
from softmax_lib.xrays.result import XRay
from softmax_lib.xrays.xray import xray_launch

BLOCK_SIZE = 64
"""Two warps, which have to meet."""

LOOKED_AT = ((3, 33, 5, 32), (2, 1001, 10, 64))
"""Rows, columns, k and block size of the launches in which hazards are looked for."""


def subject(exercise: Exercise, source: Source) -> Subject:
    """The kernel in `source`, and how it is looked at."""
    kernel = replace(selections.kernels[exercise.of], given_source=source)

    def look(**on: Any) -> XRay:
        return _look(kernel, **on)

    def safe(everywhere: bool) -> Finding:
        return safety([_look(kernel, *on) for on in LOOKED_AT[: None if everywhere else 1]])

    def mistake(**on: Any) -> str | None:
        return _mistake(kernel, **on)

    return Subject(kernel, lambda: _right(kernel), safe, look, mistake)


def _right(kernel: Kernel) -> Finding:
    found = selections.check(kernel, device="cpu", block_size=BLOCK_SIZE)
    return tally(found.launches, found.failures, f"with {found.right}")


def _mistake(kernel: Kernel, rows: int, cols: int, k: int, block_size: int) -> str | None:
    x = noise(rows, cols)
    row = selections.first_wrong(x, k, *selections.run(kernel, x, k, block_size=block_size))
    return None if row is None else f"the {k} largest of row {row}, or their shares, are not right"


def _look(kernel: Kernel, rows: int, cols: int, k: int, block_size: int) -> XRay:
    (words,) = selections.select(kernel, noise(rows, cols), k, block_size=block_size).launches
    return replace(xray_launch(**words, path="written"), rows=rows, cols=cols)
