"""The GPU itself: its multiprocessors and memories, where blocks of a launch went, and when warps and blocks waited."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from softmax_lib.engine.source import WARP
from softmax_lib.engine.words import count
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.show.drawings.drawing import WIDTH, Box, Drawing, frame
from softmax_lib.suites.hardware.record import Hardware, Level, Places, hardware
from softmax_lib.suites.phases.record import Block, phases
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput

_COLUMNS, _PITCH = 22, 15.4
_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_OPENED = 152
"""Height of the multiprocessor that is drawn open."""


def gpu_map(level: str, gpu: str = DEFAULT_GPU) -> View:
    """Draw a GPU as it was measured, with one kind of memory marked: "registers", "shared memory", "L1", "L2", "DRAM".

    Sizes are by its driver, cycles by a probe. Raises `BadInput` where none was measured.
    """
    found = hardware(gpu)
    top = 22 + _height(found.multiprocessors) + 22
    title = _distance(found, level)
    drawing = Drawing(top + _OPENED + 74, title)
    _draw_multiprocessors(drawing, found.multiprocessors, top)
    _draw_opened(drawing, found, top, level)
    l2, dram = found.gpu["l2_bytes"] // _MIB, found.gpu["memory_bytes"] / _GIB
    common = {"L2": f"{l2} MiB", "DRAM": f"{dram:.0f} GiB"}
    _draw_levels(drawing, found, common, top + _OPENED + 12, level, 1)
    return frame(drawing, title, found.source)


def _height(multiprocessors: int) -> float:
    """What `_corners` take."""
    return -(-multiprocessors // _COLUMNS) * _PITCH


def _corners(multiprocessors: int) -> list[tuple[float, float]]:
    """Left and top of a square for each multiprocessor, row by row."""
    places = (divmod(i, _COLUMNS) for i in range(multiprocessors))
    return [(1 + col * _PITCH, 22 + row * _PITCH) for row, col in places]


def _draw_multiprocessors(drawing: Drawing, number: int, top: float) -> None:
    drawing.text(0, 13, f"{number} SMs", size=13, bold=True)
    squares: list[Box] = [(left, above, 12, 12) for left, above in _corners(number)]
    drawing.boxes(squares[:1] + squares[2:], "plain")
    drawing.boxes(squares[1:2], "blue")
    left, above, wide, high = squares[1]
    drawing.line([(left, above + high), (1, top)], dashed=True)
    drawing.line([(left + wide, above + high), (WIDTH - 1, top)], dashed=True)


def _draw_opened(drawing: Drawing, found: Hardware, top: float, level: str) -> None:
    """One multiprocessor: room for warps, registers, shared memory and L1."""
    limits = found.limits
    warps = limits["MaxThreadsPerMultiProcessor"] // WARP
    drawing.box((1, top, WIDTH - 2, _OPENED), tone="blue")
    words = f"room for {warps} warps of {WARP} threads, in up to {limits['MaxBlocksPerMultiprocessor']} blocks"
    drawing.text(10, top + 18, "one SM", size=13, bold=True)
    drawing.text(10, top + 36, words)
    pitch = (WIDTH - 20) / warps
    drawing.boxes([(10 + i * pitch, top + 42, pitch - 1.5, 14) for i in range(warps)], "green")
    registers = 4 * limits["MaxRegistersPerMultiprocessor"] // _KIB
    shared = limits["MaxSharedMemoryPerMultiprocessor"] // _KIB
    inside = {"registers": f"{registers} KiB", "shared memory": f"up to {shared} KiB"}
    _draw_levels(drawing, found, {**inside, "L1": "same memory"}, top + 64, level, 10)


def _draw_levels(
    drawing: Drawing, found: Hardware, sizes: dict[str, str], top: float, marked: str, left: float
) -> None:
    """A box for each memory, 28 apart, with its size and how far it is."""
    for at, (name, size) in enumerate(sizes.items()):
        line, tone = top + 28 * at + 17, "orange" if name == marked else "plain"
        drawing.box((left, line - 17, WIDTH - 2 * left, 24), tone=tone)
        drawing.text(left + 8, line, name, size=13, bold=True)
        drawing.text(WIDTH / 2 + 24, line, size, anchor="middle")
        far = f"{_cycles(found.levels[name])} cycles"
        drawing.text(WIDTH - left - 8, line, far, anchor="end", bold=True)


def _cycles(level: Level) -> str:
    return f"{level.cycles:.{0 if level.cycles > 10 else 1}f}"


def _distance(found: Hardware, name: str) -> str:
    """How far one memory is, and how far if the nearest were a second away."""
    level, nearest = found.levels[name], found.levels["registers"]
    seconds = f"{level.cycles / nearest.cycles:.0f} s"
    scale = f"say, {seconds}" if level is nearest else f"{seconds} if a register takes 1 s"
    return f"{name}: {_cycles(level)} cycles ({scale})"


# ---- where the blocks of a launch went

_SIDE = 13.0
_BARS = 40


def places(blocks: int, threads: int, gpu: str = DEFAULT_GPU) -> View:
    """Draw a launch of `blocks` blocks of `threads` threads, as a GPU placed them when it was measured.

    A square is a multiprocessor, filled as far as it had threads of those it has room for, half way through the
    first wave; below it, how many blocks were at work in each wave. Raises `BadInput` for a launch that was not
    measured.
    """
    found = hardware(gpu)
    one, most = found.placed(blocks, threads), found.limits["MaxThreadsPerMultiProcessor"]
    words = f"{found.multiprocessors} SMs: {_room(found, one)}"
    waves = count(len(one.held), "wave")
    title = f"{blocks:,} blocks of {threads:,} threads: {waves}, {one.took_ns / 1e3:.0f} µs"
    below = 22 + _height(found.multiprocessors) + 24
    drawing = Drawing(below + _BARS + 18, words)
    drawing.text(0, 14, words)
    corners = _corners(found.multiprocessors)
    drawing.boxes([(left, top, _SIDE, _SIDE) for left, top in corners], "plain")
    highs = [max(1.5, _SIDE * held * one.threads / most) if held else 0 for held in one.held[0]]
    placed = zip(corners, highs, strict=True)
    fills = [(left, top + _SIDE - high, _SIDE, high) for (left, top), high in placed if high]
    drawing.boxes(fills, "blue", solid=True)
    _draw_waves(drawing, one, below)
    caption = f"Full: {most:,} threads ({found.source})."
    return View(frame(drawing, title, caption).html, f"{title}. {words}. {caption}")


def _draw_waves(drawing: Drawing, one: Places, top: float) -> None:
    """A bar for each wave, as high as it had blocks."""
    sums = [sum(moment) for moment in one.held]
    drawing.text(0, top - 6, "blocks at work, wave by wave (to its own scale)")
    wide = min(60.0, WIDTH / len(sums))
    bars = [
        (i * wide + 1, top + _BARS * (1 - total / max(sums)), wide - 3, _BARS * total / max(sums))
        for i, total in enumerate(sums)
    ]
    drawing.boxes(bars, "orange", solid=True)
    for at in {0, len(sums) - 1}:
        middle = at * wide + wide / 2
        drawing.text(middle, top + _BARS + 14, f"{sums[at]:,}", anchor="middle", size=11)


def _room(found: Hardware, one: Places) -> str:
    """How many blocks a multiprocessor got at first, and how many of this size it has room for."""
    if idle := one.held[0].count(0):
        return f"{found.multiprocessors - idle} got a block, {idle} got none"
    least, most = min(one.held[0]), found.limits["MaxThreadsPerMultiProcessor"]
    room = min(most // one.threads, found.limits["MaxBlocksPerMultiprocessor"])
    got = f"{one.most}" if one.most == least else f"{least} or {one.most}"
    if one.most < room:
        return f"each got {got}, and has room for {count(room, 'block')}"
    return f"each is full with {count(room, 'block')}, {room * one.threads:,} threads"


# ---- over time: a row per warp or multiprocessor

_TOP, _HIGH = 6, 18
_CYCLES = 6000
"""Of warps that load and compute by turns, drawn from the first load on."""
_PHASES = {"reads": "blue", "meets": "green", "writes": "orange"}


def waits(warps: int, gpu: str = DEFAULT_GPU) -> View:
    """Draw the first turns of so many warps on one multiprocessor, as the clock of a GPU had them.

    Blue a warp waits for its load from DRAM, orange it computes with what came. Raises `BadInput` where these were
    not kept.
    """
    one = hardware(gpu).waits.get(warps)
    if one is None or not one.turns:
        raise BadInput(f"The turns of {count(warps, 'warp')} were not kept on {gpu}.")
    words = "Blue a warp waits for a load, orange it computes."
    drawing = Drawing(_TOP + warps * _HIGH + 42, words)
    for warp in range(warps):  # it computes from where a load came to where it asks for the next
        top = _TOP + warp * _HIGH
        turns = [(asked, came) for who, asked, came in one.turns if who == warp]
        computing = [(came, asked) for (_, came), (asked, _) in pairwise(turns)]
        drawing.text(22, top + 12, f"w{warp}", anchor="end", size=11)
        drawing.boxes(_stretches(turns, top + 5, 5), "blue", solid=True)
        drawing.boxes(_stretches(computing, top, 15), "orange", solid=True)
    line = drawing.height - 22
    drawing.key(26, line, "blue", "waits for a load")
    drawing.key(170, line, "orange", "computes")
    drawing.text(26, line + 18, f"from left to right: {_CYCLES:,} cycles")
    return frame(drawing, f"{count(warps, 'warp')} on one SM")


def _stretches(ends: Iterable[tuple[float, float]], top: float, high: float) -> list[Box]:
    scale = (WIDTH - 26) / _CYCLES
    cut = ((first, min(last, _CYCLES)) for first, last in ends)
    return [(26 + a * scale, top, (b - a) * scale, high) for a, b in cut if b > a]


def read_meet_write(gpu: str = DEFAULT_GPU) -> View:
    """Draw the blocks of `fusion` on the first multiprocessors, as their warps noted the time.

    A block reads until the last of its warps has what it asked for, meets until the last warp has met the others,
    and writes until the last store is handed in. Raises `BadInput` where that was not measured.
    """
    found = phases(gpu)["fusion"]
    if not found.blocks:
        raise BadInput(f"The blocks of fusion were not noted on {gpu}.")
    multiprocessors = sorted({block.multiprocessor for block in found.blocks})
    last = max(block.ended for block in found.blocks)
    words = _shares(found.blocks)
    drawing = Drawing(_TOP + len(multiprocessors) * _HIGH + 40, words)
    scale = (WIDTH - 24) / last
    for row, multiprocessor in enumerate(multiprocessors):
        top = _TOP + row * _HIGH
        drawing.text(20, top + 12, str(multiprocessor), anchor="end", size=11)
        of = [_marks(one) for one in found.blocks if one.multiprocessor == multiprocessor]
        for at, tone in enumerate(_PHASES.values()):
            ends = [marks[at : at + 2] for marks in of]
            bars = [(24 + a * scale, top + 1, (b - a) * scale, _HIGH - 5) for a, b in ends]
            drawing.boxes(bars, tone, solid=True)
    line = drawing.height - 20
    for left, (word, tone) in zip((24, 110, 196), _PHASES.items(), strict=True):
        drawing.key(left, line, tone, word)
    drawing.text(24, line + 17, f"from left to right: {last / 1e3:.0f} µs")
    title = f"fusion on {len(multiprocessors)} multiprocessors"
    return frame(drawing, title, f"{words} ({found.source}.)")


def _marks(block: Block) -> tuple[int, int, int, int]:
    return (block.began, block.came, block.met, block.ended)


def _shares(blocks: Iterable[Block]) -> str:
    spans = [[end - first for first, end in pairwise(_marks(block))] for block in blocks]
    sums = [sum(of) for of in zip(*spans, strict=True)]
    told = [f"{word} for {of / sum(sums):.0%}" for word, of in zip(_PHASES, sums, strict=True)]
    return f"Of its time a block {told[0]}, {told[1]} and {told[2]}."
