"""Answers that are kernels in Triton, which are run by its interpreter."""

from __future__ import annotations

from softmax_lib import tiles
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.finding import Finding, Subject
from softmax_lib.source import Source


def subject(exercise: Exercise, source: Source) -> Subject:
    """The kernel in `source`, and how it is looked at: there are neither hazards nor counters of it."""
    kernel = tiles.find(tiles.TileKernel(exercise.name, source))
    return Subject(kernel, lambda: _right(exercise, kernel))


def _right(exercise: Exercise, kernel: tiles.TileKernel) -> Finding:
    found = tiles.check(kernel, device="cpu", lengths=exercise.lengths)
    if found.ok:
        return Finding(
            "right", True, f"all of {found.launches} launches within the bound of float32."
        )
    many = f"{len(found.failures)} of {found.launches} launches are wrong; the first"
    return Finding("right", False, f"{many}, {found.failures[0]}.")
