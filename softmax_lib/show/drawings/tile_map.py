"""A tile of a power of two over a row, what of it is masked, and what one thread of its warps loads."""

from __future__ import annotations

from softmax_lib.engine.words import count, percent
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.views import View
from softmax_lib.worklog.tiles.compiling import DIVISOR
from softmax_lib.worklog.tiles.programs import WARP_COUNTS, Setting, settle

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
    masked = percent(1 - cols / setting.tile)
    title = f"{cols:,} columns: a tile of {setting.tile:,}, {masked} of it masked"
    words = f"Each of {32 * warps:,} threads: {count(values, 'value')}, {loads}."
    drawing = Drawing(_VALUES + 34, f"{title}. {words}")
    _draw_tile(drawing, cols, setting.tile)
    starts = range(0, setting.tile, 32 * warps * width)
    marks = [(_x(at), _TILE + 3, max(2, _x(width)), _HIGH - 6) for at in starts]
    drawing.boxes(marks, "orange", solid=True)
    drawing.text(0, _VALUES - 10, "what one thread (orange) loads", anchor="start", size=10)
    _draw_values(drawing, [at + i < cols for at in starts for i in range(width)], width)
    return frame(drawing, title, words)


def _draw_tile(drawing: Drawing, cols: int, size: int) -> None:
    drawing.text(0, _ROW - 4, "the row", anchor="start", size=10)
    drawing.boxes([(0, _ROW, _x(cols), 16)], "blue")
    drawing.text(0, _TILE - 8, "the tile", anchor="start", size=10)
    drawing.box(0, _TILE, _x(size), _HIGH, faint=True)
    drawing.boxes([(0, _TILE, _x(cols), _HIGH)], "blue")
    if size - cols > _WIDEST // 4:
        drawing.text(_x((cols + size) / 2), _TILE - 8, "masked", size=10)


def _draw_values(drawing: Drawing, inside: list[bool], width: int) -> None:
    """The values of a thread, those of one load in one frame; one that is masked is hollow."""
    at = [(i % _A_LINE * _PITCH, _VALUES + i // _A_LINE * 18) for i in range(len(inside))]
    full = [place for place, is_read in zip(at, inside, strict=True) if is_read]
    drawing.boxes([(x + 2, y + 2, _PITCH - 5, 10) for x, y in full], "orange", solid=True)
    drawing.boxes([(x, y, width * _PITCH - 1, 14) for x, y in at[::width]], "orange")


def _x(col: float) -> float:
    return WIDTH * col / _WIDEST
