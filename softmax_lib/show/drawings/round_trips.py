"""Trips of a row between memory and registers, step by step: in four launches, read twice, and kept."""

from __future__ import annotations

import math
from dataclasses import dataclass

from softmax_lib import widgets
from softmax_lib.show.drawings.drawing import Drawing, frame, number, places, sliders
from softmax_lib.widgets.views import View

ROW = (3.0, 2.0, 5.0, 1.0)
_TERMS = tuple(math.exp(value - max(ROW)) for value in ROW)
_OUTPUT = tuple(term / sum(_TERMS) for term in _TERMS)
_NOTHING = (None,) * len(ROW)

_LEFT, _ACROSS, _HIGH = 74, 200, 26
_X, _REGISTERS, _Y, _TRIPS = 2, 50, 98, 144


@dataclass(frozen=True)
class Step:
    """What a kernel does next: the trips that it makes, and what registers and y hold after it."""

    does: str
    trips: tuple[str, ...]
    registers: tuple[float | None, ...]
    y: tuple[float | None, ...]
    told: str


STEPS = {
    "unfused": (
        Step("launch 1, max", ("read x",), ROW, _NOTHING, "The launch ends: registers are lost."),
        Step("launch 2, exp", ("read x", "write y"), _TERMS, _TERMS, "The exponentials go to memory."),
        Step("launch 3, sum", ("read y",), _TERMS, _TERMS, "And they come back, to be added up."),
        Step("launch 4, divide", ("read y", "write y"), _OUTPUT, _OUTPUT, "Once more there and back."),
    ),
    "float4": (
        Step("read", ("read x",), ROW, _NOTHING, "A thread updates its max and sum."),
        Step("meet", (), _NOTHING, _NOTHING, "Other floats came after these: they’re gone."),
        Step("read again", ("read x",), ROW, _NOTHING, "The same floats, a second time."),
        Step("write", ("write y",), _OUTPUT, _OUTPUT, "exp(x − max) / sum."),
    ),
    "fusion": (
        Step("read", ("read x",), ROW, _NOTHING, "The only time."),
        Step("exp and sum", (), _TERMS, _NOTHING, "In registers, under the warp’s own max."),
        Step("meet", (), _TERMS, _NOTHING, "Warps merge max and sum. The row stays."),
        Step("write", ("write y",), _OUTPUT, _OUTPUT, "One factor per thread, and out."),
    ),
}  # fmt: skip
"""By kernel, four steps of it."""


def trips() -> widgets.Explorer:
    """Sliders over three kernels and their steps: where a row of four floats is, and how often it went to memory."""
    return sliders({"kernel": list(STEPS), "step": range(1, 5)}, _show, (next(iter(STEPS)), 2))


def _show(kernel: str, count: int) -> View:
    step, all_trips = STEPS[kernel][count - 1], [t for one in STEPS[kernel] for t in one.trips]
    made = sum(len(one.trips) for one in STEPS[kernel][:count])
    moved = f"{made} × 16 = {16 * made} bytes moved so far"
    drawing = Drawing(_TRIPS + 36, f"{', '.join(step.trips) or 'no trip'}; {moved}. {step.told}")
    _draw_row(drawing, _X, "x, memory", ROW, "read x" in step.trips)
    _draw_row(drawing, _REGISTERS, "registers", step.registers, True)
    _draw_row(drawing, _Y, "y, memory", step.y, {"read y", "write y"} & {*step.trips})
    aside = 8 if {"read y", "write y"} <= {*step.trips} else 0
    ends = {
        "read x": (0, _X + _HIGH + 3, _REGISTERS - 3),
        "read y": (-aside, _Y - 3, _REGISTERS + _HIGH + 3),
        "write y": (aside, _REGISTERS + _HIGH + 3, _Y - 3),
    }
    for left, width in places(len(ROW), _LEFT, _ACROSS):
        for trip in step.trips:
            off, start, end = ends[trip]
            x = left + width / 2 + off
            drawing.arrow((x, start), (x, end), tone="orange")
    drawing.text(0, _TRIPS, moved, bold=True)
    for at, trip in enumerate(all_trips):
        now = made - len(step.trips) <= at < made
        tone = "plain" if at >= made else "orange" if now else "blue"
        drawing.box((56 * at + 1, _TRIPS + 7, 52, _HIGH), tone=tone, faint=at >= made)
        drawing.text(56 * at + 27, _TRIPS + 24, trip if at < made else "", anchor="middle", size=11)
    return frame(drawing, f"{kernel}, {step.does}", step.told)


def _draw_row(drawing: Drawing, top: float, name: str, values: tuple, is_used: object) -> None:
    drawing.text(0, top + _HIGH / 2 + 5, name)
    for value, (left, width) in zip(values, places(len(values), _LEFT, _ACROSS), strict=True):
        is_there = value is not None
        tone = "green" if top == _REGISTERS else "orange" if is_used else "blue"
        text = number(value) if is_there else ""
        drawing.box(
            (left, top, width, _HIGH), tone=tone if is_there else "plain", faint=not is_there
        )
        drawing.text(left + width / 2, top + 17, text, anchor="middle", size=11)
