"""Sphinx extension: entries of the bibliography are items of a list to a screen reader.

Docutils gives them the role doc-biblioentry, which ARIA 1.2 withdrew.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def make_items(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Replace the withdrawn role in the page's text."""
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the function above to the build."""
    app.connect("html-page-context", make_items)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
