"""Answers that are kernels in CUDA with a matrix as their result, launched as the book's kernel that they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

from softmax_lib.engine.source import Source
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.finding import Finding, Subject, safety, tally
from softmax_lib.grading.matrices import kinds_of, more_matrices
from softmax_lib.grading.references import Kinds, Matrix, Wrong
from softmax_lib.worklog.checking import launch_guarded
from softmax_lib.worklog.errors import Hang, KernelFault
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.launch import run
from softmax_lib.worklog.reference import noise
from softmax_lib.worklog.registry import COPY, resolve, with_copy
from softmax_lib.worklog.xray import xray


@dataclass(frozen=True)
class Launch:
    """One launch on a (rows, cols) matrix: what is wrong of its result, and whether something was written behind it."""

    shape: tuple[int, int]
    block_size: int
    offset: int
    kinds: Kinds
    by_column: bool
    wrong: Wrong | None
    stray: bool

    @property
    def mistake(self) -> str | None:
        """The first wrong element in words."""
        if self.wrong is None:
            return "it wrote past the end of y" if self.stray else None
        one, row = self.wrong, self.wrong.rows[0]
        kind = f" ({self.kinds[row]})" if self.kinds and not self.by_column else ""
        of = f" ({self.kinds[one.column]})" if self.kinds and self.by_column else ""
        is_and_due = f"is {one.value:.6g} and should be {one.due:.6g}"
        return f"row {row}{kind}, column {one.column}{of} {is_and_due}"

    @property
    def words(self) -> str:
        """What was launched, and the mistake."""
        rows, cols = self.shape
        off = ", x a float off its place" if self.offset else ""
        return (
            f"on {rows} rows of {cols} at {self.block_size} threads per block{off}: {self.mistake}"
        )

    @property
    def trace(self) -> str:
        """The same in short, with every wrong row, such as a mistake is known by."""
        said = "past the end"
        if self.wrong:
            rows = ",".join(map(str, self.wrong.rows[: len(self.kinds) or 1]))
            said = f"[{rows}] {self.wrong.column} {self.wrong.value:.4g}"
        return f"{self.shape[0]}x{self.shape[1]}/{self.block_size}+{self.offset} {said}"


def subject(exercise: Exercise, source: Source) -> Subject:
    """The kernel in `source`, and how it is looked at. Raises what `resolve` does."""
    kernel = _kernel(exercise, source)
    if exercise.macros:
        kernel = kernel.setting(**exercise.macros)

    def look(**on: Any) -> XRay:
        return xray(kernel, path="written", **on)

    def safe(everywhere: bool) -> Finding:
        size = sizes_of(exercise, kernel)[-1]
        return safety([look(rows=3, cols=exercise.lengths[-1], block_size=size, ragged=everywhere)])

    def mistake(rows: int, cols: int, block_size: int) -> str | None:
        return _launch(exercise, kernel, (), noise(rows, cols), block_size).mistake

    return Subject(kernel, lambda: _right(exercise, kernel), safe, look, mistake)


def _kernel(exercise: Exercise, source: Source) -> Kernel:
    """A text of the exercise's own is launched as the kernel that it names, under its own name."""
    if exercise.of == COPY.name:
        return COPY
    kernel = resolve(source)
    if not (exercise.text and exercise.of):
        return kernel
    return launched_as(with_copy[exercise.of], exercise, source)


def launched_as(like: Kernel, exercise: Exercise, source: Source) -> Kernel:
    """The kernel in `source`, launched as the book's that it is made of, under its own name."""
    step = replace(like.steps[0], entry=source.entries[0])
    return replace(like, name=exercise.name, steps=(step,), given_source=source, flaw=None)


def _right(exercise: Exercise, kernel: Kernel) -> Finding:
    tried = list(_launches(exercise, kernel))
    wrong = [one for one in tried if one.mistake]
    if wrong and len(wrong) == len(tried) and _writes_nothing(exercise, kernel):
        return Finding("right", False, "it never writes into y.")
    return tally(len(tried), wrong, "within the bound of float32")


def _launches(exercise: Exercise, kernel: Kernel) -> Iterator[Launch]:
    """Rows of all kinds in all lengths at all block sizes, and what else an exercise is tried on."""
    sizes = sizes_of(exercise, kernel)
    for size in sizes:
        yield from _usual(exercise, kernel, size)
    for kinds, x, size in more_matrices(exercise, sizes, kernel.longer):
        yield _launch(exercise, kernel, kinds, x, size)


def _usual(exercise: Exercise, kernel: Kernel, size: int) -> Iterator[Launch]:
    for cols in dict.fromkeys(map(kernel.longer, exercise.lengths)):
        if cols <= kernel.max_cols(size):
            kinds, x = exercise.asks.rows(cols)
            for offset in (0, 1) if kernel.vector == 1 else (0,):
                yield _launch(exercise, kernel, kinds, x, size, offset)


def _launch(
    exercise: Exercise, kernel: Kernel, kinds: Kinds, x: Matrix, size: int, offset: int = 0
) -> Launch:
    y, stray = launch_guarded(kernel, x, size, offset, "cpu")
    asks = exercise.asks
    return Launch(x.shape, size, offset, kinds, asks.by_column, asks.wrong(y, x), stray)


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
    names: Kinds = ()
    for size in sizes_of(exercise, kernel):
        for cols in exercise.lengths:
            names, x = kinds_of(exercise, cols)
            wrong = exercise.asks.wrong(_result(kernel, x, size), x)
            found.update(wrong.rows if wrong else ())
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
        return not any(one.mistake for one in _usual(exercise, kernel, size))
    except Hang:  # each block size would take as long
        raise
    except KernelFault:
        return False
