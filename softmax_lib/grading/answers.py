"""Answers that are kernels, and how each family of them is looked at: softmaxes in CUDA, lists of the largest, Triton."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
from softmax_lib.worklog import selections, tiles
from softmax_lib.worklog.checking import launch_guarded
from softmax_lib.worklog.errors import Hang, KernelFault
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.launch import run
from softmax_lib.worklog.reference import KINDS, NUMBERS, adversarial, noise
from softmax_lib.worklog.registry import COPY, resolve
from softmax_lib.worklog.tiles.interpreter import READS_OUTSIDE, Interpreted, Job, interpret
from softmax_lib.worklog.tiles.launching import GUARD, job
from softmax_lib.worklog.tiles.programs import next_power_of_two
from softmax_lib.worklog.xray import xray, xray_launch

# ---- kernels in CUDA with a matrix as their result, launched as the book's kernel that they are made of

MANY_ROWS = (198, 5)
"""More rows than two blocks of 96 threads have, for kernels that give a row to a thread."""

BESIDE, ALONE = 150, 24
"""Rows that are launched together, more than there are multiprocessors, and of these one by one, to see whether bits stay."""

FAR_BELOW = -100.0
"""So far below normal noise that only an exponent above 0 notices."""

_PLACES = {"the second far below": 1, "the third far below": 2, "the last far below": -1}
"""Rows of which one score is FAR_BELOW: at an odd place, at an even one, and where a loop ends."""


def _softmax(exercise: Exercise, source: Source) -> Subject:
    """The kernel in `source`, and how it is looked at. Raises what `resolve` does."""
    kernel = COPY if exercise.of == COPY.name else resolve(source)
    if kernel is not COPY and exercise.text and exercise.of:
        kernel = launched_as(resolve(exercise.of), exercise, source)
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


def other_bits(exercise: Exercise, kernel: Kernel) -> list[str]:
    """What a row's bits depend on beside the row: "the block size", "the number of rows". Raises what `run` does."""
    x, (size, *others) = noise(BESIDE, exercise.lengths[-1]), sizes_of(exercise, kernel)
    first = run(kernel, x, block_size=size)
    by_one = [run(kernel, row, block_size=size) for row in np.split(x[:ALONE], ALONE)]
    again = {
        "the block size": [run(kernel, x, block_size=other) for other in others],
        "the number of rows": [np.concatenate([*by_one, first[ALONE:]])],
    }
    return [what for what, those in again.items() if any((y != first).any() for y in those)]


# ---- kernels of chapter 11, which find the k largest of each row

LOOKED_AT = ((3, 97, 5, 64), (2, 1001, 10, 64))
"""Rows, columns, k and block size of the launches in which hazards are looked for."""

UNWRITTEN = int(np.iinfo(np.int32).min)
"""The column of an entry before a launch."""

CHOSEN_ALONE = "chosen_softmax"
"""The reference of an exercise whose values are a softmax of the k chosen, and not of the row."""


def _lists(exercise: Exercise, source: Source) -> Subject:
    """One of chapter 11, which finds the k largest of each row, launched as the book's that it is made of."""
    kernel = launched_as(selections.kernels[exercise.of], exercise, source)

    @cache  # several goals look at one matrix
    def look(**on: Any) -> XRay:
        return _look(kernel, **on)

    def safe(everywhere: bool) -> Finding:
        return safety([_look(kernel, *on) for on in LOOKED_AT[: None if everywhere else 1]])

    sizes = exercise.block_sizes
    others = [
        {"rows": len(NUMBERS), "cols": cols, "k": k, "block_size": size}
        for (cols, k), size in zip(selections.CHECKED[-2:], (sizes[-1], sizes[0]), strict=True)
    ]
    return Subject(kernel, lambda: _right_lists(exercise, kernel), safe, look, others)


def _right_lists(exercise: Exercise, kernel: Kernel) -> Finding:
    ways = product(exercise.block_sizes, selections.CHECKED)
    tried = [_wrong(exercise, kernel, *on, size) for size, on in ways]
    return tally(tried, f"with {selections.RIGHT}")


def _wrong(exercise: Exercise, kernel: Kernel, cols: int, k: int, size: int) -> Mistake | None:
    """None where all is right."""
    x = adversarial(cols, NUMBERS)
    selection = selections.select(kernel, x, k, block_size=size)
    values, places = selection.found
    values.fill(np.nan), places.fill(UNWRITTEN)
    selection.launch()
    due = selections.judge(values, places, x, alone=exercise.reference == CHOSEN_ALONE)
    if not due.wrong.any():
        return None
    row, entry = at = tuple(np.argwhere(due.wrong)[0].tolist())
    rows = ",".join(map(str, np.flatnonzero(due.wrong.any(axis=1))))
    value, place = values[at], places[at]
    got = "unwritten" if place == UNWRITTEN else f"column {place}, {value:.6g}"
    return Mistake(
        f'the row "{NUMBERS[row]}" of {cols}, k = {k}, {size} threads per block',
        f"entry {entry} is {got}, and should be column {due.places[at]}, {due.values[at]:.6g}",
        f"{len(NUMBERS)}x{cols}/{size}+{k} [{rows}] {entry} {place} {value:.4g}",
    )


def _look(kernel: Kernel, rows: int, cols: int, k: int, block_size: int) -> XRay:
    (words,) = selections.select(kernel, noise(rows, cols), k, block_size=block_size).launches
    return replace(xray_launch(**words, path="written"), rows=rows, cols=cols)


# ---- kernels in Triton: its interpreter runs them, and its compiler tells what they become

TILE_COLS = (48, 64)
"""Lengths of rows for which barriers are counted too, with half of the TILE that 96 columns have."""


def _triton(exercise: Exercise, source: Source) -> Subject:
    """One in Triton: its interpreter runs it, and hazards can't be seen. Raises `BadInput` and `CompileError`."""
    kernel = tiles.find(tiles.TileKernel(exercise.name, source))
    others = [{"cols": cols, "num_warps": 4} for cols in TILE_COLS]
    return Subject(kernel, lambda: _right_tiles(exercise, kernel), others=others)


def _right_tiles(exercise: Exercise, kernel: tiles.TileKernel) -> Finding:
    tried = [exercise.asks.rows(cols) for cols in exercise.lengths]
    found = interpret([_job(exercise, kernel, x) for _, x in tried])
    mistakes = [_wrong_tile(exercise, *on, of) for on, of in zip(tried, found, strict=True)]
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


def _wrong_tile(exercise: Exercise, kinds: Kinds, x: Matrix, found: Interpreted) -> Mistake | None:
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


FAMILIES: dict[str, Callable[[Exercise, Source], Subject]] = {
    "softmax": _softmax, "topk": _lists, "triton": _triton,
}  # fmt: skip
"""What makes a subject of an answer, by the family of its exercise."""
