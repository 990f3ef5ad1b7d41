"""Warps of one block that load and compute by turns, as a timeline: who waits, and whether anybody computes meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from softmax_lib.engine.words import count
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.suites.hardware.record import Waits, hardware
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput

_LEFT, _HIGH, _TOP = 26, 18, 6
_CYCLES = 6000
"""Drawn from the first load on."""

Stretch = tuple[float, float]
"""First and last cycle."""


def waits(warps: int, gpu: str = DEFAULT_GPU) -> View:
    """Draw the first turns of so many warps on one multiprocessor, as the clock of a GPU had them.

    Blue a warp waits for its load from DRAM, orange it computes with what came. Raises `BadInput` where these were
    not kept.
    """
    found = hardware(gpu)
    one = found.waits.get(warps)
    if one is None or not one.turns:
        raise BadInput(f"The turns of {count(warps, 'warp')} were not kept on {gpu}.")
    words = "Blue a warp waits for a load, orange it computes."
    drawing = Drawing(_TOP + warps * _HIGH + 42, words)
    for warp in range(warps):
        _draw_warp(drawing, one, warp)
    _draw_legend(drawing)
    return frame(drawing, f"{count(warps, 'warp')} on one SM")


def _draw_warp(drawing: Drawing, one: Waits, warp: int) -> None:
    top = _TOP + warp * _HIGH
    drawing.text(_LEFT - 4, top + 12, f"w{warp}", anchor="end", size=11)
    drawing.boxes(_bars(_waiting(one, warp), top + 5, 5), "blue", solid=True)
    drawing.boxes(_bars(_computing(one, warp), top, 15), "orange", solid=True)


def _draw_legend(drawing: Drawing) -> None:
    line = drawing.height - 22
    for left, tone, word in ((_LEFT, "blue", "waits for a load"), (170, "orange", "computes")):
        drawing.boxes([(left, line - 9, 12, 9)], tone, solid=True)
        drawing.text(left + 17, line, word, anchor="start", size=12)
    drawing.text(
        _LEFT, line + 18, f"from left to right: {_CYCLES:,} cycles", anchor="start", size=12
    )


def _bars(
    stretches: Iterable[Stretch], top: float, high: float
) -> list[tuple[float, float, float, float]]:
    scale = (WIDTH - _LEFT) / _CYCLES
    return [(_LEFT + a * scale, top, (b - a) * scale, high) for a, b in stretches if b > a]


def _waiting(one: Waits, warp: int) -> Iterator[Stretch]:
    for who, asked, came in one.turns:
        if who == warp:
            yield asked, min(came, _CYCLES)


def _computing(one: Waits, warp: int) -> Iterator[Stretch]:
    """From where a load has come to where the warp asks for the next one."""
    turns = [turn for turn in one.turns if turn[0] == warp]
    for (_, _, came), (_, asked, _) in pairwise(turns):
        yield came, min(asked, _CYCLES)
