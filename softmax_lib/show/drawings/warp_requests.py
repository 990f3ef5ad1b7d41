"""What a warp asks of memory: addresses over sectors and lines, over rows and banks, and rows cut at every 16 bytes."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING, NamedTuple

from softmax_lib import widgets
from softmax_lib.engine.source import WARP, Source
from softmax_lib.engine.words import count, plural
from softmax_lib.engine.xrays.lines import SECTOR_BYTES
from softmax_lib.show.drawings.drawing import WIDTH, Box, Drawing, frame, sliders
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.registry import resolve
from softmax_lib.worklog.requests import (
    BANKS,
    LINE_BYTES,
    WORD_BYTES,
    Request,
    Wavefront,
    global_requests,
    shared_requests,
)

if TYPE_CHECKING:
    from softmax_lib.widgets.boxes import Shown

# ---- a warp's loads on all of the memory that they may touch

APART, LOADS = (1, 4, 8, 16, 32), (1, 2, 3, 4)
"""Floats from one lane's address to the next one's, and turns of the loop."""

_MAP_LINES = 32
"""Cache lines that loads of a warp touch at most, with 32 floats from lane to lane."""
_ABREAST, _PITCH, _GAP = 4, 23, 6
_NARROWEST = 2
_TONES = {
    "orange": "asked for", "blue": "moves with it", "green": "came before", "plain": "stays",
}  # fmt: skip


def coalescing() -> widgets.Explorer:
    """Sliders over the floats from lane to lane and the turns of a loop: what a warp's loads touch of 4 KiB.

    Lanes side by side are those of `shared`; others are those of `chunked`, whose threads take as many columns each.
    """
    found = {apart: _loads(apart) for apart in APART}

    def show(apart: int, turn: int) -> View:
        before = (request.sectors for request in found[apart][: turn - 1])
        return _map(found[apart][turn - 1], turn, frozenset().union(*before))

    axes = {"lanes apart (floats)": APART, "turn of the loop": LOADS}
    return sliders(axes, show, (APART[-1], LOADS[0]))


def _loads(apart: int) -> list[Request]:
    """The first loads of a warp that shares a row, with so many floats from lane to lane."""
    name = "shared" if apart == 1 else "chunked"
    return global_requests(resolve(name), 1, WARP * max(apart, len(LOADS)), WARP)[: len(LOADS)]


def _map(request: Request, turn: int, known: Set[int]) -> View:
    """One request, and what of it L1 looks up and has to fetch."""
    title = f"Turn {turn}: {_touched(len(request.sectors), len(request.lines))}"
    new = SECTOR_BYTES * len(set(request.sectors) - known)
    words = f"{request.asked_bytes} bytes asked for, {request.moved_bytes:,} looked up, {new:,} fetched."
    drawing = Drawing(_MAP_LINES // _ABREAST * _PITCH + 18, f"{title}. {words}")
    boxes: dict[str, list[Box]] = {tone: [] for tone in _TONES}
    for line in range(_MAP_LINES):
        _add_line(boxes, request, line, known)
    for tone in reversed(_TONES):
        drawing.boxes(boxes[tone], tone, solid=tone == "orange")
    for left, (tone, told) in zip((1, 79, 181, 277), _TONES.items(), strict=True):
        is_solid, below = tone == "orange", drawing.height - 6
        drawing.key(left, below, tone, told, solid=is_solid, swatch=(14, 10, 7), size=11)
    return frame(drawing, title, words)


def _touched(sectors: int, lines: int) -> str:
    return f"{count(sectors, 'sector')} on {count(lines, 'line')}"


def _add_line(boxes: dict[str, list[Box]], request: Request, line: int, known: Set[int]) -> None:
    """The line's sectors that stay (plain), move (blue) or came before (green); bytes asked for (orange)."""
    down, across = divmod(line, _ABREAST)
    wide, height = (WIDTH + _GAP) / _ABREAST, _PITCH - 7
    left, top, width = across * wide, down * _PITCH + 1, wide - _GAP
    sectors = LINE_BYTES // SECTOR_BYTES
    for place in range(sectors):
        sector = line * sectors + place
        moves = "green" if sector in known else "blue"
        tone = moves if sector in request.sectors else "plain"
        boxes[tone].append((left + width / sectors * place + 1, top, width / sectors - 2, height))
    a_byte = width / LINE_BYTES
    asked = max(request.size * a_byte - 1.5, _NARROWEST)
    offsets = (address - line * LINE_BYTES for address in request.addresses.values())
    for offset in sorted(offset for offset in offsets if 0 <= offset < LINE_BYTES):
        boxes["orange"].append((left + offset * a_byte + 1, top + 3, asked, height - 6))


