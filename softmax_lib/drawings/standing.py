"""Where a chapter starts: each kernel's share of a copy's speed, and the rungs that are still to come."""

from __future__ import annotations

from markupsafe import Markup

from softmax_lib.drawings.drawing import WIDTH, Drawing
from softmax_lib.errors import BadInput
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.registry import rungs
from softmax_lib.widgets.views import View
from softmax_lib.words import percent

_BASE, _HIGH, _GAP = 88, 70, 8
_LEAST = 2
"""Of a bar, or 1 % could not be seen."""


def ladder(upto: str, rows: int = 1024, cols: int = 32768, *, gpu: str = DEFAULT_GPU) -> View:
    """A bar for each rung up to `upto`, an outline for each one after it, and the copy's bar.

    Heights are recorded shares of the copy's speed on a (rows, cols) float32 matrix. Raises `BadInput` for a name
    that is no rung, and where one of them was not recorded.
    """
    names = [kernel.name for kernel in rungs()]
    if upto not in names:
        raise BadInput(f"{upto!r} is no rung; they are {', '.join(names)}.")
    climbed = names[: names.index(upto) + 1]
    times = recorded(gpu).times(rows, cols)
    if lacking := [name for name in climbed if name not in times]:
        raise BadInput(f"{', '.join(lacking)} was not recorded on ({rows}, {cols}).")
    shares = {name: times[name].copy_share for name in climbed} | {"copy": 1.0}
    told = ", ".join(f"{name} {percent(share)}" for name, share in shares.items())
    drawing = Drawing(_BASE + 20, f"Share of a copy's speed: {told}")
    pitch = WIDTH / (len(names) + 1)
    for at, name in enumerate([*names, "copy"]):
        _draw_bar(drawing, at * pitch, pitch, name, shares.get(name), here=name == upto)
    html = Markup('<div class="worklog-ladder">{}</div>').format(Markup(drawing.svg()))
    return View(str(html), f"{drawing.words}.")


def _draw_bar(
    drawing: Drawing, left: float, pitch: float, name: str, share: float | None, here: bool
) -> None:
    width, middle = pitch - _GAP, left + pitch / 2
    if share is None:
        drawing.box(left + _GAP / 2, _BASE - _HIGH, width, _HIGH, "?", faint=True)
    else:
        high = max(_LEAST, _HIGH * share)
        bar = (left + _GAP / 2, _BASE - high, width, high)
        drawing.boxes([bar], "orange" if here else "blue", solid=here)
        drawing.text(middle, _BASE - high - 5, percent(share), size=12, bold=here)
    drawing.text(middle, _BASE + 14, name, size=11, bold=here)
