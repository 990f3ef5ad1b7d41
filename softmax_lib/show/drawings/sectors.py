"""Pictures of what a warp touches: its addresses over 32-byte sectors and 128-byte lines."""

from __future__ import annotations

from collections.abc import Set

from softmax_lib.engine.source import WARP
from softmax_lib.engine.words import count
from softmax_lib.engine.xrays.lines import SECTOR_BYTES
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.views import View
from softmax_lib.worklog.registry import resolve
from softmax_lib.worklog.requests import LINE_BYTES, Request, global_requests

Box = tuple[float, float, float, float]
"""Left, top, width and height."""

_TONES = {
    "orange": "asked for", "blue": "moves with it", "green": "came before", "plain": "stays",
}  # fmt: skip
_GAP = 6
_LEGEND = 24
_NARROWEST = 2

APART, TURNS = (1, 4, 8, 16, 32), (1, 2, 3, 4)
"""Floats from one lane's address to the next one's, and turns of the loop."""
MAP_LINES = 32
"""Cache lines that loads of a warp touch at most, with 32 floats from lane to lane."""
_ABREAST, _PITCH = 4, 23


def coalescing() -> Explorer:
    """Sliders over the floats from lane to lane and the turns of a loop: what a warp's loads touch of 4 KiB.

    Lanes side by side are those of `shared`; others are those of `chunked`, whose threads take as many columns each.
    """
    found = {apart: _turns(apart) for apart in APART}

    def show(apart: int, turn: int) -> View:
        before = (request.sectors for request in found[apart][: turn - 1])
        return map_frame(found[apart][turn - 1], turn, frozenset().union(*before))

    shown = explorer(
        {"lanes apart (floats)": APART, "turn of the loop": TURNS},
        show,
        start=(APART[-1], TURNS[0]),
    )
    shown.add_class("worklog-two-columns")
    return shown


def _turns(apart: int) -> list[Request]:
    """The first loads of a warp that shares a row, with so many floats from lane to lane."""
    name = "shared" if apart == 1 else "chunked"
    return global_requests(resolve(name), 1, WARP * max(apart, len(TURNS)), WARP)[: len(TURNS)]


def map_frame(request: Request, turn: int, known: Set[int] = frozenset()) -> View:
    """One request on all of the memory that such loads may touch, and what of it L1 looks up and has to fetch."""
    sectors, lines = len(request.sectors), len(request.lines)
    title = f"Turn {turn}: {count(sectors, 'sector')} on {count(lines, 'line')}"
    new = SECTOR_BYTES * len(set(request.sectors) - known)
    words = f"{request.asked_bytes} bytes asked for, {request.moved_bytes:,} looked up, {new:,} fetched."
    return frame(_draw_map(request, known, f"{title}. {words}"), title, words)


def _draw_map(request: Request, known: Set[int], words: str) -> Drawing:
    drawing = Drawing(MAP_LINES // _ABREAST * _PITCH + _LEGEND - 6, words)
    wide = (WIDTH + _GAP) / _ABREAST
    boxes: dict[str, list[Box]] = {tone: [] for tone in _TONES}
    for line in range(MAP_LINES):
        down, across = divmod(line, _ABREAST)
        room = (across * wide, down * _PITCH + 1, wide - _GAP, _PITCH - 7)
        for tone, added in _sector_boxes(request, line, room, known).items():
            boxes[tone] += added
    for tone in reversed(_TONES):
        drawing.boxes(boxes[tone], tone, solid=tone == "orange")
    _draw_legend(drawing, drawing.height - 6)
    return drawing


def _sector_boxes(request: Request, line: int, room: Box, known: Set[int]) -> dict[str, list[Box]]:
    """The line's sectors that stay (plain), move (blue) or came before (green); bytes asked for (orange)."""
    left, top, width, height = room
    boxes: dict[str, list[Box]] = {tone: [] for tone in _TONES}
    sectors = LINE_BYTES // SECTOR_BYTES
    for place in range(sectors):
        sector = line * sectors + place
        moves = "green" if sector in known else "blue"
        tone = moves if sector in request.sectors else "plain"
        wide = width / sectors
        boxes[tone].append((left + wide * place + 1, top, wide - 2, height))
    a_byte = width / LINE_BYTES
    asked = max(request.size * a_byte - 1.5, _NARROWEST)
    for offset in sorted(_offsets(request, line).values()):
        boxes["orange"].append((left + offset * a_byte + 1, top + 3, asked, height - 6))
    return boxes


def _draw_legend(drawing: Drawing, line: float) -> None:
    for left, (tone, words) in zip((0, 78, 180, 276), _TONES.items(), strict=True):
        drawing.boxes([(left + 1, line - 10, 14, 10)], tone, solid=tone == "orange")
        drawing.text(left + 22, line, words, anchor="start", size=11)


def _offsets(request: Request, line: int) -> dict[int, int]:
    start = line * LINE_BYTES
    return {
        lane: address - start
        for lane, address in request.addresses.items()
        if start <= address < start + LINE_BYTES
    }
