"""Bytes in flight, to be moved through: loads of one thread over time, and what so many buy on the measured curve."""

from __future__ import annotations

import math
from collections.abc import Mapping

from softmax_lib.records.record import Record
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.views import View

THREADS, LOADS, BYTES = (256, 512, 1024, 2048), (1, 2, 4), (4, 16)
"""Threads on a multiprocessor, loads that each has in flight, bytes of a load: all products of these were probed."""

_LOADS_DRAWN = 4
_LEFT, _RIGHT, _TOP, _BASE = 30, WIDTH - 6, 78, 180
_KIB = (1, 128)
_MOST_GB_PER_S = 5000
_DRAM_KIB = 262144
"""Of an array that no cache holds, so that memory itself answers."""


def in_flight(*, gpu: str = DEFAULT_GPU) -> Explorer:
    """Sliders over threads, loads and bytes of a load, with the read bandwidth that was probed for each product.

    They start at 2,048 threads with one load of 4 bytes. Raises `BadInput` where the GPU was not probed.
    """
    record = recorded(gpu)
    shown = explorer(
        {"threads per SM": THREADS, "loads in flight": LOADS, "bytes per load": BYTES},
        lambda *chosen: _show(record, *chosen),
        start=(THREADS[-1], LOADS[0], BYTES[0]),
    )
    shown.add_class("worklog-two-columns")
    return shown


def _show(record: Record, threads: int, loads: int, size: int) -> View:
    kib, curve = threads * loads * size / 1024, _curve(record, size)
    latency_ns = _latency_ns(record)
    law = record.multiprocessors * 1024 * kib / latency_ns
    title = f"{threads:,} × {loads} × {size} B = {kib:.0f} KiB in flight on each SM"
    words = (
        f"Little’s law: {_tb_per_s(law)}. Reading alone: {_tb_per_s(curve[kib])} ({record.gpu})."
    )
    drawing = Drawing(_BASE + 32, f"{title}. {words}")
    _draw_loads(drawing, loads, size, latency_ns)
    _draw_axes(drawing)
    _draw_law(drawing, record.multiprocessors * 1024 / latency_ns)
    _draw_curve(drawing, curve, kib)
    return frame(drawing, title, words)


def _draw_loads(drawing: Drawing, loads: int, size: int, latency_ns: float) -> None:
    """Four loads of one thread, as long as the answer takes; a later one waits for those before it."""
    turns = _LOADS_DRAWN // loads
    told = f"{_LOADS_DRAWN} loads of a thread, 1 answer takes {latency_ns:.0f} ns: {turns * latency_ns:,.0f} ns"
    drawing.text(0, 11, told, anchor="start", size=11)
    long, high = (_RIGHT - _LEFT) / _LOADS_DRAWN, 4 if size == BYTES[0] else 9
    starts = [_LEFT + at // loads * long + at % loads * 3 for at in range(_LOADS_DRAWN)]
    bars = [(start, 18 + 11 * at, long - 3, high) for at, start in enumerate(starts)]
    drawing.boxes(bars, "orange", solid=True)
    end = starts[-1] + long
    drawing.line([(end, 15), (end, 62)], dashed=True)


def _draw_axes(drawing: Drawing) -> None:
    for tb_per_s in range(_MOST_GB_PER_S // 1000 + 1):
        y = _y(1000 * tb_per_s)
        drawing.line([(_LEFT, y), (_RIGHT, y)], faint=True)
        if tb_per_s % 2 == 0:
            drawing.text(_LEFT - 4, y + 4, str(tb_per_s), anchor="end", size=11)
    drawing.text(0, _TOP - 5, "TB/s", anchor="start", size=11)
    for power in range(int(math.log2(_KIB[1])) + 1):
        drawing.text(_x(2**power), _BASE + 14, str(2**power), size=11)
    drawing.text((_LEFT + _RIGHT) / 2, _BASE + 29, "KiB in flight on each SM", size=11)


def _draw_law(drawing: Drawing, gb_per_s_a_kib: float) -> None:
    """Straight where both axes are plain; here the lower one is logarithmic."""
    most = _MOST_GB_PER_S / gb_per_s_a_kib
    powers = [math.log2(most) * at / 12 for at in range(13)]
    points = [(_x(2**power), _y(2**power * gb_per_s_a_kib)) for power in powers]
    drawing.line(points, dashed=True)
    drawing.text(_x(most) - 5, _TOP + 5, "Little’s law", anchor="end", size=11)


def _draw_curve(drawing: Drawing, curve: Mapping[float, float], kib: float) -> None:
    seen = [(_x(at), _y(speed)) for at, speed in curve.items() if _KIB[0] <= at <= _KIB[1]]
    drawing.line(seen, tone="blue")
    drawing.dots(seen, "blue")
    x, y = _x(kib), _y(curve[kib])
    drawing.line([(x, _BASE), (x, y), (_LEFT, y)], tone="orange", dashed=True)
    drawing.dots([(x, y)], "orange", radius=6)
    above = y > _BASE - 30  # or it would stand on the axis
    drawing.text(
        min(x + 10, _RIGHT - 48),
        y + (-8 if above else 18),
        _tb_per_s(curve[kib]),
        anchor="start",
        bold=True,
    )


def _x(kib: float) -> float:
    low, high = map(math.log2, _KIB)
    return _LEFT + 8 + (_RIGHT - _LEFT - 16) * (math.log2(kib) - low) / (high - low)


def _y(gb_per_s: float) -> float:
    return _BASE - (_BASE - _TOP) * gb_per_s / _MOST_GB_PER_S


def _tb_per_s(gb_per_s: float) -> str:
    return f"{gb_per_s / 1000:.1f}\N{NO-BREAK SPACE}TB/s"


def _curve(record: Record, width: int) -> dict[float, float]:
    """GB/s by KiB in flight; of several ways to have as many the fastest."""
    probes = record.probed("read bandwidth", width=width)
    pairs = sorted((probe.at["bytes"] / 1024, probe.found["gb_per_s"]) for probe in probes)
    return dict(pairs)


def _latency_ns(record: Record) -> float:
    (probe,) = record.probed("latency", kib=_DRAM_KIB)
    return probe.found["ns"]
