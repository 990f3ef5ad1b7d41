"""One frame a value of the online recurrence: the terms of the sum as bars, and below them all that the kernel keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence

from softmax_lib.show.drawings.drawing import WIDTH, Drawing, frame, number, places
from softmax_lib.widgets.views import View
from softmax_lib.worklog.reductions import OnlineStep

_BOX, _BASE, _HIGH = 28, 94, 56
_MAXIMUM, _SUM = 104, 138
_BEFORE, _AFTER, _WIDTH = 76, 262, 76


def online_frame(values: Sequence[float], step: OnlineStep, index: int) -> View:
    """The row with value `index` just read, each term of the sum, and maximum and sum before and after."""
    told = _in_words(step)
    drawing = Drawing(_SUM + _BOX + 2, f"The row, the terms of its sum, and the sum: {told}")
    for at, (value, (left, width)) in enumerate(zip(values, places(len(values)), strict=True)):
        tone = "orange" if at == index else "plain"
        drawing.box(left, 2, width, _BOX, number(value), tone=tone, faint=at > index)
        if at <= index:
            _draw_term(drawing, left, width, value, step, is_new=at == index)
    drawing.text(0, _BASE - 8, "exp(x − max)", anchor="start", size=11)
    if step.rescales:
        drawing.text(WIDTH, _BASE - 8, "dashed: before", anchor="end", size=11)
    _before_and_after(drawing, _MAXIMUM, "max", step.old_max, step.new_max, "")
    factor = f"× {number(step.correction)} " if step.rescales else ""
    change = f"{factor}+ {number(step.term)}"
    _before_and_after(drawing, _SUM, "sum", step.old_sum, step.new_sum, change)
    return frame(drawing, f"x{_subscript(index)} = {number(step.value)}: {_news(step)}", told)


def _draw_term(
    drawing: Drawing, left: float, width: float, value: float, step: OnlineStep, is_new: bool
) -> None:
    """A bar as high as the term is now, in the outline of what it was under the old maximum."""
    if step.rescales and not is_new:
        high = _HIGH * _term(value, step.old_max)
        drawing.box(left, _BASE - high, width, high, faint=True)
    high = _HIGH * _term(value, step.new_max)
    drawing.boxes([(left, _BASE - high, width, high)], "orange" if is_new else "blue", solid=True)


def _term(value: float, maximum: float) -> float:
    return 0.0 if math.isinf(value) else math.exp(value - maximum)


def _before_and_after(
    drawing: Drawing, top: float, name: str, before: float, after: float, change: str
) -> None:
    middle = top + _BOX / 2
    drawing.text(0, middle + 5, name, anchor="start")
    drawing.box(_BEFORE, top, _WIDTH, _BOX, number(before))
    start, end = _BEFORE + _WIDTH + 6, _AFTER - 6
    drawing.text((start + end) / 2, middle - 5, change, size=12, bold="×" in change)
    drawing.arrow((start, middle + 2), (end, middle + 2))
    tone = "orange" if after != before else "plain"
    drawing.box(_AFTER, top, _WIDTH, _BOX, number(after), tone=tone)


def _news(step: OnlineStep) -> str:
    if math.isinf(step.value):
        return "masked, passed over"
    if step.rescales:
        return f"a new maximum, old sum × {number(step.correction)}"
    return "the first maximum" if math.isinf(step.old_max) else "the maximum stays"


def _in_words(step: OnlineStep) -> str:
    if math.isinf(step.value):
        why = "exp(−∞ − (−∞)) would be NaN" if math.isinf(step.old_max) else "exp(−∞) is 0"
        return f"{why}; the sum stays {number(step.new_sum)}"
    new, old = number(step.new_max), number(step.old_sum)
    factor = f" × exp({number(step.old_max)} − {_operand(new)})" if step.rescales else ""
    return f"{old}{factor} + exp({number(step.value)} − {_operand(new)}) = {number(step.new_sum)}"


def _operand(written: str) -> str:
    return f"({written})" if written.startswith("−") else written


def _subscript(index: int) -> str:
    return str(index).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
