"""Rows of a matrix in memory, cut at every 16 bytes: what of each row fits loads of 16 bytes, and what does not."""

from __future__ import annotations

from dataclasses import dataclass

from softmax_lib.engine.words import count
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput

VECTOR = 4
"""Floats of a load of 16 bytes."""

_LEFT, _TOP, _HIGH, _BOX = 44, 8, 34, 26
_MOST_COLS, _MOST_ROWS = 16, 8


@dataclass(frozen=True)
class Parts:
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
    told = "; ".join(_in_words(row, parts_of(row, cols)) for row in range(rows))
    drawing = Drawing(_TOP + rows * _HIGH + 22, f"Rows cut at every 16 bytes; {told}")
    pitch = (WIDTH - _LEFT - 2) / (cols + VECTOR - 1)
    for row in range(rows):
        _draw_row(drawing, row, parts_of(row, cols), pitch)
    for boundary in range(0, cols + VECTOR, VECTOR):
        x = _LEFT + boundary * pitch
        drawing.line([(x, _TOP - 4), (x, _TOP + rows * _HIGH)], dashed=True)
    drawing.text(
        _LEFT,
        drawing.height - 6,
        "dashed: every 16 bytes; orange: single floats",
        anchor="start",
        size=12,
    )
    return frame(drawing, f"{count(rows, 'row')} of {count(cols, 'float')}")


def _draw_row(drawing: Drawing, row: int, parts: Parts, pitch: float) -> None:
    top = _TOP + row * _HIGH
    drawing.text(_LEFT - 6, top + 18, f"row {row}", anchor="end", size=12)
    body = range(parts.head, parts.head + VECTOR * parts.vectors)
    for col in range(parts.head + VECTOR * parts.vectors + parts.tail):
        left = _LEFT + (parts.start + col) * pitch + 1
        tone = "blue" if col in body else "orange"
        drawing.box(left, top, pitch - 2, _BOX, str(col), tone=tone)


def _in_words(row: int, parts: Parts) -> str:
    ends = [
        f"{count(n, 'float')} {where}"
        for n, where in ((parts.head, "before"), (parts.tail, "after"))
        if n
    ]
    beside = f" with {' and '.join(ends)}" if ends else ""
    return f"row {row}: {count(parts.vectors, 'vector')}{beside}"
