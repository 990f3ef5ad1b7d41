"""Which threads take what: elements by index, rows by lanes, a tile by the threads of its warps, and what waits meanwhile."""

from __future__ import annotations

from itertools import pairwise

from softmax_lib import widgets
from softmax_lib.engine.source import WARP, Source
from softmax_lib.engine.words import count, percent
from softmax_lib.engine.xrays.lines import SECTOR_BYTES
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame, places, sliders
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.reductions import KINDS, read_timeline
from softmax_lib.worklog.registry import hopper, kernels, resolve
from softmax_lib.worklog.tiles.compiling import DIVISOR
from softmax_lib.worklog.tiles.programs import WARP_COUNTS, settle

# ---- elements by index

_BLOCK_TONES = ("blue", "orange", "green")
_BOX, _THREADS_TOP = 22, 34
_MOST = 16


def indices(elements: int, block_size: int) -> View:
    """Draw a launch that gives each of `elements` elements one thread, in blocks of `block_size` threads.

    Up to 16 threads. Raises `BadInput` for more, or for none.
    """
    if min(elements, block_size) < 1:
        raise BadInput("This picture needs at least one element, and one thread per block.")
    blocks = -(-elements // block_size)
    threads = blocks * block_size
    if threads > _MOST:
        raise BadInput(f"This picture has room for {_MOST} threads, and not for {threads}.")
    words = "Threads above, the elements that they take below"
    drawing = Drawing(_THREADS_TOP + 2 * _BOX + 54, words)
    pitch, below = WIDTH / _MOST, _THREADS_TOP + _BOX + 36
    for i in range(threads):
        block, thread = divmod(i, block_size)
        tone, left, middle = _BLOCK_TONES[block % 3], i * pitch + 1, (i + 0.5) * pitch
        above = (left, _THREADS_TOP, pitch - 2, _BOX)
        drawing.box(above, str(thread), tone=tone, faint=i >= elements)
        if i < elements:
            drawing.arrow((middle, _THREADS_TOP + _BOX + 2), (middle, below - 2), tone=tone)
            drawing.box((left, below, pitch - 2, _BOX), str(i))
    for block in range(blocks):
        middle = (block + 0.5) * block_size * pitch
        name = f"block {block}" if block_size > 2 else f"b{block}"
        drawing.text(middle, 14, name, anchor="middle")
    title = f"{count(blocks, 'block')} of {count(block_size, 'thread')}, {elements} elements"
    last = f"{elements - 1} = {blocks - 1} × {block_size} + {(elements - 1) % block_size}"
    idle = "No thread is to spare."
    if spare := threads - elements:
        idle = f"{count(spare, 'thread')} at the end find no element."
    told = f"The last element is {last}, block times size plus thread. {idle}"
    return frame(drawing, title, told)


# ---- rows by lanes

ROWS = 131072
LANES, THREADS, COLUMNS = kernels["warp_plain"].choices, (32, 64, 128), (32, 128, 256)
_FLOATS = SECTOR_BYTES // 4
_WARPS, _BLOCKS, _A_WARP, _LOAD, _LOAD_HIGH, _A_ROW = 4, 20, 18, 114, 66, 15
_ROOM = 48
"""For what stands in front of each line."""
_LANE, _FLOAT = (WIDTH - _ROOM) / WARP, (WIDTH - _ROOM) / COLUMNS[-1]


def row_lanes() -> widgets.Explorer:
    """Sliders over the lanes of a row, the threads of a block and the columns; they start at a block per row."""
    axes = {"lanes per row": LANES, "threads per block": THREADS, "columns": COLUMNS}
    return sliders(axes, _rows_on_lanes, (WARP, THREADS[0], COLUMNS[1]))


def _rows_on_lanes(lanes: int, threads: int, cols: int) -> View:
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
    drawing.text(0, 12, "four warps: a box is the threads of one row", size=11)
    for warp in range(_WARPS):
        top, (block, later) = _BLOCKS + warp * _A_WARP, divmod(warp * WARP, threads)
        if not later:
            drawing.text(0, top + 12, f"block {block}", size=11)
        lefts = [_ROOM + first * _LANE for first in range(0, WARP, lanes)]
        boxes = [(left, top, lanes * _LANE - 1.5, _A_WARP - 3) for left in lefts]
        drawing.boxes(boxes, "plain" if block else "blue")
        if lanes >= _FLOATS:
            for row, left in enumerate(lefts, warp * WARP // lanes):
                middle = left + lanes * _LANE / 2
                drawing.text(middle, top + 12, f"row {row}", anchor="middle", size=11)


def _draw_load(drawing: Drawing, lanes: int, cols: int) -> None:
    """A strip for each row of the first warp, cut into loads: the first one's floats, and what else its sectors hold."""
    high = min(_A_ROW, _LOAD_HIGH * lanes / WARP)
    tops = [_LOAD + row * high for row in range(WARP // lanes)]
    words = "the first warp's rows: a load (orange), and what comes with it (blue)"
    drawing.text(0, _LOAD - 7, words, size=9)
    drawing.text(0, _LOAD + 11, "row 0", size=11)

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


# ---- a row by the blocks of a cluster

_LONG = (32768, 65536, 131072, 262144)
_HOLDS = hopper["cluster"].setting(CLUSTER=1).max_cols(1024)
_BUS, _KEY = 98, 132


def row_shares() -> widgets.Explorer:
    """Sliders over the columns of a row and the blocks that share it; they start at 131,072 columns and one block."""
    axes = {"columns": _LONG, "blocks per row": hopper["cluster"].choices}
    return sliders(axes, _shares, (_LONG[2], 1))


def _shares(cols: int, blocks: int) -> View:
    share = cols // blocks
    held = min(share, _HOLDS)
    title = f"{count(blocks, 'block')} per row: a share is {share:,} floats"
    words = (
        f"A block holds {_HOLDS:,} floats: {percent(1 - held / share)} of the row are read again."
    )
    if held == share:
        words = "The row is read once." + " Each warp tells every block its pair." * (blocks > 1)
    drawing = Drawing(_KEY + 8, f"{title}. {words}")
    drawing.text(WIDTH / 2, 12, f"a row of {cols:,} floats", anchor="middle", size=11)
    width, blue = WIDTH * share / _LONG[-1], WIDTH * held / _LONG[-1]
    for rank, (left, wide) in enumerate(places(blocks)):
        start, middle = WIDTH / 2 + (rank - blocks / 2) * width, left + wide / 2
        drawing.boxes([(start, 18, blue - 0.5, 22)], "blue")
        drawing.boxes([(start + blue, 18, width - blue - 0.5, 22)] * (held < share), "orange")
        drawing.line([(start + width / 2, 40), (middle, 66)], faint=True)
        drawing.box((left, 66, wide, 22), str(rank))
        if blocks > 1:
            drawing.line([(middle, 88), (middle, _BUS)], "green")
    if blocks > 1:
        drawing.line([(place + wide / 2, _BUS) for place, wide in places(blocks)], "green")
        drawing.text(WIDTH / 2, _BUS + 14, "max and sum, to every block", anchor="middle", size=11)
    drawing.key(0, _KEY, "blue", "held by its block", solid=False)
    drawing.key(170, _KEY, "orange", "to be read again", solid=False)
    return frame(drawing, title, words)


# ---- a tile by the threads of its warps

TILE_COLUMNS = (1000, 1008, 1024, 1025, 2048)
_WIDEST, _FLOAT_BYTES, _VECTOR = 2048, 4, 4
_ROW, _TILE, _HIGH, _VALUES = 16, 62, 26, 122
_A_LINE, _PITCH = 32, WIDTH / 32


def tile() -> widgets.Explorer:
    """Sliders over the columns of a row and the warps of its program, in Triton, float32; they start at 1,024 and 4."""
    return sliders({"columns": TILE_COLUMNS, "warps": WARP_COUNTS}, _tile, (1024, 4))


def _tile(cols: int, warps: int) -> View:
    setting = settle(cols, num_warps=warps)
    values = int(setting.values_a_thread)
    # Triton's compiler takes rows to be aligned where it knows that this divides their length
    width = min(_VECTOR, values) if cols % DIVISOR == 0 else 1
    loads = f"{count(values // width, 'load')} of {_FLOAT_BYTES * width} bytes"
    masked = percent(1 - cols / setting.tile)
    title = f"{cols:,} columns: a tile of {setting.tile:,}, {masked} of it masked"
    words = f"Each of {32 * warps:,} threads: {count(values, 'value')}, {loads}."
    drawing = Drawing(_VALUES + 34, f"{title}. {words}")
    drawing.text(0, _ROW - 4, "the row", size=10)
    drawing.boxes([(0, _ROW, _x(cols), 16)], "blue")
    drawing.text(0, _TILE - 8, "the tile", size=10)
    drawing.box((0, _TILE, _x(setting.tile), _HIGH), faint=True)
    drawing.boxes([(0, _TILE, _x(cols), _HIGH)], "blue")
    if setting.tile - cols > _WIDEST // 4:
        middle = _x((cols + setting.tile) / 2)
        drawing.text(middle, _TILE - 8, "masked", anchor="middle", size=10)
    starts = range(0, setting.tile, 32 * warps * width)
    marks = [(_x(at), _TILE + 3, max(2, _x(width)), _HIGH - 6) for at in starts]
    drawing.boxes(marks, "orange", solid=True)
    drawing.text(0, _VALUES - 10, "what one thread (orange) loads", size=10)
    _draw_values(drawing, [at + i < cols for at in starts for i in range(width)], width)
    return frame(drawing, title, words)


def _draw_values(drawing: Drawing, inside: list[bool], width: int) -> None:
    """The values of a thread, those of one load in one frame; one that is masked is hollow."""
    at = [(i % _A_LINE * _PITCH, _VALUES + i // _A_LINE * 18) for i in range(len(inside))]
    full = [place for place, is_read in zip(at, inside, strict=True) if is_read]
    drawing.boxes([(x + 2, y + 2, _PITCH - 5, 10) for x, y in full], "orange", solid=True)
    drawing.boxes([(x, y, width * _PITCH - 1, 14) for x, y in at[::width]], "orange")


def _x(col: float) -> float:
    return WIDTH * col / _WIDEST


# ---- a block's warps between its barriers: a row a warp, a column a stretch

_LEFT, _TOP, _LEGEND = 30, 16, 44
_TONES = dict(zip(KINDS, ("blue", "orange", "green"), strict=True))


def timeline(
    kernel_or_source: str | Source, cols: int = 4096, block_size: int | None = None
) -> View:
    """Draw a block's warps between barriers, as one row of `cols` elements sends them there.

    A box is as wide as the share of lanes that take part. Raises what `run` and `trace` raise.
    """
    found = read_timeline(resolve(kernel_or_source), cols, block_size)
    warps, stretches = found.shape
    high = max(5, min(18, 220 // warps))
    pitch = (WIDTH - _LEFT) / stretches
    title = f"{found.kernel}: {warps} warps, {count(stretches - 1, 'barrier')}"
    working = ", ".join(map(str, found.working.tolist()))
    words = f"From barrier to barrier {working} warps do something; the others only wait."
    drawing = Drawing(_TOP + warps * high + _LEGEND, f"{title}; {words}")
    for stretch in range(0, stretches, 1 + stretches // 13):
        middle = _LEFT + (stretch + 0.5) * pitch
        drawing.text(middle, _TOP - 4, str(stretch + 1), anchor="middle", size=10)
    for warp in (0, warps - 1):
        middle = _TOP + (warp + 0.5) * high + 4
        drawing.text(_LEFT - 4, middle, f"w{warp}", anchor="end", size=10)
    cells = [(w, s) for w in range(warps) for s in range(stretches)]
    room = {(w, s): (_LEFT + s * pitch + 1, _TOP + w * high) for w, s in cells}
    drawing.boxes([(*room[cell], pitch - 2, high - 1) for cell in cells], "plain")
    for kind, tone in _TONES.items():  # of a cell they lie one under the other
        boxes = []
        for cell, (left, top) in room.items():
            there = [other for other in KINDS if found.lanes[other][cell]]
            if kind in there:
                part, share = (high - 1) / len(there), found.lanes[kind][cell] / WARP
                place = top + there.index(kind) * part
                boxes.append((left, place, (pitch - 2) * share, part))
        drawing.boxes(boxes, tone, solid=True)
    line = drawing.height - 8
    for left, (kind, tone) in zip((1, 126, 251), _TONES.items(), strict=True):
        drawing.key(left, line, tone, kind, swatch=(12, 10, 5))
    drawing.text(0, line - 18, "columns: between barriers; widths: lanes that take part", size=11)
    return frame(drawing, title, words)
