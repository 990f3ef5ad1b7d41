"""What limits a kernel, to be moved through: the roofline, bytes in flight, and loads that leave together."""

from __future__ import annotations

import math
from collections.abc import Mapping

from softmax_lib import widgets
from softmax_lib.engine.words import count, time_in_words
from softmax_lib.records.cited import FLOAT32_PEAKS
from softmax_lib.records.record import Record
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame, sliders
from softmax_lib.suites.times import UnrollTime, unroll_times
from softmax_lib.widgets.views import View

_LEFT, _RIGHT, _BASE = 30, WIDTH - 6, 180
"""Of two axes."""
_MIDDLE = (_LEFT + _RIGHT) / 2


def _draw_lines(drawing: Drawing, labels: Mapping[float, str]) -> None:
    """Across, by their height."""
    for y, label in labels.items():
        drawing.line([(_LEFT, y), (_RIGHT, y)], faint=True)
        if label:
            drawing.text(_LEFT - 4, y + 4, label, anchor="end", size=11)


def _draw_ticks(drawing: Drawing, labels: Mapping[float, str]) -> None:
    for x, label in labels.items():
        drawing.text(x, _BASE + 14, label, anchor="middle", size=11)


def _draw_point(drawing: Drawing, x: float, y: float, tone: str) -> None:
    drawing.line([(x, _BASE), (x, y), (_LEFT, y)], tone=tone, dashed=True)
    drawing.dots([(x, y)], tone, radius=6)


# ---- memory or arithmetic

FLOP, BYTES = (5, 20, 100, 500), (4, 8, 16, 32)
"""Of an element: softmax's five operations and more; a read and a write of 2 bytes, of 4, and with what kernels hand on."""

_ROOF_TOP = 68
_FLOP_PER_BYTE, _TFLOP_PER_S = (0.1, 1000), (0.1, 100)
_BARS = 76
"""Where the two bars start, right of their names."""


def memory_or_arithmetic(rows: int = 1024, cols: int = 32768) -> widgets.Explorer:
    """Sliders over the FLOP and the bytes of an element of a (rows, cols) matrix: the time that each takes, and the roofline.

    Bytes move at a copy's speed as recorded, FLOP are done at the peak that the maker states. They start at 5 FLOP and
    32 bytes. Raises `BadInput` for a shape that was never recorded.
    """
    copy = next(iter(recorded().times(rows, cols).values()))
    peak = FLOAT32_PEAKS[DEFAULT_GPU]
    return sliders(
        {"FLOP per element": FLOP, "bytes per element": BYTES},
        lambda flop, size: _roofline(flop, size, rows * cols, copy.copy_gb_per_s * 1e9, peak),
        (FLOP[0], BYTES[-1]),
    )


def _roofline(flop: int, size: int, elements: int, bytes_per_s: float, peak: float) -> View:
    at = flop / size
    times = {"memory": elements * size / bytes_per_s, "arithmetic": elements * flop / peak}
    limit = max(times, key=times.__getitem__)
    bound = "memory-bound" if limit == "memory" else "compute-bound"
    title = f"{flop} FLOP / {size} B = {at:.3g} FLOP per byte: {bound}"
    most = min(at * bytes_per_s, peak)
    words = f"At least {time_in_words(1e6 * times[limit])}, so at most {_tflop(most)} ({recorded().gpu})."
    drawing = Drawing(_BASE + 32, f"{title}. {words}")
    scale = (_RIGHT - _BARS - 52) / (elements * max(BYTES) / bytes_per_s)
    for (name, seconds), tone, top in zip(times.items(), ("blue", "orange"), (2, 24), strict=True):
        drawing.text(0, top + 12, name)
        drawing.boxes([(_BARS, top, seconds * scale, 16)], tone, solid=True)
        drawing.text(_BARS + seconds * scale + 4, top + 12, time_in_words(1e6 * seconds))
    _draw_lines(drawing, {_at(1, 1e12 * 10**power)[1]: f"{10**power:g}" for power in range(-1, 3)})
    ticks = {min(_at(10**p, 1e12)[0], _RIGHT - 12): f"{10**p:g}" for p in range(-1, 4)}
    _draw_ticks(drawing, ticks)
    drawing.text(0, _ROOF_TOP - 8, "TFLOP/s", size=11)
    drawing.text(_MIDDLE, _BASE + 29, "FLOP per byte", anchor="middle", size=11)
    _draw_roof(drawing, bytes_per_s, peak)
    _draw_point(drawing, *_at(at, most), "blue" if limit == "memory" else "orange")
    return frame(drawing, title, words)


