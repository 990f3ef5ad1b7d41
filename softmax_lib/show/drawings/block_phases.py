"""Blocks of `fusion` on some multiprocessors, one after the other: when they read, meet and write."""

from __future__ import annotations

from itertools import pairwise

from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.suites.phases.record import Block, phases
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput

_LEFT, _HIGH, _TOP = 24, 18, 6
_PHASES = {"reads": "blue", "meets": "green", "writes": "orange"}


def read_meet_write(gpu: str = DEFAULT_GPU) -> View:
    """Draw the blocks of `fusion` on the first multiprocessors, as their warps noted the time.

    A block reads until the last of its warps has what it asked for, meets until the last warp has met the others,
    and writes until the last store is handed in. Raises `BadInput` where that was not measured.
    """
    found = phases(gpu)["fusion"]
    if not found.blocks:
        raise BadInput(f"The blocks of fusion were not noted on {gpu}.")
    multiprocessors = sorted({block.multiprocessor for block in found.blocks})
    last = max(block.ended for block in found.blocks)
    words = _in_words(found.blocks)
    drawing = Drawing(_TOP + len(multiprocessors) * _HIGH + 40, words)
    for row, multiprocessor in enumerate(multiprocessors):
        top = _TOP + row * _HIGH
        drawing.text(_LEFT - 4, top + 12, str(multiprocessor), anchor="end", size=11)
        of = [block for block in found.blocks if block.multiprocessor == multiprocessor]
        for tone, rectangles in _bars(of, top, (WIDTH - _LEFT) / last).items():
            drawing.boxes(rectangles, tone, solid=True)
    _draw_legend(drawing, last)
    title = f"fusion on {len(multiprocessors)} multiprocessors"
    return frame(drawing, title, f"{words} ({found.source}.)")


def _bars(
    blocks: list[Block], top: float, scale: float
) -> dict[str, list[tuple[float, float, float, float]]]:
    bars: dict[str, list[tuple[float, float, float, float]]] = {t: [] for t in _PHASES.values()}
    for block in blocks:
        marks = (block.began, block.came, block.met, block.ended)
        for tone, (first, end) in zip(_PHASES.values(), pairwise(marks), strict=True):
            bars[tone].append((_LEFT + first * scale, top + 1, (end - first) * scale, _HIGH - 5))
    return bars


def _draw_legend(drawing: Drawing, last: int) -> None:
    line = drawing.height - 20
    for left, (word, tone) in zip((_LEFT, 110, 196), _PHASES.items(), strict=True):
        drawing.boxes([(left, line - 9, 12, 9)], tone, solid=True)
        drawing.text(left + 17, line, word, anchor="start", size=12)
    words = f"from left to right: {last / 1e3:.0f} µs"
    drawing.text(_LEFT, line + 17, words, anchor="start", size=12)


def _in_words(blocks: tuple[Block, ...]) -> str:
    shares = [0, 0, 0]
    for block in blocks:
        marks = (block.began, block.came, block.met, block.ended)
        for at, (first, end) in enumerate(pairwise(marks)):
            shares[at] += end - first
    told = [
        f"{word} for {share / sum(shares):.0%}" for word, share in zip(_PHASES, shares, strict=True)
    ]
    return f"Of its time a block {told[0]}, {told[1]} and {told[2]}."
