"""A block's warps between its barriers, as a picture: a row a warp, a column a stretch."""

from __future__ import annotations

from collections.abc import Mapping

from softmax_lib.engine.source import WARP, Source
from softmax_lib.engine.words import count
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.widgets.views import View
from softmax_lib.worklog.reductions import KINDS, Timeline, read_timeline
from softmax_lib.worklog.registry import resolve

_LEFT, _TOP, _LEGEND = 30, 16, 44
_TONES = dict(zip(KINDS, ("blue", "orange", "green"), strict=True))

Room = Mapping[tuple[int, int], tuple[float, float]]
"""Where the cell of a warp and a stretch begins: left and top."""


def timeline(
    kernel_or_source: str | Source, cols: int = 4096, block_size: int | None = None
) -> View:
    """Draw a block's warps between barriers, as one row of `cols` elements sends them there.

    Raises what `run` and `trace` raise.
    """
    return timeline_of(read_timeline(resolve(kernel_or_source), cols, block_size))


def timeline_of(found: Timeline) -> View:
    """The same of a timeline that is there already; a box is as wide as the share of lanes that take part."""
    warps, stretches = found.shape
    high = max(5, min(18, 220 // warps))
    pitch = (WIDTH - _LEFT) / stretches
    title = f"{found.kernel}: {warps} warps, {count(stretches - 1, 'barrier')}"
    drawing = Drawing(_TOP + warps * high + _LEGEND, f"{title}; {in_words(found)}")
    for stretch in range(0, stretches, 1 + stretches // 13):
        drawing.text(_LEFT + (stretch + 0.5) * pitch, _TOP - 4, str(stretch + 1), size=10)
    for warp in (0, warps - 1):
        middle = _TOP + (warp + 0.5) * high + 4
        drawing.text(_LEFT - 4, middle, f"w{warp}", anchor="end", size=10)
    cells = [(w, s) for w in range(warps) for s in range(stretches)]
    room = {(w, s): (_LEFT + s * pitch + 1, _TOP + w * high) for w, s in cells}
    drawing.boxes([(*room[cell], pitch - 2, high - 1) for cell in cells], "plain")
    _fill(drawing, found, room, (pitch - 2, high - 1))
    _draw_legend(drawing)
    return frame(drawing, title, in_words(found))


def _fill(drawing: Drawing, found: Timeline, room: Room, size: tuple[float, float]) -> None:
    """The kinds of work of a cell lie one under the other."""
    wide, high = size
    for kind, tone in _TONES.items():
        boxes = []
        for cell, (left, top) in room.items():
            there = [other for other in KINDS if found.lanes[other][cell]]
            if kind in there:
                part = high / len(there)
                share = found.lanes[kind][cell] / WARP
                boxes.append((left, top + there.index(kind) * part, wide * share, part))
        drawing.boxes(boxes, tone, solid=True)


def _draw_legend(drawing: Drawing) -> None:
    line = drawing.height - 8
    for left, (kind, tone) in zip((0, 125, 250), _TONES.items(), strict=True):
        drawing.boxes([(left + 1, line - 10, 12, 10)], tone, solid=True)
        drawing.text(left + 18, line, kind, anchor="start", size=12)
    words = "columns: between barriers; widths: lanes that take part"
    drawing.text(0, line - 18, words, anchor="start", size=11)


def in_words(found: Timeline) -> str:
    """How many warps do something in each stretch."""
    counts = ", ".join(map(str, found.working.tolist()))
    return f"From barrier to barrier {counts} warps do something; the others only wait."
