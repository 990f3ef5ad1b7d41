"""One frame a value of the online recurrence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from softmax_lib.drawings.drawing import Drawing, frame, number, places
from softmax_lib.widgets.views import View
from softmax_lib.xrays.reductions import OnlineStep

_BOX = 32
_BEFORE, _AFTER, _WIDTH = 96, 246, 84
_MAXIMUM, _CORRECTION, _SUM = 60, 116, 138


def online_frame(values: Sequence[float], step: OnlineStep, index: int) -> View:
    """The row with value `index` just read, and maximum and sum before and after."""
    drawing = Drawing(176, "The row, and the running maximum and sum before and after this value")
    for at, (value, (left, width)) in enumerate(zip(values, places(len(values)), strict=True)):
        tone = "blue" if at == index else "plain"
        drawing.box(left, 2, width, _BOX, number(value), tone=tone, faint=at > index)
    _before_and_after(drawing, _MAXIMUM, "maximum", step.old_max, step.new_max)
    _before_and_after(drawing, _SUM, "sum", step.old_sum, step.new_sum)
    drawing.text(0, _CORRECTION, "correction", anchor="start")
    changes = step.correction not in (0.0, 1.0)
    drawing.text(_BEFORE + _WIDTH / 2, _CORRECTION, f"× {number(step.correction)}", bold=changes)
    news = "a new maximum" if step.new_max > step.old_max else "the maximum stays"
    return frame(drawing, f"x{_subscript(index)} = {number(step.value)}: {news}", _in_words(step))


def _before_and_after(drawing: Drawing, top: float, name: str, before: float, after: float) -> None:
    middle = top + _BOX / 2
    drawing.text(0, middle + 5, name, anchor="start")
    drawing.box(_BEFORE, top, _WIDTH, _BOX, number(before))
    drawing.arrow((_BEFORE + _WIDTH + 6, middle), (_AFTER - 6, middle))
    drawing.box(
        _AFTER, top, _WIDTH, _BOX, number(after), tone="orange" if after != before else "plain"
    )


def _in_words(step: OnlineStep) -> str:
    value, maximum, total = map(number, (step.value, step.new_max, step.new_sum))
    added = number(math.exp(step.value - step.new_max))
    add = f"exp({value} − {_operand(maximum)}) = {added}"
    if math.isinf(step.old_max):
        return f"Nothing was summed before; {add} is the sum."
    old_sum, correction = number(step.old_sum), number(step.correction)
    if step.new_max == step.old_max:
        return f"The old sum is right as it is. Add {add}: {old_sum} + {added} = {total}."
    return (
        f"The old sum is corrected by exp({number(step.old_max)} − {_operand(maximum)}) = {correction}. "
        f"Add {add}: {old_sum} × {correction} + {added} = {total}."
    )


def _operand(written: str) -> str:
    return f"({written})" if written.startswith("−") else written


def _subscript(index: int) -> str:
    return str(index).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
