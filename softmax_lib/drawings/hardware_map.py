"""A GPU as boxes: its multiprocessors, one of them opened, and the memories with their sizes, distances and speeds."""

from __future__ import annotations

from softmax_lib.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.records.hardware import Hardware, Level, hardware
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.source import WARP
from softmax_lib.widgets.views import View

_COLUMNS, _PITCH, _SIDE = 22, 15.4, 12.0
_SMALL = 12
_CAPTION = (
    "On the right: cycles until one number is there. Between the boxes: bytes per second that all multiprocessors "
    "together can read; 1 TB/s is 10¹² bytes per second."
)
_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_OPENED = 168
"""Height of the multiprocessor that is drawn open."""


def gpu_map(gpu: str = DEFAULT_GPU) -> View:
    """Draw a GPU as it was measured: sizes by its driver, cycles and bytes per second by probes.

    Raises `BadInput` where none was measured.
    """
    found = hardware(gpu)
    top = 22 + height(found.multiprocessors) + 22
    drawing = Drawing(top + _OPENED + 162, f"{found.gpu['name']}: {_in_words(found)}")
    _draw_multiprocessors(drawing, found.multiprocessors, top)
    _draw_opened(drawing, found, top)
    _draw_memories(drawing, found, top + _OPENED)
    return frame(drawing, f"{found.gpu['name']}, measured", f"{_CAPTION} ({found.source}.)")


def height(multiprocessors: int) -> float:
    """What `corners` take."""
    return -(-multiprocessors // _COLUMNS) * _PITCH


def corners(multiprocessors: int, top: float) -> list[tuple[float, float]]:
    """Left and top of a square for each multiprocessor, row by row."""
    places = (divmod(i, _COLUMNS) for i in range(multiprocessors))
    return [(1 + col * _PITCH, top + row * _PITCH) for row, col in places]


def _draw_multiprocessors(drawing: Drawing, count: int, top: float) -> None:
    drawing.text(0, 13, f"{count} multiprocessors", anchor="start", size=13, bold=True)
    squares = [(left, above, _SIDE, _SIDE) for left, above in corners(count, 22)]
    drawing.boxes(squares[:1] + squares[2:], "plain")
    drawing.boxes(squares[1:2], "blue")
    left, above, wide, high = squares[1]
    drawing.line([(left, above + high), (1, top)], dashed=True)
    drawing.line([(left + wide, above + high), (WIDTH - 1, top)], dashed=True)


def _draw_opened(drawing: Drawing, found: Hardware, top: float) -> None:
    """One multiprocessor: room for warps, registers, shared memory and L1."""
    limits = found.limits
    warps = limits["MaxThreadsPerMultiProcessor"] // WARP
    drawing.box(1, top, WIDTH - 2, _OPENED - 16, tone="blue")
    drawing.text(10, top + 18, "one multiprocessor", anchor="start", size=13, bold=True)
    words = f"room for {warps} warps of {WARP} threads, in up to {limits['MaxBlocksPerMultiprocessor']} blocks"
    drawing.text(10, top + 36, words, anchor="start", size=_SMALL)
    pitch = (WIDTH - 20) / warps
    drawing.boxes([(10 + i * pitch, top + 42, pitch - 1.5, 14) for i in range(warps)], "orange")
    registers = 4 * limits["MaxRegistersPerMultiprocessor"] // _KIB
    shared = limits["MaxSharedMemoryPerMultiprocessor"] // _KIB
    levels = found.levels
    _memory(drawing, top + 64, "registers", f"{registers} KiB", levels["registers"], 10)
    _memory(drawing, top + 92, "shared memory", f"up to {shared} KiB", levels["shared memory"], 10)
    _memory(drawing, top + 120, "L1", "same memory", levels["L1"], 10)


def _draw_memories(drawing: Drawing, found: Hardware, top: float) -> None:
    """What all multiprocessors have in common."""
    gpu, levels = found.gpu, found.levels
    _arrows(drawing, top - 14, levels["L2"])
    _memory(drawing, top + 32, "L2", f"{gpu['l2_bytes'] // _MIB} MiB", levels["L2"], 1, 36)
    _arrows(drawing, top + 70, levels["DRAM"])
    _memory(
        drawing, top + 116, "DRAM", f"{gpu['memory_bytes'] / _GIB:.0f} GiB", levels["DRAM"], 1, 44
    )


def _memory(
    drawing: Drawing, top: float, name: str, size: str, level: Level, left: float, high: float = 24
) -> None:
    drawing.box(left, top, WIDTH - 2 * left, high)
    line = top + high / 2 + 5
    drawing.text(left + 8, line, name, anchor="start", size=13, bold=True)
    drawing.text(WIDTH / 2 + 24, line, size, size=_SMALL)
    drawing.text(
        WIDTH - left - 8, line, f"{_cycles(level)} cycles", anchor="end", size=_SMALL, bold=True
    )


def _arrows(drawing: Drawing, top: float, level: Level) -> None:
    """What comes up from a memory that all share."""
    for x in (40, WIDTH - 40):
        drawing.arrow((x, top + 42), (x, top + 6))
    drawing.text(WIDTH / 2, top + 28, f"{_terabytes(level)} for all together", size=_SMALL)


def _cycles(level: Level) -> str:
    return f"{level.cycles:.{0 if level.cycles > 10 else 1}f}"


def _terabytes(level: Level) -> str:
    return f"{(level.gb_per_s or 0) / 1e3:.1f} TB/s"


def _in_words(found: Hardware) -> str:
    """The numbers of the drawing that a reader who cannot see it misses."""
    far = ", ".join(f"{name} {_cycles(level)}" for name, level in found.levels.items())
    fast = ", ".join(
        f"{name} {_terabytes(level)}" for name, level in found.levels.items() if level.gb_per_s
    )
    return (
        f"Cycles until a value is there: {far}. Read at most, by all {found.multiprocessors} "
        f"multiprocessors together: {fast}."
    )
