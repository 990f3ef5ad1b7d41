"""Frames of what the threads of a block do in shared memory, and what the lanes of a warp exchange."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame, number, places
from softmax_lib.widgets.views import View
from softmax_lib.worklog.reductions import Exchange, SharedStep

_BOX = 32
_TOP, _BOTTOM = 18, 98
_HEIGHT = _BOTTOM + _BOX + 20
_BARRIER_HEIGHT = _HEIGHT + 30
_ROW = 62
"""From one row of lanes to the next."""
_SMALL = 12

Values = Mapping[int, float | None]
"""What stands in a row of boxes, by thread or by element; None where nothing was written yet."""


def tree_frame(step: SharedStep) -> View:
    """One step of the tree: each working thread reads two elements and keeps one."""
    kept = _sentence([_kept(step, thread) for thread in step.writes])
    drawing = Drawing(_BARRIER_HEIGHT, kept)
    read = [index for indices in step.reads.values() for index in indices]
    above = _elements(drawing, _TOP, step.before, read, "blue")
    below = _elements(drawing, _BOTTOM, step.after, step.writes.values(), "orange")
    for thread, index in step.writes.items():
        for source in step.reads[thread]:
            _arrow(drawing, above[source], below[index])
    _barrier(drawing)
    stride = max(max(indices) - min(indices) for indices in step.reads.values())
    title = f"Stride {stride}: {_who(step.writes, 'work')}, all wait"
    return frame(drawing, title)


def butterfly_frame(rounds: Sequence[Exchange], step: int) -> View:
    """A warp's maximum after `step` + 1 of its exchanges, one below the other: a row of boxes is its lanes.

    Above each lane stand the bits of its number.
    """
    now, last = rounds[step], rounds[-1]
    largest = {lane: max(own, last.received[lane]) for lane, own in last.given.items()}
    rows = [*(exchange.given for exchange in rounds), largest]
    drawing = Drawing(
        _TOP + _ROW * len(rounds) + _BOX + 4,
        _sentence(
            f"lane {lane}: {number(own)} and {number(now.received[lane])}, "
            f"keeps {number(rows[step + 1][lane])}"
            for lane, own in now.given.items()
        ),
    )
    bits = f"{{:0{len(rounds)}b}}"
    for line, values in enumerate(rows):
        known = values if line <= step + 1 else dict.fromkeys(values)
        tones = dict.fromkeys(values, {step: "blue", step + 1: "orange"}.get(line, "plain"))
        top = _TOP + line * _ROW
        middles = _row(drawing, top, known, "" if line else bits, top - 6, tones)
        for lane, source in rounds[line - 1].sources.items() if 0 < line <= step + 1 else ():
            for start in sorted({source, lane}):
                _arrow(drawing, middles[start], middles[lane], line == step + 1, top - _ROW, top)
    bit = max(lane ^ source for lane, source in now.sources.items())
    left = "1 candidate" if bit == 1 else f"{bit} candidates"
    return frame(drawing, f"Lanes i and i ^ {bit}: {left} left")


def _elements(
    drawing: Drawing, top: float, values: Sequence[float | None], marked: Iterable[int], tone: str
) -> dict[int, float]:
    label_line = top - 6 if top == _TOP else top + _BOX + 14
    tones = dict.fromkeys(marked, tone)
    return _row(drawing, top, dict(enumerate(values)), "[{}]", label_line, tones)


def _row(
    drawing: Drawing,
    top: float,
    values: Values,
    label: str,
    label_line: float,
    tones: Mapping[int, str],
) -> dict[int, float]:
    """Boxes side by side, by key; returns the middle of each."""
    middles = {}
    for (key, value), (at, wide) in zip(values.items(), places(len(values)), strict=True):
        written = "" if value is None else number(value)
        drawing.box(at, top, wide, _BOX, written, tone=tones.get(key, "plain"), faint=value is None)
        middles[key] = at + wide / 2
        if label:
            drawing.text(middles[key], label_line, label.format(key), size=_SMALL)
    return middles


def _arrow(
    drawing: Drawing,
    above: float,
    below: float,
    is_now: bool = True,
    top: float = _TOP,
    bottom: float = _BOTTOM,
) -> None:
    """From a box at `top` to one at `bottom`; where it was drawn before, a faint line."""
    aside = max(-4.0, min(4.0, above - below))  # two arrows that end at one box stay apart
    start, end = (above, top + _BOX + 3), (below + aside, bottom - 3)
    if is_now:
        drawing.arrow(start, end)
    else:
        drawing.line([start, end], faint=True)


def _barrier(drawing: Drawing) -> None:
    line = _HEIGHT + 4
    drawing.line([(0, line), (WIDTH, line)], dashed=True)
    drawing.text(WIDTH / 2, line + 18, "__syncthreads(): all threads wait here", size=_SMALL)


def _kept(step: SharedStep, thread: int) -> str:
    own, *others = sorted(step.reads[thread])
    pair = " and ".join(_written(step.before[index]) for index in (own, *others))
    return f"t{thread}: {pair}, keeps {_written(step.after[step.writes[thread]])}"


def _written(value: float | None) -> str:
    return "nothing" if value is None else number(value)


def _who(threads: Mapping[int, object], verb: str) -> str:
    return f"1 thread {verb}s" if len(threads) == 1 else f"{len(threads)} threads {verb}"


def _sentence(parts: Iterable[str]) -> str:
    return "; ".join(parts) + "."
