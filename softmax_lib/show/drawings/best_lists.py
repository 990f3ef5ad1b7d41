"""A stepper over a tiny row: which lists its elements enter, one per lane or one per warp, and in how many steps."""

from __future__ import annotations

from collections.abc import Sequence

from softmax_lib.show.drawings.drawing import Drawing, frame, number, places
from softmax_lib.widgets.stepping import Shown, stepper
from softmax_lib.widgets.views import View
from softmax_lib.worklog.errors import BadInput

LANES = 4
_LEFT, _WIDTH = 140, 200
_TOP, _BOX, _ROW, _GAP = 2, 24, 28, 18


def lists(values: Sequence[float], k: int = 2) -> Shown:
    """Step through up to 24 different values, 4 a turn, as a warp of 4 lanes keeps the `k` largest.

    One list per lane, as in `topk`, and below it one list for the warp, as in `topk_warp`, with the steps that
    each has taken. Raises `BadInput`.
    """
    if not values or len(values) % LANES or len(values) > 6 * LANES or k not in (2, 3):
        raise BadInput(
            f"The drawing takes 4 to 24 values, 4 a turn, and a k of 2 or 3, not {len(values)} and {k}."
        )
    turns = [list(values[i : i + LANES]) for i in range(0, len(values), LANES)]
    steps = [0, 0]
    shown = stepper([_frame(turns, turn, k, steps) for turn in range(len(turns))])
    shown.add_class("worklog-two-columns")
    return shown


def _frame(turns: list[list[float]], turn: int, k: int, steps: list[int]) -> View:
    """One turn; its steps are added to those of the list per lane, and of the list per warp."""
    seen, before, now = turns[: turn + 1], turns[:turn], turns[turn]
    own, old = ([_largest([values[lane] for values in of], k) for lane in range(LANES)] for of in (seen, before))  # fmt: skip
    of_warp, was = (_largest([value for values in of for value in values], k) for of in (seen, before))  # fmt: skip
    bar = was[-1] if was else None
    enter = [value for value in now if bar is None or value > bar]
    steps[0] += k * (own != old)
    steps[1] += len(enter)

    lanes_at = _TOP + _ROW + _GAP
    warp_at = lanes_at + _ROW * k + _GAP
    told = (
        f"The lanes read {', '.join(map(number, now))}. Lists per lane {own}, {steps[0]} steps so far; "
        f"the warp's list {of_warp}, {steps[1]} steps so far"
    )
    drawing = Drawing(warp_at + 2 * _ROW - 4, told)
    _boxes(drawing, _TOP, now, ["orange" if value in enter else "plain" for value in now])
    drawing.text(0, _TOP + 17, "this turn’s scores", anchor="start", size=12)
    for i in range(k):
        _boxes(drawing, lanes_at + _ROW * i, [one[i] if i < len(one) else None for one in own],
               ["blue" if one[i : i + 1] != past[i : i + 1] else "plain" for one, past in zip(own, old, strict=True)])  # fmt: skip
    _boxes(drawing, warp_at, [*of_warp, *[None] * (k - len(of_warp))],
           ["orange" if of_warp[i : i + 1] != was[i : i + 1] else "plain" for i in range(k)])  # fmt: skip
    for top, name, count in ((lanes_at, "a list per lane", steps[0]), (warp_at, "a list per warp", steps[1])):  # fmt: skip
        drawing.text(0, top + 17, name, anchor="start", size=12)
        drawing.text(
            0, top + 17 + _ROW, f"{count} steps so far", anchor="start", size=12, bold=True
        )
    entry = "empty lists: all enter" if bar is None else f"to enter the warp’s list, beat {number(bar)}"  # fmt: skip
    return frame(drawing, f"Turn {turn + 1}: {entry}")


def _boxes(
    drawing: Drawing, top: float, values: Sequence[float | None], tones: Sequence[str]
) -> None:
    where = places(LANES, _LEFT, _WIDTH)
    for value, (left, width), tone in zip(values, where, tones, strict=False):
        text = "" if value is None else number(value)
        drawing.box(left, top, width, _BOX, text, tone="plain" if value is None else tone)


def _largest(values: Sequence[float], k: int) -> list[float]:
    return sorted(values, reverse=True)[:k]
