"""A stepper over a tiny row: which lists its elements enter, one per lane or one per warp."""

from __future__ import annotations

from collections.abc import Sequence

from softmax_lib.drawings.drawing import Drawing, frame, number, places
from softmax_lib.errors import BadInput
from softmax_lib.widgets.stepping import Shown, stepper
from softmax_lib.widgets.views import View

LANES = 4
_LEFT, _WIDTH = 120, 220
_BOX, _ROW = 24, 28


def lists(values: Sequence[float], k: int = 2) -> Shown:
    """Step through up to 20 different values, 4 a turn, as a warp of 4 lanes keeps the `k` largest.

    One list per lane, as in `topk`, and below it one list for the warp, as in `topk_warp`. Raises `BadInput`.
    """
    if not values or len(values) % LANES or len(values) > 5 * LANES or not 1 <= k <= 3:
        raise BadInput(
            f"The drawing takes 4 to 20 values, 4 a turn, and a k of 1 to 3, not {len(values)} and {k}."
        )
    turns = [list(values[i : i + LANES]) for i in range(0, len(values), LANES)]
    return stepper([_frame(turns, turn, k) for turn in range(len(turns))])


def _frame(turns: list[list[float]], turn: int, k: int) -> View:
    seen, before = turns[: turn + 1], turns[:turn]
    drawing = Drawing(
        _ROW * (len(turns) + k + 1) + 34,
        "The row by turns, the list of each lane, and the warp's list",
    )
    for at, values in enumerate(turns):
        _boxes(
            drawing,
            _ROW * at,
            f"turn {at + 1}",
            values,
            "blue" if at == turn else "plain",
            at > turn,
        )
    top = _ROW * len(turns) + 14
    own = [_largest(lane, k) for lane in zip(*seen, strict=True)]
    old = [_largest(lane, k) for lane in zip(*before, strict=True)] or [[]] * LANES
    for i in range(k):
        _boxes(drawing, top + _ROW * i, "a list per lane" if i == 0 else "", [one[i] if i < len(one) else None for one in own],
               [("orange" if i >= len(was) or one[i] != was[i] else "plain") if i < len(one) else "plain" for one, was in zip(own, old, strict=True)])  # fmt: skip
    of_warp, was = _largest(_flat(seen), k), _largest(_flat(before), k)
    _boxes(drawing, top + _ROW * k + 14, "one per warp", [*of_warp, *[None] * (k - len(of_warp))],
           ["plain" if i < len(was) and i < len(of_warp) and was[i] == of_warp[i] else "orange" for i in range(k)])  # fmt: skip
    lanes = [i for i in range(LANES) if own[i] != old[i]]
    entered = [value for value in of_warp if value not in was]
    steps = f"{k} steps" if k > 1 else "one step"
    told = (
        f"The lists of {_in_words(lanes)} change: the whole warp goes through {steps}. "
        if lanes
        else "No lane's list changes. "
    )
    new = " and ".join(map(number, entered)) or "nothing"
    told += f"In the warp's list {new} {'are' if len(entered) > 1 else 'is'} new."
    return frame(drawing, f"Turn {turn + 1}: four lanes read four values", told)


def _boxes(
    drawing: Drawing,
    top: float,
    name: str,
    values: Sequence[float | None],
    tones: str | Sequence[str],
    faint: bool = False,
) -> None:
    drawing.text(0, top + 17, name, anchor="start")
    each = [tones] * len(values) if isinstance(tones, str) else tones
    where = places(LANES, _LEFT, _WIDTH)[: len(values)]
    for value, (left, width), tone in zip(values, where, each, strict=True):
        text = "" if value is None else number(value)
        drawing.box(
            left, top, width, _BOX, text, tone="plain" if value is None else tone, faint=faint
        )


def _largest(values: Sequence[float], k: int) -> list[float]:
    return sorted(values, reverse=True)[:k]


def _flat(turns: list[list[float]]) -> list[float]:
    return [value for turn in turns for value in turn]


def _in_words(lanes: list[int]) -> str:
    named = ", ".join(map(str, lanes[:-1]))
    return f"lanes {named} and {lanes[-1]}" if named else f"lane {lanes[0]}"
