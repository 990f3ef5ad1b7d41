"""Sphinx extension: what of the theme a page does not wait for, and the scripts that draw a reader's record."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache, partial
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

from softmax_lib.records.measurement import LABELS, PEERS, TIE, Measurement
from softmax_lib.records.record import Record, load
from softmax_lib.records.schema import rules
from softmax_lib.records.shelf import DEFAULT_GPU, FOLDER
from softmax_lib.worklog.registry import rungs

BOOK = Path(__file__).parents[1]
ICONS = "_static/scripts/fontawesome.js"
"""The theme's script with every icon of Font Awesome, of which pages show a few."""

_WAITED_FOR = re.compile(r'<script src="([^"]*(?:searchtools|language_data|searchindex)\.js)">')
_ICONS = re.compile(r'<script defer src="[^"]*fontawesome\.js[^"]*"></script>')
_ICON = re.compile(
    r'<(i|span) class="([^"]*\bfa[srb]? fa-[^"]*|[^"]*\bfa-(?:solid|regular|brands) [^"]*)"([^>]*)></\1>'
)
_COLOURS = re.compile(r'(dataset\.theme = )localStorage\.getItem\("theme"\) \|\| "auto";')
_MODE = 'localStorage.getItem("mode")'
_FIRST_SCRIPT = '<script data-cfasync="false">'
"""The theme's own, which asks for what a browser keeps."""
_SYSTEM_S = 'matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"'
_LICENSE = "<!-- Icons: Font Awesome Free, https://fontawesome.com, CC BY 4.0. -->"


def notice_static_files(app: Sphinx, config: Config) -> None:
    """Make a change of a style sheet or script count as a change of the pages that use it."""
    files = sorted(path for path in (BOOK / "static").iterdir() if path.is_file())
    config.static_digest = hashlib.sha256(b"".join(map(Path.read_bytes, files))).hexdigest()


def lighten_pages(app: Sphinx, error: Exception | None) -> None:
    """Let pages be seen before search and theme are ready: in their colours, and with the icons that they show."""
    if error or app.builder.name != "html":
        return
    storage = (BOOK / "static" / "storage.js").read_text(encoding="utf-8")
    icons = Path(app.outdir, ICONS).read_text(encoding="utf-8")
    for path in Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        lighter = _WAITED_FOR.sub(r'<script defer src="\1">', text)
        lighter = _ICON.sub(partial(draw_icon, icons), _ICONS.sub(_LICENSE, lighter))
        lighter = _COLOURS.sub(rf'\1{{auto: {_SYSTEM_S}}}[{_MODE} ?? "auto"] ?? {_MODE};', lighter)
        if storage not in lighter:
            lighter = lighter.replace(_FIRST_SCRIPT, _FIRST_SCRIPT + storage, 1)
        lighter = lighter.replace('data-theme="auto"', 'data-theme="light"', 1)
        if lighter != text:
            path.write_text(lighter, encoding="utf-8")


def draw_icon(script: str, place: re.Match[str]) -> str:
    """An SVG with the classes and attributes of an <i> or <span>. Raises `ExtensionError` for an icon that is not known."""
    _, classes, attributes = place.groups()
    names = re.findall(r"\bfa-([a-z0-9-]+)", classes)
    found = next(filter(None, (find_icon(script, name) for name in names)), None)
    if found is None:
        raise ExtensionError(f"The theme's script has none of the icons {', '.join(names)}.")
    return (
        f'<svg class="worklog-icon {" ".join(classes.split())}"{attributes} aria-hidden="true" '
        f'viewBox="0 0 {found[1]} 512"><path fill="currentColor" d="{found[2]}"/></svg>'
    )


@cache
def find_icon(script: str, name: str) -> re.Match[str] | None:
    """The width and the path of an icon in the theme's script."""
    drawn = r'"\w+","([^"]+)"\]'
    own = rf'["{{,]{re.escape(name)}"?:\[(\d+),512,\[[^]]*\],{drawn}'
    other = rf'\[(\d+),512,\[[^]]*"{re.escape(name)}"[^]]*\],{drawn}'
    return re.search(own, script) or re.search(other, script)


# ---- a reader's record beside the book's


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
    app.add_config_value("static_digest", "", "html")
    app.connect("config-inited", notice_static_files)
    app.connect("build-finished", lighten_pages)
    app.connect("builder-inited", write_data)
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
