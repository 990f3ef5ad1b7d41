"""Sphinx extension: evidence pages stand beside the way from chapter to chapter, and a cell with a kernel is CUDA."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

FOLDER = "book/evidence/"
_PREVIOUS, _NEXT = 1, 2
"""Where Sphinx's relations of a page have them."""


def go_on(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Lead from a chapter to chapters, past the evidence between them."""
    order = app.builder.relations
    for name, at in (("prev", _PREVIOUS), ("next", _NEXT)):
        other = order[page][at] if page in order and not page.startswith(FOLDER) else None
        if not (other or "").startswith(FOLDER):
            continue
        while other and other.startswith(FOLDER):
            other = order[other][at]
        context[name] = other and {
            "link": app.builder.get_relative_uri(page, other),
            "title": app.builder.render_partial(app.env.titles[other])["title"],
        }


def colour_cuda(app: Sphinx, doctree: nodes.document) -> None:
    """Colour a cell as CUDA, and not as Python, where a kernel is in it."""
    for block in doctree.findall(nodes.literal_block):
        if block.astext().startswith("%%cuda"):
            block["language"] = "cuda"


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the functions above to the build."""
    app.connect("doctree-read", colour_cuda)
    app.connect("html-page-context", go_on, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
