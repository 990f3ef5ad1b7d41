"""A GPU as boxes: its multiprocessors, one of them opened, and the memories with their sizes and distances."""

from __future__ import annotations

from collections.abc import Mapping

from softmax_lib.engine.source import WARP
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.suites.hardware.record import Hardware, Level, hardware
from softmax_lib.widgets.views import View

_COLUMNS, _PITCH, _SIDE = 22, 15.4, 12.0
_SMALL = 12
_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_OPENED = 152
"""Height of the multiprocessor that is drawn open."""


def gpu_map(level: str, gpu: str = DEFAULT_GPU) -> View:
    """Draw a GPU as it was measured, with one kind of memory marked: "registers", "shared memory", "L1", "L2", "DRAM".

    Sizes are by its driver, cycles by a probe. Raises `BadInput` where none was measured.
    """
    found = hardware(gpu)
    top = 22 + height(found.multiprocessors) + 22
    title = _in_words(found, level)
    drawing = Drawing(top + _OPENED + 74, title)
    _draw_multiprocessors(drawing, found.multiprocessors, top)
    _draw_opened(drawing, found, top, level)
    _draw_memories(drawing, found, top + _OPENED + 12, level)
    return frame(drawing, title, found.source)


def height(multiprocessors: int) -> float:
    """What `corners` take."""
    return -(-multiprocessors // _COLUMNS) * _PITCH


def corners(multiprocessors: int, top: float) -> list[tuple[float, float]]:
    """Left and top of a square for each multiprocessor, row by row."""
    places = (divmod(i, _COLUMNS) for i in range(multiprocessors))
    return [(1 + col * _PITCH, top + row * _PITCH) for row, col in places]


def _draw_multiprocessors(drawing: Drawing, count: int, top: float) -> None:
    drawing.text(0, 13, f"{count} SMs", anchor="start", size=13, bold=True)
    squares = [(left, above, _SIDE, _SIDE) for left, above in corners(count, 22)]
    drawing.boxes(squares[:1] + squares[2:], "plain")
    drawing.boxes(squares[1:2], "blue")
    left, above, wide, high = squares[1]
    drawing.line([(left, above + high), (1, top)], dashed=True)
    drawing.line([(left + wide, above + high), (WIDTH - 1, top)], dashed=True)


def _draw_opened(drawing: Drawing, found: Hardware, top: float, level: str) -> None:
    """One multiprocessor: room for warps, registers, shared memory and L1."""
    limits = found.limits
    warps = limits["MaxThreadsPerMultiProcessor"] // WARP
    drawing.box(1, top, WIDTH - 2, _OPENED, tone="blue")
    words = f"room for {warps} warps of {WARP} threads, in up to {limits['MaxBlocksPerMultiprocessor']} blocks"
    drawing.text(10, top + 18, "one SM", anchor="start", size=13, bold=True)
    drawing.text(10, top + 36, words, anchor="start", size=_SMALL)
    pitch = (WIDTH - 20) / warps
    drawing.boxes([(10 + i * pitch, top + 42, pitch - 1.5, 14) for i in range(warps)], "green")
    registers = 4 * limits["MaxRegistersPerMultiprocessor"] // _KIB
    shared = limits["MaxSharedMemoryPerMultiprocessor"] // _KIB
    inside = {"registers": f"{registers} KiB", "shared memory": f"up to {shared} KiB"}
    _draw_levels(drawing, found, {**inside, "L1": "same memory"}, top + 64, level, 10)


def _draw_memories(drawing: Drawing, found: Hardware, top: float, level: str) -> None:
    """What all multiprocessors have in common."""
    l2, dram = found.gpu["l2_bytes"] // _MIB, found.gpu["memory_bytes"] / _GIB
    _draw_levels(drawing, found, {"L2": f"{l2} MiB", "DRAM": f"{dram:.0f} GiB"}, top, level, 1)


def _draw_levels(
    drawing: Drawing,
    found: Hardware,
    sizes: Mapping[str, str],
    top: float,
    marked: str,
    left: float,
) -> None:
    """A box for each memory, 28 apart, with its size and how far it is."""
    for at, (name, size) in enumerate(sizes.items()):
        line = top + 28 * at + 17
        drawing.box(
            left, line - 17, WIDTH - 2 * left, 24, tone="orange" if name == marked else "plain"
        )
        drawing.text(left + 8, line, name, anchor="start", size=13, bold=True)
        drawing.text(WIDTH / 2 + 24, line, size, size=_SMALL)
        far = f"{_cycles(found.levels[name])} cycles"
        drawing.text(WIDTH - left - 8, line, far, anchor="end", size=_SMALL, bold=True)


def _cycles(level: Level) -> str:
    return f"{level.cycles:.{0 if level.cycles > 10 else 1}f}"


def _in_words(found: Hardware, name: str) -> str:
    """How far one memory is, and how far if the nearest were a second away."""
    level, nearest = found.levels[name], found.levels["registers"]
    seconds = f"{level.cycles / nearest.cycles:.0f} s"
    scale = f"say, {seconds}" if level is nearest else f"{seconds} if a register takes 1 s"
    return f"{name}: {_cycles(level)} cycles ({scale})"
