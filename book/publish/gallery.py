"""Sphinx extension: the introduction's list of pages as cards, each with a picture, its minutes and its level."""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from front_page import INTRODUCTION
from native_widgets import Widgets
from running_prose import words
from sphinx.application import Sphinx
from stable_widgets import STATE, VIEW

WORDS_A_MINUTE = 150
"""Slower than a novel is read: there is code to follow, and pictures to look at."""

LEVELS = {
    "Foundations": "for everyone",
    "Before the ladder": "for everyone",
    "The ladder": "one after the other",
    "Beyond the ladder": "after chapters 3 to 8",
    "Reference": "any time",
}
"""What one has read before, by the part of the book."""

PICTURES = {
    "01_math": "step-online",
    "02_pytorch": "roofline-steps",
    "gpu": "map",
    "03_naive": "step-rows",
    "04_online": "ledger",
    "05_shared": "tree",
    "06_shuffle": "stepper",
    "07_float4": "idea",
    "08_fusion": "phases",
    "09_unroll": "spills",
    "10_warp": "map",
    "11_topk": "stepper",
    "12_triton": "lengths",
    "results": "worklog",
    "xray": "conflict",
    "lies": "own-lie",
}
"""The cell whose first picture stands for a page."""

_SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_IMG = re.compile(r'<img\b[^>]*\bsrc="data:image/(svg|png)[^,"]*?(;base64)?,([^"]*)"')
_EXERCISE = re.compile(r'^(?:# @title.*\n)?exercise\("|<summary>Solution</summary>', re.MULTILINE)


def picture(notebook: dict[str, Any], name: str, folder: Path) -> str:
    """HTML of the picture that stands for the page `name`; one that is no drawing becomes a file in `folder`.

    Raises `LookupError` where the notebook has no such cell, or the cell no picture.
    """
    cells = [one for one in notebook["cells"] if one["id"] == PICTURES[name]]
    shown = "".join(_html(notebook, output) for cell in cells for output in cell["outputs"])
    drawn, image = _SVG.search(shown), _IMG.search(shown)
    if drawn and not (image and image.start() < drawn.start()):
        return drawn[0]
    if not image:
        raise LookupError(f"{name}.ipynb has no picture in its cell {PICTURES[name]}.")
    kind, coded, data = image.groups()
    folder.mkdir(parents=True, exist_ok=True)
    content = base64.b64decode(data) if coded else urllib.parse.unquote_to_bytes(data)
    (folder / f"{name}.{kind}").write_bytes(content)
    return f'<img src="../_static/cards/{name}.{kind}" alt="" loading="lazy">'


def _html(notebook: dict[str, Any], output: dict[str, Any]) -> str:
    """What an output shows; of a widget, its last position."""
    data = output.get("data", {})
    if VIEW in data:
        widgets = Widgets(notebook["metadata"]["widgets"][STATE]["state"])
        begins = widgets.draw(data[VIEW]["model_id"])
        return next((frames[-1] for frames in widgets.positions.values()), begins)
    return "".join(data.get("text/html", ""))


def facts(path: Path, notebook: dict[str, Any]) -> list[str]:
    """How long the notebook at `path` takes to read, and how many exercises it has."""
    exercises = sum(len(_EXERCISE.findall("".join(cell["source"]))) for cell in notebook["cells"])
    told = [f"{round(words(path) / WORDS_A_MINUTE)} minutes"]
    return [*told, f"{exercises} exercises"] if exercises > 1 else told


def draw_cards(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put cards in place of the introduction's lists of pages."""
    if page != INTRODUCTION or app.builder.name == "epub":
        return
    (contents,) = (one for one in doctree.findall(nodes.section) if "contents" in one["ids"])
    part = ""
    for child in list(contents.children):
        if isinstance(child, nodes.paragraph):
            part = child.astext()
        if isinstance(child, (nodes.bullet_list, nodes.enumerated_list)):
            numbers = range(child.get("start", 1), 100)
            numbered = isinstance(child, nodes.enumerated_list)
            cards = (
                _card(app, link, f"{number}. " if numbered else "", part)
                for number, link in zip(numbers, child.findall(nodes.reference), strict=False)
            )
            html = f'<ul class="worklog-cards">{"".join(cards)}</ul>'
            contents.replace(child, nodes.raw("", html, format="html"))


def _card(app: Sphinx, link: nodes.reference, number: str, part: str) -> str:
    name = Path(link["refuri"]).stem
    path = Path(app.env.doc2path(f"book/{name}"))
    seen, told = "", [LEVELS[part]]
    if path.suffix == ".ipynb":
        notebook = json.loads(path.read_text(encoding="utf-8"))
        told = [*facts(path, notebook), *told]
    if name in PICTURES:
        inner = picture(notebook, name, Path(app.outdir, "_static/cards"))
        seen = f'<span class="worklog-card-picture" aria-hidden="true">{inner}</span>'
    return (
        f'<li>{seen}<a href="{name}.html">{number}{escape(link.astext())}</a>'
        f"<span>{' · '.join(told)}</span></li>"
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the functions above to the build; every page of the book is part of what the introduction shows."""
    app.connect("env-get-outdated", lambda *_: [INTRODUCTION])
    app.connect("doctree-resolved", draw_cards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
