"""Where the blocks of a launch went: every multiprocessor with what it held, and wave after wave how many there were."""

from __future__ import annotations

from softmax_lib.engine.words import count
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame
from softmax_lib.show.drawings.hardware_map import corners, height
from softmax_lib.suites.hardware.record import Hardware, Places, hardware
from softmax_lib.widgets.views import View

_SIDE = 13.0
_TOP, _BARS = 22, 40


def places(blocks: int, threads: int, gpu: str = DEFAULT_GPU) -> View:
    """Draw a launch of `blocks` blocks of `threads` threads, as a GPU placed them when it was measured.

    A square is a multiprocessor, filled as far as it had threads of those it has room for, half way through the
    first wave; below it, how many blocks were at work in each wave. Raises `BadInput` for a launch that was not
    measured.
    """
    found = hardware(gpu)
    one = found.placed(blocks, threads)
    words = f"{found.multiprocessors} SMs: {_in_words(found, one)}"
    waves = count(len(one.held), "wave")
    title = f"{blocks:,} blocks of {threads:,} threads: {waves}, {one.took_ns / 1e3:.0f} µs"
    below = _TOP + height(found.multiprocessors) + 24
    drawing = Drawing(below + _BARS + 18, words)
    drawing.text(0, 14, words, anchor="start", size=12)
    _draw_room(drawing, found, one)
    _draw_waves(drawing, one, below)
    most = found.limits["MaxThreadsPerMultiProcessor"]
    caption = f"Full: {most:,} threads ({found.source})."
    return View(frame(drawing, title, caption).html, f"{title}. {words}. {caption}")


def _draw_room(drawing: Drawing, found: Hardware, one: Places) -> None:
    most = found.limits["MaxThreadsPerMultiProcessor"]
    frames, fills = [], []
    for held, (left, top) in zip(one.held[0], corners(found.multiprocessors, _TOP), strict=True):
        high = max(1.5, _SIDE * held * one.threads / most) if held else 0
        frames.append((left, top, _SIDE, _SIDE))
        fills.append((left, top + _SIDE - high, _SIDE, high))
    drawing.boxes(frames, "plain")
    drawing.boxes([fill for fill in fills if fill[3]], "blue", solid=True)


def _draw_waves(drawing: Drawing, one: Places, top: float) -> None:
    """A bar for each wave, as high as it had blocks."""
    sums = [sum(moment) for moment in one.held]
    drawing.text(
        0, top - 6, "blocks at work, wave by wave (to its own scale)", anchor="start", size=12
    )
    wide = min(60.0, WIDTH / len(sums))
    bars = [
        (i * wide + 1, top + _BARS * (1 - total / max(sums)), wide - 3, _BARS * total / max(sums))
        for i, total in enumerate(sums)
    ]
    drawing.boxes(bars, "orange", solid=True)
    for at in {0, len(sums) - 1}:
        drawing.text(at * wide + wide / 2, top + _BARS + 14, f"{sums[at]:,}", size=11)


def _in_words(found: Hardware, one: Places) -> str:
    """How many blocks a multiprocessor got at first, and how many of this size it has room for."""
    if idle := one.held[0].count(0):
        return f"{found.multiprocessors - idle} got a block, {idle} got none"
    least, most = min(one.held[0]), found.limits["MaxThreadsPerMultiProcessor"]
    room = min(most // one.threads, found.limits["MaxBlocksPerMultiprocessor"])
    got = f"{one.most}" if one.most == least else f"{least} or {one.most}"
    if one.most < room:
        return f"each got {got}, and has room for {count(room, 'block')}"
    return f"each is full with {count(room, 'block')}, {room * one.threads:,} threads"
