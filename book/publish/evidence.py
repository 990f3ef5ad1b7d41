"""Sphinx extension: evidence pages stand beside the way from chapter to chapter, and a kernel in a cell looks like CUDA."""

from __future__ import annotations

from typing import Any

from address import ROOT
from docutils import nodes
from sphinx.application import Sphinx

FOLDER = "book/evidence/"
KERNELS = ROOT / "kernels"
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


def colour_kernels(app: Sphinx, doctree: nodes.document) -> None:
    """Colour a cell with a kernel as CUDA or Python, and mark its lines that the kernel named in its metadata has not."""
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") != "cell_code":
            continue
        for block in cell.findall(nodes.literal_block):
            magic = block.astext().split(maxsplit=1)[:1]
            if magic == ["%%triton"]:
                block["language"] = "python"
            elif magic == ["%%cuda"]:
                block["language"] = "cuda"
                if before := cell["cell_metadata"].get("since"):
                    block["highlight_args"] = {"hl_lines": new_lines(block.astext(), before)}


def new_lines(text: str, before: str) -> list[int]:
    """The numbers of a cell's lines, below its magic, that a kernel of this stem has not."""
    there = {line.strip() for line in (KERNELS / f"{before}.cu").read_text("utf-8").splitlines()}
    lines = enumerate(text.splitlines(), 1)
    return [number for number, line in lines if number > 1 and line.strip() not in there | {""}]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", colour_kernels)
    app.connect("html-page-context", go_on, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
