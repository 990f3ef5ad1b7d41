"""Steppers: play, step through and scrub over frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as W

from softmax_lib.engine.errors import BadInput
from softmax_lib.widgets.boxes import Shown, announcer, slider, switch
from softmax_lib.widgets.views import view

STEP_MILLISECONDS = 1200


def stepper(frames: Sequence[Any], *, label: str = "step", alts: Sequence[str] = ()) -> Shown:
    """Play, step through and scrub over `frames`: what `views.view` takes, one per step."""
    if not frames:
        raise BadInput("A stepper needs at least one frame.")
    count = len(frames)
    alts = alts or [f"{label} {number} of {count}" for number in range(1, count + 1)]
    views = [view(frame, alt) for frame, alt in zip(frames, alts, strict=True)]
    if count == 1:
        return Shown([W.HTML(views[0].html)], "stepper", views[0].fallback())
    scrub = slider(label, [f"{number} of {count}" for number in range(1, count + 1)])
    play = W.Play(min=0, max=count - 1, interval=STEP_MILLISECONDS)
    W.jslink((play, "value"), (scrub, "index"))
    body = switch(scrub, [W.HTML(shown.html) for shown in views])
    buttons = [_step_button(scrub, -1, "backward"), play, _step_button(scrub, 1, "forward")]
    return Shown([W.HBox([*buttons, scrub]), *announcer(), body], "stepper", views[0].fallback())


def _step_button(scrub: W.SelectionSlider, distance: int, word: str) -> W.Button:
    button = W.Button(
        icon=f"step-{word}", tooltip=f"one step {word}", layout=W.Layout(width="36px")
    )
    button.add_class(f"worklog-{word}")

    def move(_: W.Button) -> None:
        scrub.index = min(max(scrub.index + distance, 0), len(scrub.options) - 1)

    button.on_click(move)
    return button
