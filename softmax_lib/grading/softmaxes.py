"""Answers that are kernels in CUDA with a matrix as their result, launched as the book's kernel that they are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from softmax_lib.engine.source import Source
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.finding import Finding, Mistake, Subject, safety, tally
from softmax_lib.grading.references import Kinds, Matrix, Reference
from softmax_lib.worklog.checking import launch_guarded
from softmax_lib.worklog.errors import Hang, KernelFault
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.launch import run
from softmax_lib.worklog.reference import KINDS, noise
from softmax_lib.worklog.registry import COPY, resolve, with_copy
from softmax_lib.worklog.xray import xray

MANY_ROWS = (198, 5)
"""More rows than two blocks of 96 threads have, for kernels that give a row to a thread."""

FAR_BELOW = -100.0
"""So far below normal noise that only an exponent above 0 notices."""

_PLACES = {"the second far below": 1, "the third far below": 2, "the last far below": -1}
"""Rows of which one score is FAR_BELOW: at an odd place, at an even one, and where a loop ends."""


def subject(exercise: Exercise, source: Source) -> Subject:
    """The kernel in `source`, and how it is looked at. Raises what `resolve` does."""
    kernel = COPY if exercise.of == COPY.name else resolve(source)
    if kernel is not COPY and exercise.text and exercise.of:
        kernel = launched_as(with_copy[exercise.of], exercise, source)
    if exercise.macros:
        kernel = kernel.setting(**exercise.macros)

    @cache  # several goals look at one matrix
    def look(**on: Any) -> XRay:
        return xray(kernel, path="written", **on)

    def safe(everywhere: bool) -> Finding:
        size = sizes_of(exercise, kernel)[-1]
        return safety([look(rows=3, cols=exercise.lengths[-1], block_size=size, ragged=everywhere)])

    return Subject(
        kernel, lambda: _right(exercise, kernel), safe, look, tuple(_others(exercise, kernel))
    )


def _others(exercise: Exercise, kernel: Kernel) -> Iterator[Mapping[str, int]]:
    """The length before the last with the largest blocks, and the last one with the smallest."""
    sizes = sizes_of(exercise, kernel)
    for length, size in zip(exercise.lengths[-2:], (sizes[-1], sizes[0]), strict=True):
        rows, cols = exercise.asks.rows(kernel.longer(length))[1].shape
        yield {"rows": rows, "cols": cols, "block_size": size}


def launched_as(like: Kernel, exercise: Exercise, source: Source) -> Kernel:
    """The kernel in `source`, launched as the book's that it is made of, under its own name."""
    step = replace(like.steps[0], entry=source.entries[0])
    return replace(like, name=exercise.name, steps=(step,), given_source=source, flaw=None)


def _right(exercise: Exercise, kernel: Kernel) -> Finding:
    """Rows of all kinds in all lengths at all block sizes, and what else an exercise is tried on."""
    sizes = sizes_of(exercise, kernel)
    tried = [one for size in sizes for one in _usual(exercise, kernel, size)]
    tried += [_launch(exercise, kernel, *more) for more in _more_matrices(exercise, kernel)]
    if tried and all(tried):
        found = xray(kernel, 2, exercise.lengths[-1], path="written")
        if not found.hazards and not found.total["global_store_requests"]:
            return Finding("right", False, "it never writes into y.")
    return tally(tried, "within the bound of float32")


def _usual(exercise: Exercise, kernel: Kernel, size: int) -> Iterator[Mistake | None]:
    for cols in dict.fromkeys(map(kernel.longer, exercise.lengths)):
        if cols <= kernel.max_cols(size):
            kinds, x = exercise.asks.rows(cols)
            for offset in (0, 1) if kernel.vector == 1 else (0,):
                yield _launch(exercise, kernel, kinds, x, size, offset)


def _launch(
    exercise: Exercise, kernel: Kernel, kinds: Kinds, x: Matrix, size: int, offset: int = 0
) -> Mistake | None:
    y, stray = launch_guarded(kernel, x, size, offset, "cpu")
    return mistake_of(exercise.asks, kinds, x, y, size, offset, stray=stray)


def mistake_of(
    asks: Reference, kinds: Kinds, x: Matrix, y: Matrix, size: int, offset: int = 0, *, stray: bool
) -> Mistake | None:
    """What is wrong of the result `y` of one launch on `x`; or something was written behind it (`stray`)."""
    found = asks.judge(y, x, kinds)
    if found.mistake is None and not stray:
        return None
    rows, cols = x.shape
    short = "past the end"
    if found.mistake:
        all_rows = ",".join(map(str, found.wrong_rows[: len(kinds) or 1]))
        short = f"[{all_rows}] {found.column} {found.value:.4g}"
    off = ", x a float off its place" if offset else ""
    launch = f"on {rows} rows of {cols} at {size} threads per block{off}"
    what = found.mistake or "it wrote past the end of y"
    return Mistake(launch, what, f"{rows}x{cols}/{size}+{offset} {short}")


def _more_matrices(exercise: Exercise, kernel: Kernel) -> Iterator[tuple[Kinds, Matrix, int]]:
    """Kinds of rows, a matrix of them, and the block size: what a written answer is tried on beside all kinds of rows."""
    rows, cols = MANY_ROWS
    reference = exercise.asks
    for size in sizes_of(exercise, kernel):
        yield (), noise(rows, kernel.longer(cols)), size
        if reference.kinds == KINDS:
            masked = reference.half_masked(exercise.lengths[-1])
            yield ("half -inf, half near -10000",), masked, size
    shapes = ("rows", "cols", "block_size")  # of what counters are read on
    of_goals = [tuple(goal.on[name] for name in shapes) for goal in exercise.goals if goal.on]
    for rows, cols, size in dict.fromkeys(of_goals):
        yield *reference.rows(*reference.shape(rows, cols)), size


def sizes_of(exercise: Exercise, kernel: Kernel) -> tuple[int, ...]:
    """Block sizes at which an answer is launched: the exercise's, or what the kernel itself would take."""
    taken = tuple(size for size in exercise.block_sizes if size in kernel.block_sizes)
    return taken or (kernel.default_block_size,)


def wrong_kinds(exercise: Exercise, kernel: Kernel) -> list[str]:
    """Kinds of rows of which any comes out wrong, in their order; some have one score far below all others.

    Raises what `run` does.
    """
    found: set[int] = set()
    for size, cols in product(sizes_of(exercise, kernel), exercise.lengths):
        _, x = exercise.asks.rows(cols)
        low = noise(len(_PLACES), cols)
        for row, place in zip(low, _PLACES.values(), strict=True):
            row[place % cols] = FAR_BELOW
        x = np.concatenate((x, low))
        y = np.full_like(x, np.nan)
        run(kernel, x, block_size=size, out=y)
        found.update(exercise.asks.judge(y, x).wrong_rows)
    names = (*exercise.asks.kinds, *_PLACES)
    return [names[number] for number in sorted(found)]


def is_right_at(exercise: Exercise, kernel: Kernel, size: int) -> bool:
    """Whether every launch with this block size is right; one that is stopped is not. Raises `Hang`."""
    try:
        return not any(_usual(exercise, kernel, size))
    except Hang:  # each block size would take as long
        raise
    except KernelFault:
        return False
