"""Answers that are kernels in Triton, which are run by its interpreter."""

from __future__ import annotations

from softmax_lib import tiles
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.finding import Finding, Subject, tally
from softmax_lib.source import Source


def subject(exercise: Exercise, source: Source) -> Subject:
    """The kernel in `source`, and how it is looked at: there are neither hazards nor counters of it."""
    kernel = tiles.find(tiles.TileKernel(exercise.name, source))
    return Subject(kernel, lambda: _right(exercise, kernel))


def _right(exercise: Exercise, kernel: tiles.TileKernel) -> Finding:
    found = tiles.check(kernel, device="cpu", lengths=exercise.lengths)
    return tally(found.launches, found.failures, "within the bound of float32")
