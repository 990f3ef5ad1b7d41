"""A matrix with the elements that a few threads read at the same time, one row of it each."""

from __future__ import annotations

import numpy as np

from softmax_lib.drawings.drawing import Drawing, frame
from softmax_lib.emulator import Trace
from softmax_lib.errors import BadInput
from softmax_lib.launch import trace
from softmax_lib.source import Source
from softmax_lib.widgets.stepping import Shown, stepper
from softmax_lib.widgets.views import View

_HIGH, _PITCH, _LEFT = 30, 50, 150
_TONES = ("blue", "orange")

Thread = tuple[int, int]
"""Block, and number within it."""

Element = tuple[int, int]
"""Row and column."""


def threads(kernel_or_source: str | Source, rows: int, cols: int, block_size: int) -> Shown:
    """Step through the loads of a kernel that gives each thread a row, on a small (rows, cols) matrix.

    The colours are for two blocks of `block_size` threads. Raises what `trace` raises, and `BadInput`
    for a matrix without elements or a kernel whose threads do not each load whole rows.
    """
    traced = trace(kernel_or_source, np.zeros((rows, cols), np.float32), block_size)
    loads = _loads(traced, cols)
    every = {(b, t) for b in range(-(-rows // block_size)) for t in range(block_size)}
    spare = sorted(every - loads.keys())
    counts = {len(elements) for elements in loads.values()}
    if len(counts) != 1 or any(len({row for row, _ in of}) != 1 for of in loads.values()):
        raise BadInput(
            "Only a kernel that gives each thread a row of its own can be shown like this."
        )
    (steps,) = counts
    return stepper(
        [
            _frame({who: elements[i] for who, elements in loads.items()}, spare, i, (rows, cols))
            for i in range(steps)
        ]
    )


def _loads(traced: Trace, cols: int) -> dict[Thread, list[Element]]:
    loads: dict[Thread, list[Element]] = {}
    for event in traced:
        if event.operation == "load" and event.element is not None:
            element = divmod(event.element, cols)
            loads.setdefault((event.block, event.thread), []).append(element)
    return loads


def _frame(
    reads: dict[Thread, Element], spare: list[Thread], done: int, shape: tuple[int, int]
) -> View:
    """The matrix, with the element that each thread reads now, and below it the threads without a row."""
    rows, cols = shape
    words = ", ".join(f"row {row} column {col}" for row, col in reads.values())
    drawing = Drawing(rows * _HIGH + 4, f"Read now: {words}")
    for (block, thread), (row, now) in reads.items():
        drawing.text(0, row * _HIGH + 21, f"block {block}, thread {thread}", anchor="start")
        for col in range(cols):
            tone = _TONES[block % 2] if col == now else "plain"
            left = _LEFT + col * _PITCH
            drawing.box(left, row * _HIGH + 2, 44, 26, f"{row}, {col}", tone=tone)
    title = f"Pass {done // cols + 1}: every thread reads column {done % cols} of its row"
    idle = " and ".join(f"thread {thread} of block {block}" for block, thread in spare)
    caption = f"{idle} found no row and left.".capitalize() if spare else "Every thread has a row."
    return frame(drawing, title, caption)
