"""Answers that are softmax kernels in CUDA, launched as the book's kernel that they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy import ndarray

from softmax_lib import checking
from softmax_lib.checking import Attempt
from softmax_lib.errors import Hang, KernelFault
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.finding import Finding, Subject, safety, tally
from softmax_lib.grading.matrices import Matrix, kinds_of, more_matrices
from softmax_lib.kernel import Kernel
from softmax_lib.launch import run
from softmax_lib.reference import noise, wrong_rows
from softmax_lib.registry import COPY, resolve
from softmax_lib.source import Source
from softmax_lib.xrays.result import XRay
from softmax_lib.xrays.xray import xray


def subject(exercise: Exercise, source: Source) -> Subject:
    """The kernel in `source`, and how it is looked at. Raises what `resolve` does."""
    kernel = COPY if exercise.of == COPY.name else resolve(source)
    if exercise.macros:
        kernel = kernel.setting(**exercise.macros)

    def look(**on: Any) -> XRay:
        return xray(kernel, path="written", **on)

    def safe(everywhere: bool) -> Finding:
        size = sizes_of(exercise, kernel)[-1]
        return safety([look(rows=3, cols=exercise.lengths[-1], block_size=size, ragged=everywhere)])

    def mistake(rows: int, cols: int, block_size: int) -> str | None:
        return _wrong(_attempt(kernel, (), noise(rows, cols), block_size))

    return Subject(kernel, lambda: _right(exercise, kernel), safe, look, mistake)


def _right(exercise: Exercise, kernel: Kernel) -> Finding:
    tried = list(_attempts(exercise, kernel))
    wrong = [f"on {_launch(one)}: {said}" for one in tried if (said := _wrong(one))]
    if wrong and len(wrong) == len(tried) and _writes_nothing(exercise, kernel):
        return Finding("right", False, "it never writes into y.")
    return tally(len(tried), wrong, "within the bound of float32")


def _attempts(exercise: Exercise, kernel: Kernel) -> Iterator[Attempt]:
    """The rows of `check` in all lengths at all block sizes, and what else an exercise is tried on."""
    sizes = sizes_of(exercise, kernel)
    for size in sizes:
        yield from _check(exercise, kernel, size)
    for kinds, x, size in more_matrices(exercise, sizes):
        yield _attempt(kernel, kinds, x, size)


def _check(exercise: Exercise, kernel: Kernel, size: int) -> tuple[Attempt, ...]:
    return checking.check(kernel, device="cpu", block_size=size, lengths=exercise.lengths).attempts


def _attempt(kernel: Kernel, kinds: tuple[str, ...], x: Matrix, size: int) -> Attempt:
    return checking.attempt(kernel, x, size, 0, "cpu", kinds)


def _launch(one: Attempt) -> str:
    off = ", x a float off its place" if one.offset else ""
    return f"{one.rows} rows of {one.cols} at {one.block_size} threads per block{off}"


def _wrong(one: Attempt) -> str | None:
    return one.mistake or one.trespass or None


def _writes_nothing(exercise: Exercise, kernel: Kernel) -> bool:
    found = xray(kernel, 2, exercise.lengths[-1], path="written")
    return not found.hazards and not found.total["global_store_requests"]


def sizes_of(exercise: Exercise, kernel: Kernel) -> tuple[int, ...]:
    """Block sizes at which an answer is launched: the exercise's, or what the kernel itself would take."""
    taken = tuple(size for size in exercise.block_sizes if size in kernel.block_sizes)
    return taken or (kernel.default_block_size,)


def wrong_kinds(exercise: Exercise, kernel: Kernel) -> list[str]:
    """Kinds of rows of which any comes out wrong, in their order. Raises what `run` does."""
    found: set[int] = set()
    names: tuple[str, ...] = ()
    for size in sizes_of(exercise, kernel):
        for cols in exercise.lengths:
            names, x = kinds_of(cols)
            found.update(wrong_rows(_result(kernel, x, size), x))
    return [names[number] for number in sorted(found)]


def _result(kernel: Kernel, x: ndarray, size: int) -> ndarray:
    y = np.full_like(x, np.nan)
    run(kernel, x, block_size=size, out=y)
    return y


def share(kernel: Kernel, rows: int, cols: int, block_size: int) -> float:
    """What the elements of a row of the result add up to, the mean of all rows: 1 of a softmax. Raises what `run` does."""
    y = _result(kernel, noise(rows, cols), block_size)
    return round(float(y.sum(axis=1, dtype=np.float64).mean()), 3)


def is_right_at(exercise: Exercise, kernel: Kernel, size: int) -> bool:
    """Whether every launch with this block size is right; one that is stopped is not. Raises `Hang`."""
    try:
        return not any(_wrong(one) for one in _check(exercise, kernel, size))
    except Hang:  # each block size would take as long
        raise
    except KernelFault:
        return False
