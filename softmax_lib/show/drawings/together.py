"""A loop written out, to be moved through: which of eight loads of a thread leave together, and what room they take."""

from __future__ import annotations

import math

from softmax_lib.engine.words import count
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.suites.unroll.record import UnrollTime, unroll_times
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.views import View

_VECTORS, _BYTES = 8, 16
_TOP, _PITCH, _USE = 18, 12, 5
_SM_REGISTERS, _STEP = 65536, 8
"""Registers of a multiprocessor; a thread gets them in steps of 8."""


def loads_together(*, gpu: str = DEFAULT_GPU) -> Explorer:
    """Sliders over UNROLL and IN_FLIGHT: when `unroll` sends a thread's loads, and how many blocks have room.

    It draws what the compiler made of each setting for blocks of 1,024 threads, and no time. Raises `BadInput`
    where the search was not recorded.
    """
    found = {
        (one.unroll, one.in_flight): one
        for one in unroll_times(gpu, kernel="unroll", rows=1024, block_size=1024)
    }
    unrolls, flights = (sorted(set(of)) for of in zip(*found, strict=True))
    shown = explorer(
        {"UNROLL": unrolls, "IN_FLIGHT": flights},
        lambda *chosen: _show(found[chosen]),
        start=(unrolls[0], flights[0]),
    )
    shown.add_class("worklog-two-columns")
    return shown


def _show(one: UnrollTime) -> View:
    asked = one.asked_bytes / _BYTES
    rounds = math.ceil(_VECTORS / asked)
    turn = one.unroll * one.in_flight
    title = f"8 loads: {asked:.2g} at a time, {count(rounds, 'wait')}"
    words = f"The loop jumps back once per {'vector' if turn == 1 else count(turn, 'vector')}."
    drawing = Drawing(_TOP + _VECTORS * _PITCH + 60, f"{title}. {words}")
    _draw_loads(drawing, math.floor(asked), turn)
    _draw_room(drawing, one, _TOP + _VECTORS * _PITCH + 22)
    return frame(drawing, title, words)


def _draw_loads(drawing: Drawing, together: int, turn: int) -> None:
    """Loads of a round start one after the other; each is used once the last round is through."""
    long = (WIDTH - 8) / _VECTORS
    at = 4.0
    loads, uses, jumps = [], [], []
    for first in range(0, _VECTORS, together):
        for i in range(together):
            top = _TOP + (first + i) * _PITCH
            loads.append((at + i, top, long - _USE - 3, _PITCH - 4))
            uses.append((at + i + long - _USE - 3, top, _USE, _PITCH - 4))
        if (first + together) % turn == 0:
            jumps.append(at + long + together - 2)
        at += long
    drawing.boxes(loads, "orange", solid=True)
    drawing.boxes(uses, "blue", solid=True)
    for x in jumps:
        drawing.line([(x, _TOP - 2), (x, _TOP + _VECTORS * _PITCH)], dashed=True)
    drawing.text(
        0, 11, "orange: on its way; blue: used; dashed: jump back",
        anchor="start", size=11,
    )  # fmt: skip


def _draw_room(drawing: Drawing, one: UnrollTime, top: float) -> None:
    """The registers of a multiprocessor, and what blocks take of them."""
    per_thread = math.ceil(one.registers / _STEP) * _STEP
    wide = (WIDTH - 2) * per_thread * one.block_size / _SM_REGISTERS
    told = f"{one.registers} registers a thread: {count(one.blocks, 'block')} of {one.block_size:,} on an SM"
    drawing.text(0, top, told, anchor="start", size=11)
    drawing.box(1, top + 8, WIDTH - 2, 26, faint=True)
    for i in range(one.blocks):
        drawing.box(1 + i * wide, top + 8, wide, 26, f"block {i + 1}", tone="green")
