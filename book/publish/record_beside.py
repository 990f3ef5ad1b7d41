"""Sphinx extension: a page with a place for a reader's record gets the book's times, and the scripts that draw both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from softmax_lib.records.measurement import LABELS, PEERS, TIE, Measurement
from softmax_lib.records.record import Record, load
from softmax_lib.records.schema import rules
from softmax_lib.records.shelf import DEFAULT_GPU, FOLDER
from softmax_lib.worklog.registry import rungs

PLACE = 'class="worklog-beside"'
DATA = "book_record.js"
SCRIPTS = (DATA, "records.js", "record_figures.js", "record_beside.js")
FIELDS = ("provider", "rows", "cols", "block_size", "median_us", "copy_us")
AS_RECORDED = ("gpu", "software", "protocol", "date", "kernels")


def page_data(record: Record) -> dict[str, Any]:
    """Times of whole kernels on float32 noise, L2 cold, as columns of `fields`, and what reading another record needs.

    Beside the times stand the rungs' hardware counters and what tells how the GPU was recorded.
    """
    content = record.content
    names = [kernel.name for kernel in rungs()]
    return {
        "rules": rules(),
        "rungs": names,
        "tie": TIE,
        "peers": {name: LABELS.get(name, name) for name in PEERS},
        "book": {
            **{name: content[name] for name in AS_RECORDED},
            "counters": [entry for entry in content["counters"] if entry["kernel"] in names],
            "fields": FIELDS,
            "rows": [columns(timing) for timing in record.select(dtype="float32", l2="cold")],
        },
    }


def columns(timing: Measurement) -> list[Any]:
    """The fields of one time, with more digits than a picture shows."""
    case, times_us = timing.case, (timing.median_us, timing.copy_us)
    facts = [case.provider, case.rows, case.cols, case.block_size]
    return facts + [float(f"{time_us:.5g}") for time_us in times_us]


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
