"""Answers that are kernels in Triton: its interpreter runs them, and its compiler tells what they become."""

from __future__ import annotations

from softmax_lib.engine.source import Source
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.finding import Finding, Mistake, Subject, tally
from softmax_lib.grading.references import Kinds, Matrix
from softmax_lib.grading.softmaxes import mistake_of
from softmax_lib.worklog import tiles
from softmax_lib.worklog.tiles.interpreter import READS_OUTSIDE, Interpreted, Job, interpret
from softmax_lib.worklog.tiles.launching import GUARD, job
from softmax_lib.worklog.tiles.programs import next_power_of_two

OTHERS = (48, 64)
"""Lengths of rows for which barriers are counted too, with half of the TILE that 96 columns have."""


def subject(exercise: Exercise, source: Source) -> Subject:
    """The kernel in `source`, and how it is looked at: hazards can't be seen. Raises `BadInput` and `CompileError`."""
    kernel = tiles.find(tiles.TileKernel(exercise.name, source))
    others = [{"cols": cols, "num_warps": 4} for cols in OTHERS]
    return Subject(kernel, lambda: _right(exercise, kernel), others=others)


def _right(exercise: Exercise, kernel: tiles.TileKernel) -> Finding:
    tried = [exercise.asks.rows(cols) for cols in exercise.lengths]
    found = interpret([_job(exercise, kernel, x) for _, x in tried])
    mistakes = [_mistake(exercise, *on, of) for on, of in zip(tried, found, strict=True)]
    if not any(mistakes):  # the interpreter takes more than the compiler does
        tiles.compile_tile(kernel, _tile(exercise, exercise.lengths[-1]))
    return tally(mistakes, "within the bound of float32")


def _tile(exercise: Exercise, cols: int) -> int:
    return exercise.macros.get("TILE") or next_power_of_two(cols)


def _job(exercise: Exercise, kernel: tiles.TileKernel, x: Matrix) -> Job:
    """A program for ROWS rows, where the exercise sets those; behind x and y is room for what goes astray."""
    rows, cols = x.shape
    a_program = exercise.macros.get("ROWS", 1)
    setting = tiles.Setting(_tile(exercise, cols), num_warps=4, num_stages=1)
    room = x.size + a_program * setting.tile
    return job(kernel, x, setting, -(-rows // a_program), room)


def _mistake(exercise: Exercise, kinds: Kinds, x: Matrix, found: Interpreted) -> Mistake | None:
    """What lies outside of x is the cause of what is wrong inside."""
    (rows, cols), tile, outside = x.shape, _tile(exercise, x.shape[1]), found.reads_outside
    stray = outside or bool((found.y[x.size :] != GUARD).any())
    y = found.y[: x.size].reshape(x.shape)
    one = mistake_of(exercise.asks, kinds, x, y, tile, stray=stray)
    if one is None:
        return None
    launch = f"on {rows} rows of {cols} with a tile of {tile}"
    what, trace = (READS_OUTSIDE, f"{one.trace}, reads outside") if outside else one[1:]
    return Mistake(launch, what, trace)


def compiled_barriers(kernel: tiles.TileKernel, cols: int, num_warps: int) -> float:
    """Barriers that Triton's compiler puts into the PTX, for rows of this length. Raises `CompileError`."""
    counts = tiles.compile_tile(kernel, cols, num_warps=num_warps).counts
    return float(sum(number for name, number in counts.items() if name.startswith("bar")))
