"""Answers that are kernels in Triton: its interpreter runs them, and its compiler tells what they become."""

from __future__ import annotations

from dataclasses import dataclass

from softmax_lib.engine.source import Source
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.finding import Finding, Subject, tally
from softmax_lib.grading.references import Kinds, Matrix
from softmax_lib.grading.softmaxes import Launch
from softmax_lib.worklog import tiles
from softmax_lib.worklog.tiles.interpreter import READS_OUTSIDE, Interpreted, Job, interpret
from softmax_lib.worklog.tiles.launching import GUARD, job
from softmax_lib.worklog.tiles.settings import next_power_of_two


@dataclass(frozen=True)
class TileLaunch(Launch):
    """One launch in the interpreter, its tile for a block size, and whether it read what is not of x."""

    reads_outside: bool = False

    @property
    def mistake(self) -> str | None:
        """What lies outside of x is the cause of what is wrong inside."""
        return READS_OUTSIDE if self.reads_outside else super().mistake

    @property
    def words(self) -> str:
        """What was launched, and the mistake."""
        rows, cols = self.shape
        return f"on {rows} rows of {cols} with a tile of {self.block_size}: {self.mistake}"

    @property
    def trace(self) -> str:
        """The same in short."""
        return f"{super().trace}{', reads outside' if self.reads_outside else ''}"


def subject(exercise: Exercise, source: Source) -> Subject:
    """The kernel in `source`, and how it is looked at: hazards can't be seen. Raises `BadInput` and `CompileError`."""
    kernel = tiles.find(tiles.TileKernel(exercise.name, source))
    return Subject(kernel, lambda: _right(exercise, kernel))


def _right(exercise: Exercise, kernel: tiles.TileKernel) -> Finding:
    tried = [exercise.asks.rows(cols) for cols in exercise.lengths]
    found = interpret([_job(exercise, kernel, x) for _, x in tried])
    launches = [_launch(exercise, *on, one) for on, one in zip(tried, found, strict=True)]
    wrong = [one for one in launches if one.mistake]
    if not wrong:  # the interpreter takes more than the compiler does
        tiles.compile_tile(kernel, _tile(exercise, exercise.lengths[-1]))
    return tally(len(launches), wrong, "within the bound of float32")


def _tile(exercise: Exercise, cols: int) -> int:
    return exercise.macros.get("TILE") or next_power_of_two(cols)


def _job(exercise: Exercise, kernel: tiles.TileKernel, x: Matrix) -> Job:
    """A program for ROWS rows, where the exercise sets those; behind x and y is room for what goes astray."""
    rows, cols = x.shape
    a_program = exercise.macros.get("ROWS", 1)
    setting = tiles.Setting(_tile(exercise, cols), num_warps=4, num_stages=1)
    room = x.size + a_program * setting.tile
    return job(kernel, x, setting, -(-rows // a_program), room)


def _launch(exercise: Exercise, kinds: Kinds, x: Matrix, found: Interpreted) -> TileLaunch:
    wrong = exercise.asks.wrong(found.y[: x.size].reshape(x.shape), x)
    stray = bool((found.y[x.size :] != GUARD).any())
    tile = _tile(exercise, x.shape[1])
    return TileLaunch(x.shape, tile, 0, kinds, False, wrong, stray, found.reads_outside)


def compiled_barriers(kernel: tiles.TileKernel, cols: int, num_warps: int) -> float:
    """Barriers that Triton's compiler puts into the PTX, for rows of this length. Raises `CompileError`."""
    counts = tiles.compile_tile(kernel, cols, num_warps=num_warps).counts
    return float(sum(number for name, number in counts.items() if name.startswith("bar")))
