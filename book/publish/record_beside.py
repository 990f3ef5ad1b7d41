"""Sphinx extension: a page with a place for a reader's record gets the book's times, and the scripts that draw both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from softmax_lib.records.beside import page_data
from softmax_lib.records.record import load
from softmax_lib.records.shelf import DEFAULT_GPU, FOLDER

PLACE = 'class="worklog-beside"'
DATA = "book_record.js"
SCRIPTS = (DATA, "records.js", "record_figures.js", "record_beside.js")


def write_data(app: Sphinx) -> None:
    """The book's record as a script, which a page that is opened as a file can load too."""
    if app.builder.name != "html":
        return
    data = page_data(load(FOLDER / f"{DEFAULT_GPU}.json"))
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    path = Path(app.outdir, "_static", DATA)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"window.worklogRecord = {text};\n", encoding="utf-8")


def add_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Load them on pages that have the place, and on no other."""
    if app.builder.name == "html" and PLACE in context.get("body", ""):
        for name in SCRIPTS:
            app.add_js_file(name, loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the functions above to the build."""
    app.connect("builder-inited", write_data)
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
