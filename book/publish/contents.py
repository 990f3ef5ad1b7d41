"""Sphinx extension: the introduction as a front page: three doors, and each page of the contents with its minutes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from address import ROOT
from docutils import nodes
from front_page import INTRODUCTION
from sphinx.application import Sphinx
from terms import markdown_of

WORDS_A_MINUTE, LINES_A_MINUTE, MINUTES_A_TRY, MINUTES_AN_EXERCISE = 200, 15, 1, 5
"""Prose, lines of code, a slider or a guess, an exercise."""
_EXERCISE = re.compile(r'^exercise\("|<summary>Solution</summary>', re.MULTILINE)
_HIDDEN = {"remove-cell", "remove-input", "hide-input"}


def minutes(path: Path) -> int:
    """How long the notebook at `path` takes with all that is folded in it and its exercises, to five minutes."""
    cells = [
        one for one in json.loads(path.read_text("utf-8"))["cells"] if one["cell_type"] == "code"
    ]
    sources = {one["id"]: "".join(one["source"]) for one in cells}
    seen = [sources[one["id"]] for one in cells if not _HIDDEN & {*one["metadata"].get("tags", ())}]
    text = markdown_of(path)
    words = len(re.findall(r"\w+", text))
    lines = sum(len(source.splitlines()) for source in seen)
    exercises = sum(len(_EXERCISE.findall(source)) for source in (*sources.values(), text))
    tries = sum("widget-view" in str(one["outputs"]) for one in cells) - exercises
    took = words / WORDS_A_MINUTE + lines / LINES_A_MINUTE
    took += MINUTES_A_TRY * max(0, tries) + MINUTES_AN_EXERCISE * exercises
    return 5 * max(1, round(took / 5))


def lay_out(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Name the parts of the introduction for its style, and put minutes behind the notebooks that it lists."""
    if page != INTRODUCTION or app.builder.name == "epub":
        return
    front = next(doctree.findall(nodes.section))
    front["classes"].append("worklog-front")
    next(front.findall(nodes.bullet_list))["classes"].append("worklog-doors")
    (contents,) = (one for one in doctree.findall(nodes.section) if "contents" in one["ids"])
    for link in list(contents.findall(nodes.reference)):
        path = ROOT / "book" / f"{Path(link['refuri']).stem}.ipynb"
        if path.exists():
            link.parent += nodes.inline("", f"{minutes(path)} min", classes=["worklog-minutes"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the functions above to the build; every page of the book is part of what the introduction shows."""
    app.connect("env-get-outdated", lambda *_: [INTRODUCTION])
    app.connect("doctree-resolved", lay_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
