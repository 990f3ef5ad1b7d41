"""A block's warps between its barriers: who works, who only waits. Read from a trace, which has no time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from softmax_lib import emulator
from softmax_lib.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.emulator import Trace
from softmax_lib.emulator.events import ATOMIC, BARRIER, SHUFFLE, SYNCWARP
from softmax_lib.registry import resolve
from softmax_lib.source import WARP, Source
from softmax_lib.widgets.views import View

_LEFT, _TOP, _LEGEND = 30, 16, 44
_TONES = {"blue": "global memory", "orange": "shared memory", "green": "shuffles"}


@dataclass(frozen=True, eq=False)
class Timeline:
    """Lanes of each warp that do something in each stretch between barriers.

    `lanes[kind]` is an array of shape (warps, stretches), for the kinds "blue" (global memory),
    "orange" (shared memory) and "green" (shuffles and votes).
    """

    kernel: str
    block_size: int
    lanes: dict[str, np.ndarray]

    @property
    def stretches(self) -> int:
        """Stretches between barriers, the first before any and the last after all of them."""
        return self.lanes["blue"].shape[1]

    @property
    def working(self) -> np.ndarray:
        """Warps of which any lane does something, by stretch."""
        return np.count_nonzero(np.add.reduce(list(self.lanes.values())), axis=0)


def timeline(
    kernel_or_source: str | Source, cols: int = 4096, block_size: int | None = None
) -> View:
    """Draw a block's warps between barriers, as one row of `cols` elements sends them there.

    Raises what `run` and `trace` raise.
    """
    return draw_timeline(read_timeline(kernel_or_source, cols, block_size))


def read_timeline(
    kernel_or_source: str | Source, cols: int, block_size: int | None = None
) -> Timeline:
    """What each warp of the first block does between barriers; `cols` as for `timeline`."""
    kernel = resolve(kernel_or_source)
    size = kernel.settle_block_size(block_size, cols)
    trace = emulator.trace(kernel, torch.zeros(1, cols), size, grid=1)
    events = trace.events[trace.events["step"] == 0]
    stretch = _stretches(events)
    shape = (-(-size // WARP), int(stretch.max()) + 1)
    lanes = {
        tone: _lanes(events[kind], stretch[kind], shape)
        for tone, kind in _kinds(trace, events).items()
    }
    return Timeline(kernel.name, size, lanes)


def _kinds(trace: Trace, events: np.ndarray) -> dict[str, np.ndarray]:
    operation = events["operation"]
    shared = np.isin(events["array"], [i for i, a in enumerate(trace.arrays) if a.is_shared])
    calls = operation >= SHUFFLE  # votes come after shuffles
    access = operation <= ATOMIC
    return {"blue": access & ~shared, "orange": access & shared, "green": calls}


def _stretches(events: np.ndarray) -> np.ndarray:
    """How many barriers the event's own thread had passed before it."""
    order = np.argsort(events["thread"], kind="stable")
    is_barrier = (events["operation"] >= BARRIER) & (events["operation"] < SYNCWARP)
    passed: np.ndarray = np.cumsum(is_barrier[order]) - is_barrier[order]
    threads = events["thread"][order]
    first = np.searchsorted(threads, threads)
    stretch = np.empty(len(events), np.int64)
    stretch[order] = passed - passed[first]
    return stretch


def _lanes(events: np.ndarray, stretch: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    busy = np.zeros((shape[0], WARP, shape[1]), bool)
    busy[events["thread"] // WARP, events["thread"] % WARP, stretch] = True
    return busy.sum(axis=1)


def draw_timeline(found: Timeline) -> View:
    """A row a warp, a column a stretch; a box is as wide as the share of lanes that take part."""
    warps, stretches = found.lanes["blue"].shape
    high = max(5, min(18, 220 // warps))
    pitch = (WIDTH - _LEFT) / stretches
    title = f"{found.kernel}: {warps} warps, {stretches - 1} barriers"
    drawing = Drawing(_TOP + warps * high + _LEGEND, f"{title}; {in_words(found)}")
    for stretch in range(0, stretches, 1 + stretches // 13):
        drawing.text(_LEFT + (stretch + 0.5) * pitch, _TOP - 4, str(stretch + 1), size=10)
    for warp in (0, warps - 1):
        middle = _TOP + (warp + 0.5) * high + 4
        drawing.text(_LEFT - 4, middle, f"w{warp}", anchor="end", size=10)
    cells = [(w, s) for w in range(warps) for s in range(stretches)]
    room = {(w, s): (_LEFT + s * pitch + 1, _TOP + w * high) for w, s in cells}
    drawing.boxes([(*room[c], pitch - 2, high - 1) for c in cells], "plain")
    _fill(drawing, found, room, (pitch - 2, high - 1))
    _draw_legend(drawing)
    return frame(drawing, title, in_words(found))


def _fill(
    drawing: Drawing,
    found: Timeline,
    room: dict[tuple[int, int], tuple[float, float]],
    size: tuple[float, float],
) -> None:
    """The kinds of work of a cell lie one under the other."""
    wide, high = size
    for tone in _TONES:
        boxes = []
        for (warp, stretch), (left, top) in room.items():
            there = [t for t in _TONES if found.lanes[t][warp, stretch]]
            if tone in there:
                part = high / len(there)
                share = found.lanes[tone][warp, stretch] / WARP
                boxes.append((left, top + there.index(tone) * part, wide * share, part))
        drawing.boxes(boxes, tone, solid=True)


def _draw_legend(drawing: Drawing) -> None:
    line = drawing.height - 8
    for left, (tone, words) in zip((0, 125, 250), _TONES.items(), strict=True):
        drawing.boxes([(left + 1, line - 10, 12, 10)], tone, solid=True)
        drawing.text(left + 18, line, words, anchor="start", size=12)
    words = "columns: between barriers; widths: lanes that take part"
    drawing.text(0, line - 18, words, anchor="start", size=11)


def in_words(found: Timeline) -> str:
    """How many warps do something in each stretch."""
    counts = ", ".join(map(str, found.working.tolist()))
    return f"From barrier to barrier {counts} warps do something; the others only wait."
