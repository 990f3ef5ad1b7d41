"""Tiny rows, step by step: the online recurrence, the tree in shared memory, the warp shuffle, lists of the largest.

What they draw is what the kernels did in the emulator, and needs no kernel to be moved through.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from softmax_lib.show.drawings.drawing import WIDTH, Drawing, Point, frame, number, places, sliders
from softmax_lib.widgets.boxes import Shown
from softmax_lib.widgets.explorers import Explorer, stepper
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.reductions import (
    Exchange,
    OnlineStep,
    SharedStep,
    between_barriers,
    exchanges,
    online_steps,
    shared_steps,
    trace_row,
)

MOST_CELLS = 8
"""Values that stand side by side and can still be read on a phone."""

Values = Mapping[int, float | None]
"""What stands in a row of boxes, by thread or by element; None where nothing was written yet."""


def online(*rows: Sequence[float], read: int = 1) -> Explorer:
    """Read rows of up to 8 values as `online` does, one after the other: running maximum, running sum, correction.

    It starts with `read` of the first row's. The rows are of one length, and -inf is a masked score.
    Raises `BadInput` for others.
    """
    for values in rows:
        _check_length(values)
    if len({len(values) for values in rows}) != 1:
        raise BadInput(f"The rows of this picture have one length, unlike {list(rows)}.")
    steps = {", ".join(map(number, values)): (values, online_steps(values)) for values in rows}

    def show(row: str, count: int) -> View:
        values, found = steps[row]
        return _online(values, found[count - 1], count - 1)

    axes = {"row": list(steps), "scores read": range(1, len(rows[0]) + 1)}
    return sliders(axes, show, (next(iter(steps)), read))


def tree(values: Sequence[float], warp_size: int = 8) -> Shown:
    """Step through the maximum of up to 8 values as `shared` finds it: a tree in shared memory.

    There are as many threads as values, a power of two, in warps of `warp_size` lanes.
    """
    _check_length(values)
    _, *steps, _ = shared_steps(trace_row("shared", values, warp_size))
    return stepper([_tree(step) for step in steps]).add_class("worklog-two-columns")


def shuffle(values: Sequence[float]) -> Shown:
    """Step through the maximum of 2, 4 or 8 values as a warp of so many lanes finds it in `shuffle`."""
    if len(values) not in (2, 4, MOST_CELLS):
        raise BadInput(f"A warp of this stepper has 2, 4 or 8 lanes, not {len(values)}.")
    in_warp = between_barriers(trace_row("shuffle", values, len(values)))[0]
    rounds = exchanges(in_warp, len(values))
    frames = [_butterfly(rounds, step) for step in range(len(rounds))]
    return stepper(frames, label="exchange").add_class("worklog-two-columns")


def lists(values: Sequence[float], k: int = 2) -> Shown:
    """Step through up to 24 different values, 4 a turn, as a warp of 4 lanes keeps the `k` largest.

    One list per lane, as in `topk`, and below it one list for the warp, as in `topk_warp`, with the steps that
    each has taken. Raises `BadInput`.
    """
    given = len(values)
    if not given or given % _LANES or given > 6 * _LANES or k not in (2, 3):
        takes = "The drawing takes 4 to 24 values, 4 a turn, and a k of 2 or 3"
        raise BadInput(f"{takes}, not {given} and {k}.")
    turns = [list(values[i : i + _LANES]) for i in range(0, len(values), _LANES)]
    steps = [0, 0]
    frames = [_lists(turns, turn, k, steps) for turn in range(len(turns))]
    return stepper(frames).add_class("worklog-two-columns")


def _check_length(values: Sequence[float]) -> None:
    given = len(values)
    if given > MOST_CELLS:
        raise BadInput(f"This stepper draws up to {MOST_CELLS} values, and was given {given}.")


# ---- the online recurrence: terms of the sum as bars, and below them all that the kernel keeps

_CELL, _BASE, _HIGH = 28, 94, 56
_MAXIMUM, _SUM = 104, 138
_BEFORE, _AFTER, _WIDTH = 76, 262, 76


def _online(values: Sequence[float], step: OnlineStep, index: int) -> View:
    """The row with value `index` just read, each term of the sum, and maximum and sum before and after."""
    told = _recurrence(step)
    drawing = Drawing(_SUM + _CELL + 2, f"The row, the terms of its sum, and the sum: {told}")
    for at, (value, (left, width)) in enumerate(zip(values, places(len(values)), strict=True)):
        is_new = at == index
        tone = "orange" if is_new else "plain"
        drawing.box((left, 2, width, _CELL), number(value), tone=tone, faint=at > index)
        if at < index and step.rescales:  # the outline of what it was under the old maximum
            high = _HIGH * _term(value, step.old_max)
            drawing.box((left, _BASE - high, width, high), faint=True)
        if at <= index:
            high = _HIGH * _term(value, step.new_max)
            bar = (left, _BASE - high, width, high)
            drawing.boxes([bar], "orange" if is_new else "blue", solid=True)
    drawing.text(0, _BASE - 8, "exp(x − max)", size=11)
    if step.rescales:
        drawing.text(WIDTH, _BASE - 8, "dashed: before", anchor="end", size=11)
    _before_and_after(drawing, _MAXIMUM, "max", step.old_max, step.new_max, "")
    factor = f"× {number(step.correction)} " if step.rescales else ""
    change = f"{factor}+ {number(step.term)}"
    _before_and_after(drawing, _SUM, "sum", step.old_sum, step.new_sum, change)
    subscript = str(index).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
    return frame(drawing, f"x{subscript} = {number(step.value)}: {_news(step)}", told)


def _term(value: float, maximum: float) -> float:
    return 0.0 if math.isinf(value) else math.exp(value - maximum)


def _before_and_after(
    drawing: Drawing, top: float, name: str, before: float, after: float, change: str
) -> None:
    middle = top + _CELL / 2
    drawing.text(0, middle + 5, name, size=14)
    drawing.box((_BEFORE, top, _WIDTH, _CELL), number(before))
    start, end = _BEFORE + _WIDTH + 6, _AFTER - 6
    drawing.text((start + end) / 2, middle - 5, change, anchor="middle", bold="×" in change)
    drawing.arrow((start, middle + 2), (end, middle + 2))
    tone = "orange" if after != before else "plain"
    drawing.box((_AFTER, top, _WIDTH, _CELL), number(after), tone=tone)


def _news(step: OnlineStep) -> str:
    if math.isinf(step.value):
        return "masked, passed over"
    if step.rescales:
        return f"a new maximum, old sum × {number(step.correction)}"
    return "the first maximum" if math.isinf(step.old_max) else "the maximum stays"


def _recurrence(step: OnlineStep) -> str:
    if math.isinf(step.value):
        why = "exp(−∞ − (−∞)) would be NaN" if math.isinf(step.old_max) else "exp(−∞) is 0"
        return f"{why}; the sum stays {number(step.new_sum)}"
    new, old = number(step.new_max), number(step.old_sum)
    subtracted = f"({new})" if new.startswith("−") else new
    factor = f" × exp({number(step.old_max)} − {subtracted})" if step.rescales else ""
    return f"{old}{factor} + exp({number(step.value)} − {subtracted}) = {number(step.new_sum)}"


# ---- threads of a block in shared memory, and lanes of a warp that exchange

_BOX, _TOP, _BOTTOM = 32, 18, 98
_BARRIER = _BOTTOM + _BOX + 24
_ROW = 62
"""From one row of lanes to the next."""


def _tree(step: SharedStep) -> View:
    """One step of the tree: each working thread reads two elements and keeps one."""
    kept = "; ".join(_kept(step, thread) for thread in step.writes)
    drawing = Drawing(_BARRIER + 26, f"{kept}.")
    read = dict.fromkeys((index for of in step.reads.values() for index in of), "blue")
    written = dict.fromkeys(step.writes.values(), "orange")
    before, after = dict(enumerate(step.before)), dict(enumerate(step.after))
    above = _draw_values(drawing, _TOP, before, "[{}]", -6, read)
    below = _draw_values(drawing, _BOTTOM, after, "[{}]", _BOX + 14, written)
    for thread, index in step.writes.items():
        for source in step.reads[thread]:
            drawing.arrow(*_ends(above[source], below[index], _TOP, _BOTTOM))
    drawing.line([(0, _BARRIER), (WIDTH, _BARRIER)], dashed=True)
    words = "__syncthreads(): all threads wait here"
    drawing.text(WIDTH / 2, _BARRIER + 18, words, anchor="middle")
    stride = max(max(indices) - min(indices) for indices in step.reads.values())
    work = len(step.writes)
    who = "1 thread works" if work == 1 else f"{work} threads work"
    return frame(drawing, f"Stride {stride}: {who}, all wait")


def _butterfly(rounds: Sequence[Exchange], step: int) -> View:
    """A warp's maximum after `step` + 1 of its exchanges, one below the other: a row of boxes is its lanes.

    Above each lane stand the bits of its number.
    """
    now, last = rounds[step], rounds[-1]
    largest = {lane: max(own, last.received[lane]) for lane, own in last.given.items()}
    rows = [*(exchange.given for exchange in rounds), largest]
    told = "; ".join(
        f"lane {lane}: {number(own)} and {number(now.received[lane])}, keeps {number(rows[step + 1][lane])}"
        for lane, own in now.given.items()
    )
    drawing = Drawing(_TOP + _ROW * len(rounds) + _BOX + 4, f"{told}.")
    bits = f"{{:0{len(rounds)}b}}"
    for line, values in enumerate(rows):
        known = values if line <= step + 1 else dict.fromkeys(values)
        tones = dict.fromkeys(values, {step: "blue", step + 1: "orange"}.get(line, "plain"))
        top = _TOP + line * _ROW
        middles = _draw_values(drawing, top, known, "" if line else bits, -6, tones)
        for lane, source in rounds[line - 1].sources.items() if 0 < line <= step + 1 else ():
            for start in sorted({source, lane}):
                ends = _ends(middles[start], middles[lane], top - _ROW, top)
                if line == step + 1:
                    drawing.arrow(*ends)
                else:  # drawn before
                    drawing.line(ends, faint=True)
    bit = max(lane ^ source for lane, source in now.sources.items())
    left = "1 candidate" if bit == 1 else f"{bit} candidates"
    return frame(drawing, f"Lanes i and i ^ {bit}: {left} left")


def _draw_values(
    drawing: Drawing, top: float, values: Values, label: str, below: float, tones: Mapping[int, str]
) -> dict[int, float]:
    """Boxes side by side, by key, with a label so far below their top; returns the middle of each."""
    middles = {}
    for (key, value), (at, wide) in zip(values.items(), places(len(values)), strict=True):
        written = "" if value is None else number(value)
        drawing.box(
            (at, top, wide, _BOX), written, tone=tones.get(key, "plain"), faint=value is None
        )
        middles[key] = at + wide / 2
        if label:
            drawing.text(middles[key], top + below, label.format(key), anchor="middle")
    return middles


def _ends(above: float, below: float, top: float, bottom: float) -> tuple[Point, Point]:
    """Of an arrow from a box at `top` to one at `bottom`."""
    aside = max(-4.0, min(4.0, above - below))  # two arrows that end at one box stay apart
    return (above, top + _BOX + 3), (below + aside, bottom - 3)


def _kept(step: SharedStep, thread: int) -> str:
    own, *others = sorted(step.reads[thread])
    pair = " and ".join(_written(step.before[index]) for index in (own, *others))
    return f"t{thread}: {pair}, keeps {_written(step.after[step.writes[thread]])}"


def _written(value: float | None) -> str:
    return "nothing" if value is None else number(value)


# ---- lists of the largest, one per lane or one per warp

_LANES = 4
_LISTED, _LINE, _BETWEEN = 24, 28, 18


def _lists(turns: list[list[float]], turn: int, k: int, steps: list[int]) -> View:
    """One turn; its steps are added to those of the list per lane, and of the list per warp."""
    seen, before, now = turns[: turn + 1], turns[:turn], turns[turn]
    own, old = ([_largest([values[lane] for values in of], k) for lane in range(_LANES)] for of in (seen, before))  # fmt: skip
    of_warp, was = (_largest([value for values in of for value in values], k) for of in (seen, before))  # fmt: skip
    bar = was[-1] if was else None
    enter = [value for value in now if bar is None or value > bar]
    steps[0] += k * (own != old)
    steps[1] += len(enter)

    lanes_at = 2 + _LINE + _BETWEEN
    warp_at = lanes_at + _LINE * k + _BETWEEN
    told = (
        f"The lanes read {', '.join(map(number, now))}. Lists per lane {own}, {steps[0]} steps so far; "
        f"the warp's list {of_warp}, {steps[1]} steps so far"
    )
    drawing = Drawing(warp_at + 2 * _LINE - 4, told)
    _draw_listed(drawing, 2, [(value, value in enter) for value in now], "orange")
    drawing.text(0, 19, "this turn’s scores")
    for i in range(k):
        pairs = zip(own, old, strict=True)
        _draw_listed(drawing, lanes_at + _LINE * i, [_entry(*pair, i) for pair in pairs], "blue")
    _draw_listed(drawing, warp_at, [_entry(of_warp, was, i) for i in range(k)], "orange")
    for top, name, count in ((lanes_at, "a list per lane", steps[0]), (warp_at, "a list per warp", steps[1])):  # fmt: skip
        drawing.text(0, top + 17, name)
        drawing.text(0, top + 17 + _LINE, f"{count} steps so far", bold=True)
    entry = "empty lists: all enter" if bar is None else f"to enter the warp’s list, beat {number(bar)}"  # fmt: skip
    return frame(drawing, f"Turn {turn + 1}: {entry}")


def _entry(now: list[float], before: list[float], place: int) -> tuple[float | None, bool]:
    """What stands at a place of a list, and whether it came there in this turn."""
    at = slice(place, place + 1)
    return next(iter(now[at]), None), now[at] != before[at]


def _draw_listed(
    drawing: Drawing, top: float, values: Iterable[tuple[float | None, bool]], tone: str
) -> None:
    for (value, is_new), (left, width) in zip(values, places(_LANES, 140, 200), strict=False):
        text = "" if value is None else number(value)
        is_marked = is_new and value is not None
        drawing.box((left, top, width, _LISTED), text, tone=tone if is_marked else "plain")


def _largest(values: Sequence[float], k: int) -> list[float]:
    return sorted(values, reverse=True)[:k]
