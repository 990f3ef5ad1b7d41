"""The roofline, to be moved along: how long memory and arithmetic take, and what the slower of the two allows."""

from __future__ import annotations

import math

from softmax_lib.engine.words import time_in_words
from softmax_lib.records.cited import FLOAT32_PEAKS
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.views import View

FLOP, BYTES = (5, 20, 100, 500), (4, 8, 16, 32)
"""Of an element: softmax's five operations and more; a read and a write of 2 bytes, of 4, and with what kernels hand on."""

_LEFT, _RIGHT, _TOP, _BASE = 30, WIDTH - 6, 68, 180
_FLOP_PER_BYTE, _TFLOP_PER_S = (0.1, 1000), (0.1, 100)
_BARS = 76
"""Where the two bars start, right of their names."""


def memory_or_arithmetic(rows: int = 1024, cols: int = 32768) -> Explorer:
    """Sliders over the FLOP and the bytes of an element of a (rows, cols) matrix: the time that each takes, and the roofline.

    Bytes move at a copy's speed as recorded, FLOP are done at the peak that the maker states. They start at 5 FLOP and
    32 bytes. Raises `BadInput` for a shape that was never recorded.
    """
    copy = next(iter(recorded().times(rows, cols).values()))
    peak = FLOAT32_PEAKS[DEFAULT_GPU].flops
    shown = explorer(
        {"FLOP per element": FLOP, "bytes per element": BYTES},
        lambda flop, size: _show(flop, size, rows * cols, copy.copy_gb_per_s * 1e9, peak),
        start=(FLOP[0], BYTES[-1]),
    )
    shown.add_class("worklog-two-columns")
    return shown


def _show(flop: int, size: int, elements: int, bytes_per_s: float, peak: float) -> View:
    at = flop / size
    times = {"memory": elements * size / bytes_per_s, "arithmetic": elements * flop / peak}
    limit = max(times, key=times.__getitem__)
    bound = "memory-bound" if limit == "memory" else "compute-bound"
    title = f"{flop} FLOP / {size} B = {at:.3g} FLOP per byte: {bound}"
    most = min(at * bytes_per_s, peak)
    words = f"At least {time_in_words(1e6 * times[limit])}, so at most {_tflop(most)} ({recorded().gpu})."
    drawing = Drawing(_BASE + 32, f"{title}. {words}")
    _draw_times(drawing, times, elements * max(BYTES) / bytes_per_s)
    _draw_axes(drawing)
    _draw_roof(drawing, bytes_per_s, peak)
    tone = "blue" if limit == "memory" else "orange"
    x, y = _at(at, most)
    drawing.line([(x, _BASE), (x, y), (_LEFT, y)], tone=tone, dashed=True)
    drawing.dots([(x, y)], tone, radius=6)
    return frame(drawing, title, words)


def _draw_times(drawing: Drawing, times: dict[str, float], most: float) -> None:
    """A bar for the bytes and one for the FLOP; the longer one is what a kernel can't beat."""
    scale = (_RIGHT - _BARS - 52) / most
    for (name, seconds), tone, top in zip(times.items(), ("blue", "orange"), (2, 24), strict=True):
        drawing.text(0, top + 12, name, anchor="start", size=12)
        drawing.boxes([(_BARS, top, seconds * scale, 16)], tone, solid=True)
        told = time_in_words(1e6 * seconds)
        drawing.text(_BARS + seconds * scale + 4, top + 12, told, anchor="start", size=12)


def _draw_axes(drawing: Drawing) -> None:
    for power in range(-1, 3):
        _, y = _at(1, 1e12 * 10**power)
        drawing.line([(_LEFT, y), (_RIGHT, y)], faint=True)
        drawing.text(_LEFT - 4, y + 4, f"{10**power:g}", anchor="end", size=11)
    for power in range(-1, 4):
        x, _ = _at(10**power, 1e12)
        drawing.text(min(x, _RIGHT - 12), _BASE + 14, f"{10**power:g}", size=11)
    drawing.text(0, _TOP - 8, "TFLOP/s", anchor="start", size=11)
    drawing.text((_LEFT + _RIGHT) / 2, _BASE + 29, "FLOP per byte", size=11)


def _draw_roof(drawing: Drawing, bytes_per_s: float, peak: float) -> None:
    """The slope, FLOP per byte times a copy's bandwidth, up to the ridge, and the flat part behind it."""
    low, high = _FLOP_PER_BYTE
    ridge = _at(peak / bytes_per_s, peak)
    drawing.line([_at(low, low * bytes_per_s), ridge], tone="blue")
    drawing.line([ridge, _at(high, peak)], tone="orange")
    told = (
        f"slope: a copy, {bytes_per_s / 1e12:.1f}\N{NO-BREAK SPACE}TB/s; roof: peak, {_tflop(peak)}"
    )
    drawing.text(_RIGHT, _TOP - 8, told, anchor="end", size=11)


def _at(flop_per_byte: float, flop_per_s: float) -> tuple[float, float]:
    """Where that is on two logarithmic axes."""
    across, up = _share(flop_per_byte, _FLOP_PER_BYTE), _share(flop_per_s / 1e12, _TFLOP_PER_S)
    return _LEFT + across * (_RIGHT - _LEFT), _BASE - up * (_BASE - _TOP)


def _share(value: float, ends: tuple[float, float]) -> float:
    low, high = map(math.log, ends)
    return (math.log(value) - low) / (high - low)


def _tflop(flop_per_s: float) -> str:
    return f"{flop_per_s / 1e12:.2g}\N{NO-BREAK SPACE}TFLOP/s"
