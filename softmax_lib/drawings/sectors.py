"""Pictures of what a warp touches: its addresses over 32-byte sectors and 128-byte lines."""

from __future__ import annotations

from collections.abc import Sequence, Set

from softmax_lib.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.registry import resolve
from softmax_lib.source import WARP, Source
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.stepping import Shown, stepper
from softmax_lib.widgets.views import View
from softmax_lib.words import count
from softmax_lib.xrays.prediction import SECTOR_BYTES
from softmax_lib.xrays.requests import LINE_BYTES, Request, global_requests

MOST_REQUESTS = 8
"""Frames of a stepper: by then a reader has seen how the warp moves on."""

Box = tuple[float, float, float, float]
"""Left, top, width and height."""

_TONES = {
    "orange": "asked for", "blue": "moves with it", "green": "came before", "plain": "stays",
}  # fmt: skip
_WIDE_LINES = 4
_LABEL, _SMALL, _GAP = 14, 11, 6
_LEGEND = 24
_NARROWEST = 2

APART, TURNS = (1, 4, 8, 16, 32), (1, 2, 3, 4)
"""Floats from one lane's address to the next one's, and turns of the loop."""
MAP_LINES = 32
"""Cache lines that loads of a warp touch at most, with 32 floats from lane to lane."""
_ABREAST, _PITCH = 4, 23


def requests(
    kernel_or_source: str | Source,
    rows: int,
    cols: int,
    block_size: int | None = None,
    load: int = 0,
) -> Shown:
    """Step through a warp's first load requests: the sectors each of them touches, from the trace.

    Sectors that a request before it has brought stand out: L1 may have them still.
    `load` says which load of the kernel, counted as they stand in its source. The first block runs
    in the emulator on (rows, cols) elements. Raises `UnknownKernel` and what `run` raises, and
    `BadInput` for a load that is not there.
    """
    found = global_requests(resolve(kernel_or_source), rows, cols, block_size, load)
    frames, known = [], frozenset[int]()
    for request in found[:MOST_REQUESTS]:
        frames.append(request_frame(request, known))
        known |= set(request.sectors)
    return stepper(frames, label="request")


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
    _draw_legend(drawing, drawing.height - 6, list(_TONES))
    return drawing


def request_frame(request: Request, known: Set[int] = frozenset()) -> View:
    """One request: each line that it touches, its sectors, and what the lanes ask for in them.

    `known` are the numbers of sectors that requests before it have brought.
    """
    return frame(draw_request(request, known), title(request), in_words(request, known))


def title(request: Request) -> str:
    """Such as "Request 1 of 128: 4 sectors for 32 lanes"."""
    return (
        f"Request {request.number} of {request.count}: {count(len(request.sectors), 'sector')} "
        f"for {count(len(request.addresses), 'lane')}"
    )


def in_words(request: Request, known: Set[int] = frozenset()) -> str:
    """What is asked for, what moves, how much of that is of use, and how much came before."""
    asked, moved = request.asked_bytes, request.moved_bytes
    of_use = "all of them asked for" if asked == moved else f"{asked / moved:.1%} of them asked for"
    old = len(known & set(request.sectors))
    hits = f" {_hits(old, len(request.sectors))}" if old else ""
    verb = "are looked up" if old else "move"
    return (
        f"The lanes ask for {asked} bytes, {request.size} each. They lie in "
        f"{count(len(request.sectors), 'sector')} on {count(len(request.lines), 'line')}: "
        f"{moved} bytes {verb}, {of_use}.{hits}"
    )


def _hits(old: int, all_of_them: int) -> str:
    which = "All of these sectors" if old == all_of_them else f"{old} of these sectors"
    return f"{which} came with a request before: if L1 has them still, memory is not asked."


def draw_request(request: Request, known: Set[int] = frozenset()) -> Drawing:
    """The lines that a request touches: up to 4 one under the other, more of them four abreast."""
    columns = 1 if len(request.lines) <= _WIDE_LINES else _WIDE_LINES
    width = (WIDTH - _GAP * (columns - 1)) // columns // 4 * 4  # whole numbers take fewer bytes
    high = 22 if columns == 1 else 14
    row = _LABEL + high + _GAP
    height = -(-len(request.lines) // columns) * row + _LEGEND
    drawing = Drawing(height, f"{title(request)}, line by line")
    boxes: dict[str, list[Box]] = {tone: [] for tone in _TONES}
    for place, line in enumerate(request.lines):
        down, across = divmod(place, columns)
        left, top = across * (width + _GAP), down * row
        label = _lanes(request, line)
        if columns == 1:
            label = f"bytes {line * LINE_BYTES} to {(line + 1) * LINE_BYTES - 1}: {label}"
        drawing.text(left, top + _LABEL - 3, label, anchor="start", size=_SMALL)
        room = (left, top + _LABEL, width, high)
        for tone, added in _sector_boxes(request, line, room, known).items():
            boxes[tone] += added
    for tone in reversed(_TONES):  # what is asked for goes on top
        drawing.boxes(boxes[tone], tone, solid=tone == "orange")
    _draw_legend(drawing, height - 6, [tone for tone in _TONES if boxes[tone]])
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


def _draw_legend(drawing: Drawing, line: float, tones: Sequence[str]) -> None:
    places, size = ((0, 104, 230), 12) if len(tones) < 4 else ((0, 78, 180, 276), 11)
    for left, tone in zip(places, tones, strict=False):
        drawing.boxes([(left + 1, line - 10, 14, 10)], tone, solid=tone == "orange")
        drawing.text(left + 22, line, _TONES[tone], anchor="start", size=size)


def _offsets(request: Request, line: int) -> dict[int, int]:
    start = line * LINE_BYTES
    return {
        lane: address - start
        for lane, address in request.addresses.items()
        if start <= address < start + LINE_BYTES
    }


def _lanes(request: Request, line: int) -> str:
    lanes: Sequence[int] = sorted(_offsets(request, line))
    if len(lanes) <= 1:
        return f"lane {lanes[0]}" if lanes else ""
    if len(lanes) == WARP:
        return "all lanes"
    return f"lanes {lanes[0]} to {lanes[-1]}"
