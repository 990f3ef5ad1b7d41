"""Sphinx extension: widgets of the notebooks as controls that every browser has, each with its first frame in the page.

A notebook keeps the state of its widgets. The page gets them as sliders, choices and buttons of HTML, readable before any
script runs and without one; what the other positions show is in a file of its own, which `widgets.js` loads when the
widget comes into view. So a page needs no widget manager.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from inline_figures import inline
from notebooks import STATE, VIEW
from sphinx.application import Sphinx

FOLDER = "_static/positions"
"""Where the site has what widgets show at their other positions, a file for each page."""

NO_SCRIPT = {
    "slider": "Its slider moves where scripts run; this is how it begins.",
    "choice": "What each choice leads to shows where scripts run.",
}
_ICONS = {
    "backward": "M6 5h3v14H6zM19 5v14L10 12z",
    "forward": "M15 5h3v14h-3zM5 5v14l9-7z",
    "play": "M7 4v16l13-8z",
}


class Widgets:
    """The widgets of one page, by the models that its notebook kept; each `draw` adds to `positions`.

    `positions` are, by the number of a place in the page, the HTML of every position of its control.
    """

    def __init__(self, models: dict[str, dict[str, Any]]) -> None:
        self.models = models
        self.positions: dict[str, list[str]] = {}
        self._numbers: dict[str, str] = {}
        self._names: Counter[str] = Counter()
        links = [model["state"] for model in models.values() if model["model_name"] == "LinkModel"]
        self._controls = {_model(link["target"][0]): _model(link["source"][0]) for link in links}

    def draw(self, model: str) -> str:
        """The HTML of a model and of all that is in it. Raises `KeyError` for a kind that no page has had."""
        kind = self.models[model]["model_name"].removesuffix("Model")
        return {
            "VBox": self._box,
            "HBox": self._row,
            "HTML": self._html,
            "SelectionSlider": self._slider,
            "RadioButtons": self._choices,
            "Stack": self._place,
            "Button": self._button,
            "Play": self._play,
        }[kind](model, self.models[model]["state"])

    def _children(self, state: dict[str, Any]) -> list[str]:
        return [self.draw(_model(child)) for child in state["children"]]

    def _box(self, model: str, state: dict[str, Any]) -> str:
        inner = "".join(self._children(state))
        classes = " ".join(state["_dom_classes"])
        if "worklog-widget" not in state["_dom_classes"]:
            return f"<div>{inner}</div>"
        kind = "slider" if 'type="range"' in inner else "choice" if 'type="radio"' in inner else ""
        if not kind:
            return f'<div class="{classes}">{inner}</div>'
        return (
            f'<div class="{classes}">{inner}<p class="worklog-outcome visually-hidden" role="status"></p>'
            '<button class="worklog-copy" type="button">copy link</button>'
            f'<noscript><p class="worklog-note">{NO_SCRIPT[kind]}</p></noscript></div>'
        )

    def _row(self, model: str, state: dict[str, Any]) -> str:
        return f'<div class="worklog-row">{"".join(self._children(state))}</div>'

    def _html(self, model: str, state: dict[str, Any]) -> str:
        return f'<div class="worklog-html">{state["value"]}</div>' if state["value"] else ""

    def _slider(self, model: str, state: dict[str, Any]) -> str:
        number, labels, at = self._number(model), state["_options_labels"], state["index"]
        options = escape(json.dumps(labels, ensure_ascii=False))
        return (
            f'<div class="worklog-slider"><label for="{number}">{escape(state["description"])}</label>'
            f'<input type="range" id="{number}" name="{self._name(state["description"])}" min="0" '
            f'max="{len(labels) - 1}" value="{at}" data-options="{options}" '
            f'aria-valuetext="{escape(labels[at])}" autocomplete="off">'
            f'<output for="{number}">{escape(labels[at])}</output></div>'
        )

    def _choices(self, model: str, state: dict[str, Any]) -> str:
        number, name = self._number(model), self._name("choice")
        answers = "".join(
            f'<label><input type="radio" name="{name}" value="{at}" autocomplete="off">'
            f"<span>{escape(label)}</span></label>"
            for at, label in enumerate(state["_options_labels"])
        )
        return f'<fieldset class="worklog-choices" id="{number}">{answers}</fieldset>'

    def _place(self, model: str, state: dict[str, Any]) -> str:
        number, at = self._number(model), state["selected_index"]
        control = self._number(self._controls[model])
        positions = self._children(state)
        self.positions[number] = positions
        shown = "" if at is None else positions[at]
        return (
            f'<div class="worklog-place" id="{number}" data-of="{control}" '
            f'data-at="{"" if at is None else at}">{shown}</div>'
        )

    def _button(self, model: str, state: dict[str, Any]) -> str:
        for way in ("backward", "forward"):
            if f"worklog-{way}" in state["_dom_classes"]:
                return _icon_button(way, state["tooltip"])
        return ""  # it asks a running kernel

    def _play(self, model: str, state: dict[str, Any]) -> str:
        return _icon_button("play", "play or pause", f' data-every="{state["interval"]}"')

    def _number(self, model: str) -> str:
        return self._numbers.setdefault(model, f"widget-{len(self._numbers) + 1}")

    def _name(self, label: str) -> str:
        """What an address calls a control: its label in letters, digits and hyphens, with a number where the page has had it before."""
        name = re.sub(r"[^a-z0-9.]+", "-", label.lower()).strip("-") or "x"
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}-{self._names[name]}"


def _model(reference: str) -> str:
    return reference.removeprefix("IPY_MODEL_")


def _icon_button(way: str, title: str, more: str = "") -> str:
    icon = f'<svg viewBox="0 0 24 24" aria-hidden="true"><path d="{_ICONS[way]}"/></svg>'
    return (
        f'<button class="worklog-{way}" type="button" title="{escape(title)}" '
        f'aria-label="{escape(title)}"{more}>{icon}</button>'
    )


def draw_widgets(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put HTML in place of every reference to a widget, and on the site what the other positions show into a file."""
    found = [node for node in doctree.findall(nodes.raw) if VIEW in node.astext()]
    if not found:
        return
    notebook = json.loads(Path(app.env.doc2path(page)).read_text(encoding="utf-8"))
    widgets = Widgets(notebook["metadata"]["widgets"][STATE]["state"])
    for node in found:
        (model,) = re.findall(r'"model_id": "(\w+)"', node.astext())
        html = widgets.draw(model)
        if app.builder.name != "html":  # no script opens hints there
            html = html.replace(' hidden=""', "")
        node[0] = nodes.Text(html)
        node.rawsource = node.astext()
    if app.builder.name == "html":
        # evidence has its chapter's name
        name = f"{page.removeprefix('book/').replace('/', '-')}.js"
        app.env.metadata[page]["positions"] = write_positions(app, name, widgets.positions)


def write_positions(app: Sphinx, name: str, positions: dict[str, list[str]]) -> str:
    """Write the positions of a page's widgets into a file of this name; returns its address on the site."""
    shown = {place: [inline(html) for html in each] for place, each in positions.items()}
    text = f"worklogPositions({json.dumps(shown, ensure_ascii=False)});\n"
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    path = Path(app.outdir, FOLDER, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return f"{FOLDER}/{name}?v={digest}"


def leave_out_states(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """The page says where its positions are, and carries no state of widgets; its scripts wait for it."""
    kept = [one for one in context["script_files"] if one.attributes.get("type") != STATE]
    for one in kept:
        if one.filename and not str(one.filename).endswith("documentation_options.js"):
            one.attributes.setdefault("defer", "defer")
    context["script_files"] = kept
    positions = app.env.metadata.get(page, {}).get("positions")
    if positions:
        address = context["pathto"](positions, 1)
        context["metatags"] += f'\n<link rel="worklog-positions" href="{escape(address)}" />'


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", draw_widgets)
    app.connect("html-page-context", leave_out_states, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