def _draw_roof(drawing: Drawing, bytes_per_s: float, peak: float) -> None:
    """The slope, FLOP per byte times a copy's bandwidth, up to the ridge, and the flat part behind it."""
    low, high = _FLOP_PER_BYTE
    ridge = _at(peak / bytes_per_s, peak)
    drawing.line([_at(low, low * bytes_per_s), ridge], tone="blue")
    drawing.line([ridge, _at(high, peak)], tone="orange")
    told = f"slope: a copy, {_tb_per_s(bytes_per_s / 1e9)}; roof: peak, {_tflop(peak)}"
    drawing.text(_RIGHT, _ROOF_TOP - 8, told, anchor="end", size=11)


def _at(flop_per_byte: float, flop_per_s: float) -> tuple[float, float]:
    """Where that is on two logarithmic axes."""
    across, up = _share(flop_per_byte, _FLOP_PER_BYTE), _share(flop_per_s / 1e12, _TFLOP_PER_S)
    return _LEFT + across * (_RIGHT - _LEFT), _BASE - up * (_BASE - _ROOF_TOP)


def _share(value: float, ends: tuple[float, float]) -> float:
    """Of a logarithmic axis."""
    low, high = map(math.log, ends)
    return (math.log(value) - low) / (high - low)


def _tflop(flop_per_s: float) -> str:
    return f"{flop_per_s / 1e12:.2g}\N{NO-BREAK SPACE}TFLOP/s"


def _tb_per_s(gb_per_s: float) -> str:
    return f"{gb_per_s / 1000:.1f}\N{NO-BREAK SPACE}TB/s"


# ---- bytes in flight

THREADS, LOADS, LOAD_BYTES = (256, 512, 1024, 2048), (1, 2, 4), (4, 16)
"""Threads on a multiprocessor, loads that each has in flight, bytes of a load: all products of these were probed."""

_LOADS_DRAWN = 4
_TOP = 78
_KIB = (1, 128)
_MOST_GB_PER_S = 5000
_DRAM_KIB = 262144
"""Of an array that no cache holds, so that memory itself answers."""


def in_flight(*, gpu: str = DEFAULT_GPU) -> widgets.Explorer:
    """Sliders over threads, loads and bytes of a load, with the read bandwidth that was probed for each product.

    They start at 2,048 threads with one load of 4 bytes. Raises `BadInput` where the GPU was not probed.
    """
    record = recorded(gpu)
    return sliders(
        {"threads per SM": THREADS, "loads in flight": LOADS, "bytes per load": LOAD_BYTES},
        lambda *chosen: _flying(record, *chosen),
        (THREADS[-1], LOADS[0], LOAD_BYTES[0]),
    )


