"""What the lanes of a warp read of a small matrix, turn by turn: a row each, or a column each, and the sectors of it."""

from __future__ import annotations

from softmax_lib.engine.source import WARP
from softmax_lib.engine.words import count
from softmax_lib.engine.xrays.lines import SECTOR_BYTES
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.views import View

ROW, COLUMN = "its row", "its column"
TURNS = 10
"""By the ninth, lanes that go along their rows are in their second sector."""

_FLOAT_BYTES = 4
_IN_SECTOR = SECTOR_BYTES // _FLOAT_BYTES
_SECTORS = WARP // _IN_SECTOR
_LEFT, _TOP, _HIGH = 38, 14, 5.5
_WIDE = (WIDTH - _LEFT - 2) / WARP
_LEGEND = {"orange": "asked for now", "blue": "moves with it", "green": "came before"}


def rows_or_columns() -> Explorer:
    """Sliders over what each lane of a warp reads of a 32 × 32 matrix, its row or its column, and the loop's turn.

    The picture has the sectors that this turn touches, and what the turns before it have brought.
    """
    shown = explorer(
        {"each lane reads": (ROW, COLUMN), "turn of the loop": range(1, TURNS + 1)}, _show
    )
    shown.add_class("worklog-two-columns")
    return shown


def elements(reads: str, turn: int) -> list[tuple[int, int]]:
    """Row and column of what each lane reads, in turns that count from 1."""
    return [(lane, turn - 1) if reads == ROW else (turn - 1, lane) for lane in range(WARP)]


def sectors(reads: str, turn: int) -> set[tuple[int, int]]:
    """Row, and place in it, of each sector that a turn touches."""
    return {(row, col // _IN_SECTOR) for row, col in elements(reads, turn)}


def _show(reads: str, turn: int) -> View:
    asked, now = elements(reads, turn), sectors(reads, turn)
    looked_up = [sectors(reads, before) for before in range(1, turn + 1)]
    known = set().union(*looked_up[:-1])
    lines = len({row for row, _ in now})  # a row of 32 floats is a line of 128 bytes
    title = f"Turn {turn}: {len(now)} sectors on {count(lines, 'line')}"
    words = f"Sectors so far: L1 {sum(map(len, looked_up))}, memory {len(known | now)}."
    drawing = Drawing(_TOP + WARP * _HIGH + 22, f"{title}. {words}")
    _draw_places(drawing)
    rest = {(row, at) for row in range(WARP) for at in range(_SECTORS)} - now - known
    drawing.boxes([_sector(*one) for one in sorted(rest)], "plain")
    drawing.boxes([_sector(*one) for one in sorted(known)], "green")
    drawing.boxes([_sector(*one) for one in sorted(now - known)], "blue")
    drawing.boxes([_float(*one) for one in asked], "orange", solid=True)
    _draw_legend(drawing)
    return frame(drawing, title, words)


def _draw_places(drawing: Drawing) -> None:
    for col in range(0, WARP, _IN_SECTOR):
        drawing.text(_LEFT + col * _WIDE, _TOP - 4, f"column {col}", anchor="start", size=9)
    for row in range(0, WARP, _IN_SECTOR):
        drawing.text(_LEFT - 4, _TOP + row * _HIGH + 6, f"row {row}", anchor="end", size=9)


def _sector(row: int, at: int) -> tuple[float, float, float, float]:
    wide = _IN_SECTOR * _WIDE
    return (_LEFT + at * wide + 1, _TOP + row * _HIGH, wide - 2, _HIGH - 1.5)


def _float(row: int, col: int) -> tuple[float, float, float, float]:
    within = (_IN_SECTOR * _WIDE - 2) / _IN_SECTOR
    at, place = divmod(col, _IN_SECTOR)
    left = _sector(row, at)[0] + place * within
    return (left, _TOP + row * _HIGH, within - 0.5, _HIGH - 1.5)


def _draw_legend(drawing: Drawing) -> None:
    for (tone, told), left in zip(_LEGEND.items(), (_LEFT, 142, 244), strict=True):
        drawing.boxes([(left + 1, drawing.height - 13, 14, 9)], tone, solid=tone == "orange")
        drawing.text(left + 20, drawing.height - 5, told, anchor="start", size=11)
