"""Rows on lanes: how the threads of blocks are dealt out to rows, and what a warp's first load touches of them."""

from __future__ import annotations

from itertools import pairwise

from softmax_lib.engine.source import WARP
from softmax_lib.engine.words import count, percent
from softmax_lib.engine.xrays.lines import SECTOR_BYTES
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.views import View
from softmax_lib.worklog.registry import kernels

ROWS = 131072
LANES, THREADS, COLUMNS = kernels["warp_plain"].choices, (32, 64, 128), (32, 128, 256)
_FLOATS = SECTOR_BYTES // 4
_WARPS, _BLOCKS, _A_WARP, _LOAD, _LOAD_HIGH, _A_ROW = 4, 20, 18, 114, 66, 15
_ROOM = 48
"""For what stands in front of each line."""
_LANE, _FLOAT = (WIDTH - _ROOM) / WARP, (WIDTH - _ROOM) / COLUMNS[-1]


def row_lanes() -> Explorer:
    """Sliders over the lanes of a row, the threads of a block and the columns; they start at a block per row."""
    axes = {"lanes per row": LANES, "threads per block": THREADS, "columns": COLUMNS}
    shown = explorer(axes, _show, start=(WARP, THREADS[0], COLUMNS[1]))
    shown.add_class("worklog-two-columns")
    return shown


def _show(lanes: int, threads: int, cols: int) -> View:
    blocks = kernels["warp_plain"].setting(LANES=lanes).steps[0].blocks(ROWS, cols, threads)
    title = f"{count(threads // lanes, 'row')} per block: {blocks:,} blocks for {ROWS:,} rows"
    sectors = WARP // lanes * max(1, lanes // _FLOATS)
    wasted = percent(1 - min(1, lanes / _FLOATS))
    floats = count(cols // lanes, "float")
    words = f"{floats} a thread; a load touches {sectors} sectors, {wasted} wasted."
    drawing = Drawing(_LOAD + _LOAD_HIGH, f"{title}. {words}")
    _draw_blocks(drawing, lanes, threads)
    _draw_load(drawing, lanes, cols)
    return frame(drawing, title, words)


def _draw_blocks(drawing: Drawing, lanes: int, threads: int) -> None:
    """The first warps with the block of each, and in a warp a box for the lanes of each row; block 0 is blue."""
    drawing.text(0, 12, "four warps: a box is the threads of one row", anchor="start", size=11)
    for warp in range(_WARPS):
        top, (block, later) = _BLOCKS + warp * _A_WARP, divmod(warp * WARP, threads)
        if not later:
            drawing.text(0, top + 12, f"block {block}", anchor="start", size=11)
        lefts = [_ROOM + first * _LANE for first in range(0, WARP, lanes)]
        boxes = [(left, top, lanes * _LANE - 1.5, _A_WARP - 3) for left in lefts]
        drawing.boxes(boxes, "plain" if block else "blue")
        if lanes >= _FLOATS:
            for group, left in enumerate(lefts):
                row = warp * WARP // lanes + group
                drawing.text(left + lanes * _LANE / 2, top + 12, f"row {row}", size=11)


def _draw_load(drawing: Drawing, lanes: int, cols: int) -> None:
    """A strip for each row of the first warp, cut into loads: the first one's floats, and what else its sectors hold."""
    high = min(_A_ROW, _LOAD_HIGH * lanes / WARP)
    tops = [_LOAD + row * high for row in range(WARP // lanes)]
    words = "the first warp's rows: a load (orange), and what comes with it (blue)"
    drawing.text(0, _LOAD - 7, words, anchor="start", size=9)
    drawing.text(0, _LOAD + 11, "row 0", anchor="start", size=11)

    def strips(tone: str, *cuts: int) -> None:
        boxes = [
            (_ROOM + first * _FLOAT, top, (last - first) * _FLOAT - 0.3, 0.8 * high)
            for first, last in pairwise(cuts)
            for top in tops
        ]
        drawing.boxes(boxes, tone, solid=tone != "plain")

    strips("plain", *range(0, cols + 1, lanes if lanes >= _FLOATS else cols))
    if lanes < _FLOATS:
        strips("blue", lanes, _FLOATS)
    strips("orange", 0, lanes)