# ---- lanes over a small matrix, turn by turn: a row each, or a column each

ROW, COLUMN = "its row", "its column"
TURNS = 10
"""By the ninth, lanes that go along their rows are in their second sector."""

_IN_SECTOR = SECTOR_BYTES // 4
_SECTORS = WARP // _IN_SECTOR
_LEFT, _TOP, _HIGH = 38, 14, 5.5
_SECTOR_WIDE = _IN_SECTOR * (WIDTH - _LEFT - 2) / WARP
_LEGEND = {"orange": "asked for now", "blue": "moves with it", "green": "came before"}


def rows_or_columns() -> widgets.Explorer:
    """Sliders over what each lane of a warp reads of a 32 × 32 matrix, its row or its column, and the loop's turn.

    The picture has the sectors that this turn touches, and what the turns before it have brought.
    """
    axes = {"each lane reads": (ROW, COLUMN), "turn of the loop": range(1, TURNS + 1)}
    return sliders(axes, _small_matrix)


def elements(reads: str, turn: int) -> list[tuple[int, int]]:
    """Row and column of what each lane reads, in turns that count from 1."""
    return [(lane, turn - 1) if reads == ROW else (turn - 1, lane) for lane in range(WARP)]


def sectors(reads: str, turn: int) -> set[tuple[int, int]]:
    """Row, and place in it, of each sector that a turn touches."""
    return {(row, col // _IN_SECTOR) for row, col in elements(reads, turn)}


def _small_matrix(reads: str, turn: int) -> View:
    asked, now = elements(reads, turn), sectors(reads, turn)
    looked_up = [sectors(reads, before) for before in range(1, turn + 1)]
    known = set().union(*looked_up[:-1])
    lines = len({row for row, _ in now})  # a row of 32 floats is a line of 128 bytes
    title = f"Turn {turn}: {_touched(len(now), lines)}"
    words = f"Sectors so far: L1 {sum(map(len, looked_up))}, memory {len(known | now)}."
    drawing = Drawing(_TOP + WARP * _HIGH + 22, f"{title}. {words}")
    for at in range(_SECTORS):
        left = _LEFT + at * _SECTOR_WIDE
        drawing.text(left, _TOP - 4, f"column {_IN_SECTOR * at}", size=9)
    for at in range(0, WARP, _IN_SECTOR):
        drawing.text(_LEFT - 4, _TOP + at * _HIGH + 6, f"row {at}", anchor="end", size=9)
    rest = {(row, at) for row in range(WARP) for at in range(_SECTORS)} - now - known
    for tone, places in (("plain", rest), ("green", known), ("blue", now - known)):
        drawing.boxes([_sector(*one) for one in sorted(places)], tone)
    drawing.boxes([_float(*one) for one in asked], "orange", solid=True)
    for (tone, told), left in zip(_LEGEND.items(), (_LEFT, 142, 244), strict=True):
        drawing.boxes([(left + 1, drawing.height - 13, 14, 9)], tone, solid=tone == "orange")
        drawing.text(left + 20, drawing.height - 5, told, size=11)
    return frame(drawing, title, words)


def _sector(row: int, at: int) -> Box:
    return (_LEFT + at * _SECTOR_WIDE + 1, _TOP + row * _HIGH, _SECTOR_WIDE - 2, _HIGH - 1.5)


def _float(row: int, col: int) -> Box:
    left, top, wide, high = _sector(row, col // _IN_SECTOR)
    within = wide / _IN_SECTOR
    return (left + col % _IN_SECTOR * within, top, within - 0.5, high)


# ---- wavefronts of a request over the 32 banks

MOST_REQUESTS = 8
"""Frames of a stepper: by then a reader has seen how the warp moves on."""

_BANKS_TOP, _WAVE = 14, 12


def banks(
    kernel_or_source: str | Source, cols: int, block_size: int | None = None, access: int = 0
) -> Shown:
    """Step through a warp's first requests of shared memory at one line: which banks serve which lanes.

    `access` says which line of those that touch shared memory, counted from 0. One row of `cols`
    elements runs in the emulator. Raises what `run` and `trace` raise, and `BadInput` for an access
    that is not there.
    """
    found = shared_requests(resolve(kernel_or_source), cols, block_size, access)
    return widgets.stepper([bank_frame(one) for one in found[:MOST_REQUESTS]], label="request")


def bank_frame(request: Request) -> View:
    """One request: a row of 32 banks for each wavefront, with the banks that serve somebody filled."""
    waves, lanes = request.wavefronts, len(request.addresses)
    title = f"Request {request.number}: {count(len(waves), 'wavefront')} for {count(lanes, 'lane')}"
    pitch = WIDTH / BANKS
    drawing = Drawing(_BANKS_TOP + len(waves) * _WAVE + 42, f"{title}, bank by bank")
    for bank in (0, 8, 16, 24, 31):
        drawing.text((bank + 0.5) * pitch, _BANKS_TOP - 4, str(bank), anchor="middle", size=10)
    for is_busy in (False, True):
        boxes = [
            (bank * pitch + 0.5, _BANKS_TOP + down * _WAVE, pitch - 1, _WAVE - 2)
            for down, wave in enumerate(waves)
            for bank in range(BANKS)
            if (bank in wave) == is_busy
        ]
        drawing.boxes(boxes, "orange" if is_busy else "plain", solid=is_busy)
    line, swatch = drawing.height - 8, (14, 10, 7)
    drawing.key(1, line, "orange", "serves a word", swatch=swatch)
    drawing.key(130, line, "plain", "idle; a row is a wavefront", solid=False, swatch=swatch)
    return frame(drawing, title, _conflicts(request, waves))


def _conflicts(request: Request, waves: list[Wavefront]) -> str:
    words = f"Line {request.source_line}, {request.array}: "
    words += f"the first wavefront uses {len(waves[0])} of {BANKS} banks"
    shared = max(len(lanes) for wave in waves for lanes in wave.values())
    if shared > 1:
        words += f", and one word goes to {shared} lanes at once"
    least = -(-len(request.addresses) * request.size // (BANKS * WORD_BYTES))
    if (more := len(waves) - least) > 0:
        words += f"; {count(more, 'wavefront')} {plural(more, 'is', 'are')} there only for bank conflicts"
    return words + "."


# ---- rows of a matrix in memory, cut at every 16 bytes

VECTOR = 4
"""Floats of a load of 16 bytes."""

_ROW_LEFT, _ROW_TOP, _ROW_HIGH = 44, 8, 34
_MOST_COLS, _MOST_ROWS = 16, 8


class Parts(NamedTuple):
    """Floats of a row before its first boundary of 16 bytes, whole vectors, and floats behind the last of them."""

    start: int
    head: int
    vectors: int
    tail: int


def parts_of(row: int, cols: int) -> Parts:
    """How a row of `cols` floats divides, in a matrix that begins at a boundary; as the kernel `float4` has it."""
    start = row * cols % VECTOR
    head = min(-start % VECTOR, cols)
    vectors = (cols - head) // VECTOR
    return Parts(start, head, vectors, cols - head - VECTOR * vectors)


def row_starts(cols: int = 11, rows: int = 4) -> View:
    """Draw the first rows of a matrix with `cols` columns, up to 8 of 16, on the places where 16 bytes begin.

    Blue are floats that loads of 16 bytes bring, orange those at the ends. Raises `BadInput` for more, or for none.
    """
    if not (1 <= cols <= _MOST_COLS and 1 <= rows <= _MOST_ROWS):
        raise BadInput(f"This picture has room for {_MOST_ROWS} rows of {_MOST_COLS} floats.")
    told = "; ".join(_divided(row, parts_of(row, cols)) for row in range(rows))
    drawing = Drawing(_ROW_TOP + rows * _ROW_HIGH + 22, f"Rows cut at every 16 bytes; {told}")
    pitch = (WIDTH - _ROW_LEFT - 2) / (cols + VECTOR - 1)
    for row in range(rows):
        top, parts = _ROW_TOP + row * _ROW_HIGH, parts_of(row, cols)
        drawing.text(_ROW_LEFT - 6, top + 18, f"row {row}", anchor="end")
        for col in range(cols):
            left = _ROW_LEFT + (parts.start + col) * pitch + 1
            tone = "blue" if 0 <= col - parts.head < VECTOR * parts.vectors else "orange"
            drawing.box((left, top, pitch - 2, 26), str(col), tone=tone)
    for boundary in range(0, cols + VECTOR, VECTOR):
        x = _ROW_LEFT + boundary * pitch
        drawing.line([(x, _ROW_TOP - 4), (x, _ROW_TOP + rows * _ROW_HIGH)], dashed=True)
    legend = "dashed: every 16 bytes; orange: single floats"
    drawing.text(_ROW_LEFT, drawing.height - 6, legend)
    return frame(drawing, f"{count(rows, 'row')} of {count(cols, 'float')}")


def _divided(row: int, parts: Parts) -> str:
    beside = ((parts.head, "before"), (parts.tail, "after"))
    ends = " and ".join(f"{count(floats, 'float')} {where}" for floats, where in beside if floats)
    return f"row {row}: {count(parts.vectors, 'vector')}{f' with {ends}' if ends else ''}"
