"""Answers that are softmax kernels in CUDA, launched as the book's kernel that they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmax_lib.checking import Attempt, CheckResult, check
from softmax_lib.errors import KernelFault
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.finding import Finding, Subject, safety
from softmax_lib.kernel import Kernel
from softmax_lib.launch import run
from softmax_lib.reference import ROWS, adversarial, noise, wrong_rows
from softmax_lib.registry import COPY, resolve
from softmax_lib.source import Source
from softmax_lib.xrays.result import XRay
from softmax_lib.xrays.xray import xray

MANY_ROWS = (70, 5)
"""A matrix of more rows than a block of two warps has threads, for kernels that give a row to a thread."""


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

    return Subject(kernel, lambda: _right(exercise, kernel), safe, look)


def _right(exercise: Exercise, kernel: Kernel) -> Finding:
    sizes = sizes_of(exercise, kernel)
    found = [_check(exercise, kernel, size) for size in sizes]
    found.append(check(kernel, noise(*MANY_ROWS), device="cpu", block_size=sizes[0]))
    launches = sum(len(one.attempts) for one in found)
    wrong = [attempt for one in found for attempt in one.wrong]
    if not wrong:
        return Finding("right", True, f"all of {launches} launches within the bound of float32.")
    if _writes_nothing(exercise, kernel):
        return Finding("right", False, "it never writes into y.")
    many = f"{len(wrong)} of {launches} launches are wrong; the first"
    return Finding("right", False, f"{many}, on {_launch(wrong[0])}: {_mistake(wrong[0])}.")


def _check(exercise: Exercise, kernel: Kernel, size: int) -> CheckResult:
    return check(kernel, device="cpu", block_size=size, lengths=exercise.lengths)


def _launch(one: Attempt) -> str:
    off = ", x a float off its place" if one.offset else ""
    return f"{one.rows} rows of {one.cols} at {one.block_size} threads per block{off}"


def _mistake(one: Attempt) -> str:
    return one.mistake or "it wrote behind the end of y"


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
    for size in sizes_of(exercise, kernel):
        for cols in exercise.lengths:
            x = adversarial(cols)
            y = np.full_like(x, np.nan)
            run(kernel, x, block_size=size, out=y)
            found.update(wrong_rows(y, x))
    return [ROWS[number].name for number in sorted(found)]


def is_right_at(exercise: Exercise, kernel: Kernel, size: int) -> bool:
    """Whether every launch with this block size is right; one that is stopped is not."""
    try:
        return _check(exercise, kernel, size).ok
    except KernelFault:
        return False
