"""Explorers and steppers: sliders that move through prepared views, with or without a kernel behind them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets as W

from softmax_lib.engine.errors import BadInput, EngineError
from softmax_lib.widgets.boxes import Shown, announcer, slider, switch
from softmax_lib.widgets.views import View, note, view

STEP_MILLISECONDS = 1200


class Explorer(Shown):
    """A slider per axis over prepared views, and below them `extra` widgets, such as a button.

    A live kernel may replace a view, or say something until the reader moves a slider.
    """

    def __init__(
        self,
        axes: Mapping[str, Sequence[Any]],
        views: dict[tuple, View],
        start: tuple,
        extra: Sequence[W.Widget] = (),
    ) -> None:
        self.axes = {name: list(options) for name, options in axes.items()}
        self.leaves = {choice: W.HTML(shown.html) for choice, shown in views.items()}
        self.sliders = {
            name: slider(name, options, value)
            for (name, options), value in zip(self.axes.items(), start, strict=True)
            if len(options) > 1
        }
        self.note = W.HTML()
        for control in self.sliders.values():
            control.observe(lambda _: self.say(""), "index")
        body = self._nested(list(self.axes), ())
        named = announcer() if self.sliders else []
        children = [*self.sliders.values(), *extra, *named, self.note, body]
        super().__init__(children, "explorer", views[start].fallback())

    @property
    def choice(self) -> tuple:
        """The option picked on each axis."""
        picked = {name: control.value for name, control in self.sliders.items()}
        return tuple(picked.get(name, options[0]) for name, options in self.axes.items())

    def replace(self, choice: tuple, content: Any) -> None:
        """Show `content` for `choice` from now on."""
        self.leaves[choice].value = view(content).html

    def say(self, sentence: str) -> None:
        """Tell the reader something, such as why what they asked for cannot be shown; "" ends it."""
        self.note.value = note(sentence) if sentence else ""

    def _nested(self, names: list[str], chosen: tuple) -> W.Widget:
        if not names:
            return self.leaves[chosen]
        name, *others = names
        inner = [self._nested(others, (*chosen, option)) for option in self.axes[name]]
        return switch(self.sliders[name], inner) if name in self.sliders else inner[0]


def explorer(
    axes: Mapping[str, Sequence[Any]],
    render: Callable[..., Any],
    *,
    start: Sequence[Any] | None = None,
    alt: Callable[..., str] | None = None,
    extra: Sequence[W.Widget] = (),
) -> Explorer:
    """Sliders over `axes`, {name: options}, that show `render(option, ...)`: what `views.view` takes.

    `alt(option, ...)` gives the text alternative. Where `render` raises one of this package's errors,
    that sentence stands over the last good view on the last axis. Raises `BadInput` without options.
    """
    if not all(axes.values()):
        raise BadInput("An explorer needs at least one option on each axis.")
    choices = list(itertools.product(*axes.values()))
    first = tuple(start) if start is not None else choices[0]
    if first not in choices:
        raise BadInput(f"{first} is not among the options of this explorer.")
    views: dict[tuple, View | str] = {}
    for choice in choices:
        words = ", ".join(f"{name} {option}" for name, option in zip(axes, choice, strict=True))
        try:
            shown = views[choice] = view(render(*choice), alt(*choice) if alt else words)
            if choice == first:
                shown.fallback()  # before a later choice is drawn into the same figure
        except EngineError as error:
            views[choice] = str(error)
    return Explorer(axes, _over_last_good(views), first, extra)


def _over_last_good(views: dict[tuple, View | str]) -> dict[tuple, View]:
    kept = {}
    for _, along_last_axis in itertools.groupby(views.items(), key=lambda item: item[0][:-1]):
        line = dict(along_last_axis)
        last = next((shown for shown in line.values() if isinstance(shown, View)), View("", ""))
        for choice, shown in line.items():
            if isinstance(shown, View):
                last = kept[choice] = shown
            else:
                kept[choice] = last.with_note(shown)
    return kept


def stepper(frames: Sequence[Any], *, label: str = "step") -> Shown:
    """Play, step through and scrub over `frames`: what `views.view` takes, one per step."""
    if not frames:
        raise BadInput("A stepper needs at least one frame.")
    count = len(frames)
    places = [f"{number} of {count}" for number in range(1, count + 1)]
    views = [view(one, f"{label} {place}") for one, place in zip(frames, places, strict=True)]
    if count == 1:
        return Shown([W.HTML(views[0].html)], "stepper", views[0].fallback())
    scrub = slider(label, places)
    play = W.Play(min=0, max=count - 1, interval=STEP_MILLISECONDS)
    W.jslink((play, "value"), (scrub, "index"))
    body = switch(scrub, [W.HTML(shown.html) for shown in views])
    buttons = [_step_button(scrub, -1, "backward"), play, _step_button(scrub, 1, "forward")]
    return Shown([W.HBox([*buttons, scrub]), *announcer(), body], "stepper", views[0].fallback())


def _step_button(scrub: W.SelectionSlider, distance: int, word: str) -> W.Button:
    layout = W.Layout(width="36px")
    button = W.Button(icon=f"step-{word}", tooltip=f"one step {word}", layout=layout)
    button.add_class(f"worklog-{word}")

    def move(_: W.Button) -> None:
        scrub.index = min(max(scrub.index + distance, 0), len(scrub.options) - 1)

    button.on_click(move)
    return button
