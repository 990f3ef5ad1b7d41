"""Steppers and questions, and what explorers are made of; they work on the static page, in JupyterLab and in Colab.

Every view is made when the widget is, and the browser switches between them (`jslink` to a `Stack`),
so a saved page needs no kernel. Colab's ipywidgets 7 has no `Stack`: there the kernel switches.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import ipywidgets as W

from softmax_lib.errors import BadInput
from softmax_lib.widgets.views import view

STEP_MILLISECONDS = 1200


class Shown(W.VBox):
    """A box of widgets that leaves a view behind where no widget can run, such as on GitHub."""

    fallback: dict[str, str]

    def __init__(self, children: Sequence[W.Widget], kind: str, fallback: dict[str, str]) -> None:
        super().__init__(children)
        self.fallback = fallback
        self.add_class("worklog-widget")
        self.add_class(f"worklog-{kind}")

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        return {**super()._repr_mimebundle_(**options), **self.fallback}


def stepper(frames: Sequence[Any], *, label: str = "step", alts: Sequence[str] = ()) -> Shown:
    """Play, step through and scrub over `frames`: figures, HTML, or views, one a step."""
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
    return Shown([W.HBox([*buttons, scrub]), body], "stepper", views[0].fallback())


def _step_button(scrub: W.SelectionSlider, distance: int, word: str) -> W.Button:
    button = W.Button(
        icon=f"step-{word}", tooltip=f"one step {word}", layout=W.Layout(width="36px")
    )
    button.add_class(f"worklog-{word}")

    def move(_: W.Button) -> None:
        scrub.index = min(max(scrub.index + distance, 0), len(scrub.options) - 1)

    button.on_click(move)
    return button


def predict(
    question: str, choices: Sequence[str], answer: str, reveal: Any, *, alt: str = ""
) -> Shown:
    """Ask before telling: `reveal` (a figure, HTML or a list) shows once the reader has picked.

    Raises `BadInput` when `answer` is not one of `choices`.
    """
    if answer not in choices:
        raise BadInput(f"The answer {answer!r} is not among the choices: {', '.join(choices)}.")
    told = view(reveal, alt)
    shared = W.HTML(told.html)
    outcomes = [W.VBox([W.HTML(_verdict(choice, answer)), shared]) for choice in choices]
    pick = W.RadioButtons(options=list(choices), index=None, layout=W.Layout(width="auto"))
    asked = f'<p class="worklog-question">{html.escape(question)}</p>'
    listed = "".join(f"<li>{html.escape(choice)}</li>" for choice in choices)
    folded = f"<details><summary>Answer</summary><p>{html.escape(answer)}</p>{told.html}</details>"
    words = f"{question} ({' / '.join(choices)})"
    return Shown(
        [W.HTML(asked), pick, switch(pick, outcomes)],
        "predict",
        {"text/html": f"{asked}<ul>{listed}</ul>{folded}", "text/plain": words},
    )


def _verdict(choice: str, answer: str) -> str:
    said = html.escape(choice)
    if choice == answer:
        return f'<p class="worklog-verdict" role="status">You said {said}: right.</p>'
    return f'<p class="worklog-verdict" role="status">You said {said}; it is {html.escape(answer)}.</p>'


def slider(name: str, options: Sequence[Any], value: Any = None) -> W.SelectionSlider:
    """A slider over `options`, which start at `value` or the first."""
    return W.SelectionSlider(
        options=[(str(option), option) for option in options],
        index=list(options).index(value) if value is not None else 0,
        description=name,
        style={"description_width": "initial"},
        layout=W.Layout(width="100%", max_width="560px"),
    )


def switch(control: W.Widget, views: list[W.Widget]) -> W.Widget:
    """A box with the view that `control.index` points to."""
    if hasattr(W, "Stack"):
        stack = W.Stack(views, selected_index=control.index)
        W.jslink((control, "index"), (stack, "selected_index"))
        return stack
    box = W.VBox([] if control.index is None else [views[control.index]])
    control.observe(lambda change: setattr(box, "children", [views[change["new"]]]), "index")
    return box
