"""A tile of a power of two over a row, what of it is masked, and what one thread of its warps loads."""

from __future__ import annotations

from softmax_lib.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.tiles.compiling import DIVISOR
from softmax_lib.tiles.settings import WARP_COUNTS, Setting, settle
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.views import View
from softmax_lib.words import count

COLUMNS = (1000, 1008, 1024, 1025, 2048)
_WIDEST, _FLOAT_BYTES, _VECTOR = 2048, 4, 4
_ROW, _TILE, _HIGH, _VALUES = 16, 62, 26, 122
_A_LINE, _PITCH = 32, WIDTH / 32


def tile() -> Explorer:
    """Sliders over the columns of a row and the warps of its program, in Triton, float32; they start at 1,024 and 4."""
    shown = explorer({"columns": COLUMNS, "warps": WARP_COUNTS}, _show, start=(1024, 4))
    shown.add_class("worklog-two-columns")
    return shown


def floats_a_load(cols: int, setting: Setting) -> int:
    """How many floats Triton's compiler reads with one load: 4 at most, and 1 where it may not take a row to be aligned."""
    return min(_VECTOR, int(setting.values_a_thread)) if cols % DIVISOR == 0 else 1


def _show(cols: int, warps: int) -> View:
    setting = settle(cols, num_warps=warps)
    width, values = floats_a_load(cols, setting), int(setting.values_a_thread)
    loads = f"{count(values // width, 'load')} of {_FLOAT_BYTES * width} bytes"
    title = f"{cols:,} columns: a tile of {setting.tile:,}, {1 - cols / setting.tile:.0%} masked"
    words = f"Each of {32 * warps:,} threads: {count(values, 'value')}, {loads}."
    drawing = Drawing(_VALUES + 34, f"{title}. {words}")
    _draw_tile(drawing, cols, setting.tile)
    starts = range(0, setting.tile, 32 * warps * width)
    marks = [(_x(at), _TILE + 3, max(2, _x(width)), _HIGH - 6) for at in starts]
    drawing.boxes(marks, "orange", solid=True)
    drawing.text(0, _VALUES - 10, f"one thread (orange): {loads}", anchor="start", size=12)
    _draw_values(drawing, values, width)
    return frame(drawing, title, words)


def _draw_tile(drawing: Drawing, cols: int, size: int) -> None:
    drawing.text(0, _ROW - 4, "the row", anchor="start", size=12)
    drawing.boxes([(0, _ROW, _x(cols), 16)], "blue")
    drawing.text(0, _TILE - 8, "the tile", anchor="start", size=12)
    drawing.box(0, _TILE, _x(size), _HIGH, faint=True)
    drawing.boxes([(0, _TILE, _x(cols), _HIGH)], "blue")
    if size - cols > _WIDEST // 4:
        drawing.text(_x((cols + size) / 2), _TILE - 8, "masked", size=12)


def _draw_values(drawing: Drawing, values: int, width: int) -> None:
    """The values of a thread, those of one load side by side."""
    at = [(i % _A_LINE * _PITCH, _VALUES + i // _A_LINE * 17) for i in range(0, values, width)]
    drawing.boxes([(x + 0.5, y, width * _PITCH - 2, 13) for x, y in at], "orange")


def _x(col: float) -> float:
    return WIDTH * col / _WIDEST