def _flying(record: Record, threads: int, loads: int, size: int) -> View:
    kib, probes = threads * loads * size / 1024, record.probed("read bandwidth", width=size)
    # in GB/s; of several ways to have as many bytes in flight the fastest
    curve = dict(sorted((one.at["bytes"] / 1024, one.found["gb_per_s"]) for one in probes))
    (probe,) = record.probed("latency", kib=_DRAM_KIB)
    gb_per_s_a_kib = record.multiprocessors * 1024 / probe.found["ns"]
    title = f"{threads:,} × {loads} × {size} B = {kib:.0f} KiB in flight on each SM"
    words = (
        f"Little’s law: {_tb_per_s(kib * gb_per_s_a_kib)}. Reading alone: {_tb_per_s(curve[kib])} "
        f"({record.gpu})."
    )
    drawing = Drawing(_BASE + 32, f"{title}. {words}")
    _draw_loads(drawing, loads, size, probe.found["ns"])
    speeds = range(_MOST_GB_PER_S // 1000 + 1)
    _draw_lines(drawing, {_y(1000 * one): "" if one % 2 else str(one) for one in speeds})
    drawing.text(0, _TOP - 5, "TB/s", size=11)
    _draw_ticks(drawing, {_x(2**power): str(2**power) for power in range(8)})
    drawing.text(_MIDDLE, _BASE + 29, "KiB in flight on each SM", anchor="middle", size=11)
    most = _MOST_GB_PER_S / gb_per_s_a_kib
    powers = [math.log2(most) * at / 12 for at in range(13)]  # the lower axis is logarithmic
    drawing.line([(_x(2**power), _y(2**power * gb_per_s_a_kib)) for power in powers], dashed=True)
    drawing.text(_x(most) - 5, _TOP + 5, "Little’s law", anchor="end", size=11)
    _draw_curve(drawing, curve, kib)
    return frame(drawing, title, words)


def _draw_loads(drawing: Drawing, loads: int, size: int, latency_ns: float) -> None:
    """Four loads of one thread, as long as the answer takes; a later one waits for those before it."""
    turns = _LOADS_DRAWN // loads
    told = f"{_LOADS_DRAWN} loads of a thread, 1 answer takes {latency_ns:.0f} ns: {turns * latency_ns:,.0f} ns"
    drawing.text(0, 11, told, size=11)
    long, high = (_RIGHT - _LEFT) / _LOADS_DRAWN, 4 if size == LOAD_BYTES[0] else 9
    starts = [_LEFT + at // loads * long + at % loads * 3 for at in range(_LOADS_DRAWN)]
    bars = [(start, 18 + 11 * at, long - 3, high) for at, start in enumerate(starts)]
    drawing.boxes(bars, "orange", solid=True)
    end = starts[-1] + long
    drawing.line([(end, 15), (end, 62)], dashed=True)


def _draw_curve(drawing: Drawing, curve: Mapping[float, float], kib: float) -> None:
    seen = [(_x(at), _y(speed)) for at, speed in curve.items() if _KIB[0] <= at <= _KIB[1]]
    drawing.line(seen, tone="blue")
    drawing.dots(seen, "blue")
    x, y = _x(kib), _y(curve[kib])
    _draw_point(drawing, x, y, "orange")
    y += -8 if y > _BASE - 30 else 18  # or it would stand on the axis
    drawing.text(min(x + 10, _RIGHT - 48), y, _tb_per_s(curve[kib]), size=14, bold=True)


def _x(kib: float) -> float:
    return _LEFT + 8 + (_RIGHT - _LEFT - 16) * _share(kib, _KIB)


def _y(gb_per_s: float) -> float:
    return _BASE - (_BASE - _TOP) * gb_per_s / _MOST_GB_PER_S


# ---- loads that leave together, in a loop written out

_VECTORS = 8
_START, _PITCH, _USE = 18, 12, 5
_SM_REGISTERS, _STEP = 65536, 8
"""Registers of a multiprocessor; a thread gets them in steps of 8."""


def loads_together(*, gpu: str = DEFAULT_GPU) -> widgets.Explorer:
    """Sliders over UNROLL and IN_FLIGHT: when `unroll` sends a thread's loads, and how many blocks have room.

    It draws what the compiler made of each setting for blocks of 1,024 threads, and no time. Raises `BadInput`
    where the search was not recorded.
    """
    found = {
        (one.unroll, one.in_flight): one
        for one in unroll_times(gpu, kernel="unroll", rows=1024, block_size=1024)
    }
    unrolls, flights = (sorted(set(of)) for of in zip(*found, strict=True))
    return sliders(
        {"UNROLL": unrolls, "IN_FLIGHT": flights}, lambda *chosen: _together(found[chosen])
    )


def _together(one: UnrollTime) -> View:
    asked = one.asked_bytes / 16
    rounds = math.ceil(_VECTORS / asked)
    turn = one.unroll * one.in_flight
    title = f"8 loads: {asked:.2g} at a time, {count(rounds, 'wait')}"
    words = f"The loop jumps back once per {'vector' if turn == 1 else count(turn, 'vector')}."
    drawing = Drawing(_START + _VECTORS * _PITCH + 60, f"{title}. {words}")
    _draw_rounds(drawing, math.floor(asked), turn)
    top = _START + _VECTORS * _PITCH + 22
    wide = (WIDTH - 2) * math.ceil(one.registers / _STEP) * _STEP * one.block_size / _SM_REGISTERS
    told = f"{one.registers} registers a thread: {count(one.blocks, 'block')} of {one.block_size:,} on an SM"
    drawing.text(0, top, told, size=11)
    drawing.box((1, top + 8, WIDTH - 2, 26), faint=True)
    for i in range(one.blocks):
        drawing.box((1 + i * wide, top + 8, wide, 26), f"block {i + 1}", tone="green")
    return frame(drawing, title, words)


def _draw_rounds(drawing: Drawing, together: int, turn: int) -> None:
    """Loads of a round start one after the other; each is used once the last round is through."""
    long = (WIDTH - 8) / _VECTORS
    at = 4.0
    loads, uses, jumps = [], [], []
    for first in range(0, _VECTORS, together):
        for i in range(together):
            top = _START + (first + i) * _PITCH
            loads.append((at + i, top, long - _USE - 3, _PITCH - 4))
            uses.append((at + i + long - _USE - 3, top, _USE, _PITCH - 4))
        if (first + together) % turn == 0:
            jumps.append(at + long + together - 2)
        at += long
    drawing.boxes(loads, "orange", solid=True)
    drawing.boxes(uses, "blue", solid=True)
    for x in jumps:
        drawing.line([(x, _START - 2), (x, _START + _VECTORS * _PITCH)], dashed=True)
    drawing.text(0, 11, "orange: on its way; blue: used; dashed: jump back", size=11)
