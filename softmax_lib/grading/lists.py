"""Answers that are kernels of chapter 11, which find the k largest of each row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from softmax_lib import selections
from softmax_lib.errors import BadInput
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.finding import Finding, Subject, safety
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
    """The kernel in `source`, and how it is looked at. Raises `BadInput` where it has another name."""
    book = selections.kernels[exercise.of]
    if source.entries != book.entries:
        raise BadInput(f"The kernel of this exercise is called {book.entries[0]}.")
    kernel = replace(book, given_source=source)

    def look(**on: Any) -> XRay:
        return _look(kernel, **on)

    def safe(everywhere: bool) -> Finding:
        return safety([_look(kernel, *on) for on in LOOKED_AT[: None if everywhere else 1]])

    return Subject(kernel, lambda: _right(kernel), safe, look)


def _right(kernel: Kernel) -> Finding:
    found = selections.check(kernel, device="cpu", block_size=BLOCK_SIZE)
    if found.ok:
        return Finding("right", True, f"all of {found.launches} launches: {found.right}.")
    many = f"{len(found.failures)} of {found.launches} launches are wrong; the first"
    return Finding("right", False, f"{many}: {found.failures[0]}.")


def _look(kernel: Kernel, rows: int, cols: int, k: int, block_size: int) -> XRay:
    (words,) = selections.select(kernel, noise(rows, cols), k, block_size=block_size).launches
    return replace(xray_launch(**words, path="written"), rows=rows, cols=cols)
