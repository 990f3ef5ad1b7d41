"""Sphinx extension: a notebook's figures stand in the page as SVG, in its ink, paper and letters, wide or for a phone."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from sphinx.application import Sphinx

_PREFIX = "data:image/svg+xml,"
_IMAGE = re.compile(r'<img class="worklog-(figure|drawing)"([^>]*)>')
_NARROW = re.compile(r' data-narrow="[^"]*"')
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")

THEMED = {
    "#000000": "currentColor",
    "#ffffff": "var(--pst-color-background, #ffffff)",
    "#595959": "var(--pst-color-text-muted, #595959)",
}
"""Ink, paper and grey are the page's; any other colour has a name that the dark theme gives another value."""


def inline(html: str) -> str:
    """The same HTML with SVG for every drawing and figure, of which both the wide and the narrow one."""
    return _IMAGE.sub(_draw, html)


def _draw(image: re.Match[str]) -> str:
    given = dict(_ATTRIBUTE.findall(image[2]))
    if image[1] == "drawing":
        return re.sub(r'xmlns="[^"]*" font-family="[^"]*" ', "", _read(given["src"]), count=1)
    if narrow := given.get("data-narrow"):
        return _svg(given["src"], given["alt"], "wide") + _svg(narrow, given["alt"], "narrow")
    return _svg(given["src"], given["alt"], "only")


def _read(source: str) -> str:
    return unquote(source.removeprefix(_PREFIX))


def _svg(source: str, alt: str, kind: str) -> str:
    svg = themed(_read(source))
    size = re.search(r'viewBox="0 0 ([\d.]+) ', svg)
    width = f' style="max-width:{float(size[1]) * 4 / 3:.0f}px"' if size else ""
    start = f'<svg class="worklog-figure worklog-{kind}" role="img" aria-label="{alt}"{width}'
    return re.sub(r'<svg( (?:width|height|version|xmlns\S*)="[^"]*")*', start, svg, count=1)


def themed(svg: str) -> str:
    """An SVG of matplotlib's in the page's colours and letters."""
    # a style would hold for the page
    svg = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", svg)
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg)
    drawn = '<svg fill="currentColor" stroke-linejoin="round" stroke-linecap="butt"'
    svg = svg.replace("<svg", drawn, 1)
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    return _COLOUR.sub(lambda at: THEMED.get(at[0], f"var(--ink-{at[0][1:]}, {at[0]})"), svg)


def inline_page(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Do so in the body of a page; an EPUB's reader chooses the width, and gets the wide ones."""
    if "body" in context:
        body = context["body"]
        context["body"] = inline(_NARROW.sub("", body) if app.builder.name == "epub" else body)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", inline_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
