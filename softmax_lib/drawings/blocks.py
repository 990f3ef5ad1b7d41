"""Frames of what the threads of a block do in shared memory, and what the lanes of a warp exchange."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from softmax_lib.drawings.drawing import WIDTH, Drawing, frame, number, places
from softmax_lib.widgets.views import View
from softmax_lib.xrays.exchanges import Exchange
from softmax_lib.xrays.reductions import SharedStep

_BOX = 32
_TOP, _BOTTOM = 18, 98
_HEIGHT = _BOTTOM + _BOX + 20
_BARRIER_HEIGHT = _HEIGHT + 30
_SMALL = 12
_WARP_GAP = 14
_MOST_LABELS = 8

Values = Mapping[int, float | None]
"""What stands in a row of boxes, by thread or by element; None where nothing was written yet."""


def write_frame(step: SharedStep) -> View:
    """Threads that put a value each into shared memory."""
    drawing = Drawing(_BARRIER_HEIGHT, "Threads above, the elements they write below")
    threads = {thread: step.after[index] for thread, index in step.writes.items()}
    places_above = _row(drawing, _TOP, threads, "t{}", _TOP - 6)
    places_below = _elements(drawing, _BOTTOM, step.after, step.writes.values(), "orange")
    for thread, index in step.writes.items():
        _arrow(drawing, places_above[thread], places_below[index])
    _barrier(drawing)
    stored = [f"t{t} writes {_written(v)}" for t, v in threads.items()]
    return frame(drawing, f"{_who(threads, 'write')} shared memory", _sentence(stored))


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


def read_frame(step: SharedStep) -> View:
    """Threads that read an element of shared memory each."""
    drawing = Drawing(
        _HEIGHT, "The elements of shared memory above, the threads that read them below"
    )
    sources = {thread: indices[0] for thread, indices in step.reads.items()}
    values = {thread: step.before[index] for thread, index in sources.items()}
    above = _elements(drawing, _TOP, step.before, sources.values(), "blue")
    below = _row(
        drawing, _BOTTOM, values, "t{}", _BOTTOM + _BOX + 14, dict.fromkeys(values, "orange")
    )
    for thread, index in sources.items():
        _arrow(drawing, above[index], below[thread])
    read = [f"t{t} reads {_written(v)}" for t, v in values.items()]
    return frame(drawing, f"{_who(values, 'read')} shared memory", _sentence(read))


def reduction_frame(exchange: Exchange, warp_size: int) -> View:
    """One shuffle of a reduction: lanes combine their value with the one that they receive.

    Thin arrows carry what the result does not depend on.
    """
    drawing = _warps(exchange, warp_size)
    kept = [
        f"t{t}: {number(exchange.given[t])} and {number(exchange.received[t])}, "
        f"keeps {number(exchange.kept[t])}"
        for t in sorted(exchange.counts)
    ]
    return frame(drawing, f"Shuffle by {_distance(exchange)}: no barrier", _sentence(kept))


def _distance(exchange: Exchange) -> int:
    return max(abs(source - thread) for thread, source in exchange.sources.items())


def _warps(exchange: Exchange, warp_size: int) -> Drawing:
    warps = sorted({thread // warp_size for thread in exchange.given})
    columns = 2 if warp_size <= 4 and len(warps) > 1 else 1
    width, height = WIDTH / columns, _BOTTOM + _BOX + _WARP_GAP
    drawing = Drawing(
        -(-len(warps) // columns) * height, "Each lane's value above, what it has afterwards below"
    )
    for place, warp in enumerate(warps):
        line, column = divmod(place, columns)
        lanes = {t: v for t, v in exchange.given.items() if t // warp_size == warp}
        left, top = column * width, line * height
        begins = _row(drawing, top + _TOP, lanes, "t{}", top + _TOP - 6, left=left, width=width)
        tones = dict.fromkeys(exchange.counts, "orange")
        ends = _row(
            drawing,
            top + _BOTTOM,
            {t: exchange.kept.get(t) for t in lanes},
            "",
            0,
            tones,
            left=left,
            width=width,
        )
        for thread in lanes:
            tone = "blue" if thread in exchange.counts else "plain"
            for start in sorted({exchange.sources[thread], thread}):
                _arrow(drawing, begins[start], ends[thread], tone, top)
    return drawing


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
    tones: Mapping[int, str] | None = None,
    *,
    left: float = 0,
    width: float = WIDTH,
) -> dict[int, float]:
    """Boxes side by side, by key; returns the middle of each."""
    middles = {}
    for (key, value), (at, wide) in zip(
        values.items(), places(len(values), left, width), strict=True
    ):
        written = "" if value is None else number(value)
        drawing.box(
            at, top, wide, _BOX, written, tone=(tones or {}).get(key, "plain"), faint=value is None
        )
        middles[key] = at + wide / 2
        if label and (len(values) <= _MOST_LABELS or key in (min(values), max(values))):
            drawing.text(middles[key], label_line, label.format(key), size=_SMALL)
    return middles


def _arrow(
    drawing: Drawing, above: float, below: float, tone: str = "blue", top: float = 0
) -> None:
    aside = max(-4.0, min(4.0, above - below))  # two arrows that end at one box stay apart
    drawing.arrow((above, top + _TOP + _BOX + 3), (below + aside, top + _BOTTOM - 3), tone=tone)


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


def _sentence(parts: Sequence[str]) -> str:
    return "; ".join(parts) + "."
