"""Sphinx extension: the site is built without the markers that name what shows a claim.

A comment is not shown, but that of a heading would be found by the site's search.
"""

from __future__ import annotations

from sentences import MARKER
from sphinx.application import Sphinx


def leave_out(app: Sphinx, page: str, source: list[str]) -> None:
    """Take the markers out of a page's text, Markdown or a notebook's JSON."""
    source[0] = MARKER.sub("", source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the function above to the build."""
    app.connect("source-read", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
