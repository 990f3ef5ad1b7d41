"""Sphinx extension: the whole book as one EPUB, which has no kernel to launch and moves no widget."""

from __future__ import annotations

from typing import Any

from address import Address, release
from bs4 import BeautifulSoup
from sphinx.application import Sphinx


def prepare(app: Sphinx) -> None:
    """Say in an EPUB what it is, and leave the site's buttons out of it."""
    if app.builder.name != "epub":
        return
    config, address = app.config, Address.read()
    config.project = config.epub_title = config.html_title
    config.version = config.release = release()
    config.epub_basename = address.name
    config.epub_identifier = address.site
    config.epub_scheme, config.epub_uid = "URL", "address"
    config.epub_description = f"Chapters of {address.site}, their widgets as they begin"
    config.epub_show_urls = "no"
    config.html_theme_options["launch_buttons"] = {}
    app.connect("html-page-context", close_elements)


def close_elements(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Write a page's HTML as XHTML, which EPUB asks for, without what only a script would answer."""
    if "body" not in context:
        return
    body = BeautifulSoup(context["body"], "html5lib").body
    for silent in body.select("button, [role=status], summary .expanded"):
        silent.decompose()
    context["body"] = "".join(map(str, body.contents))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the functions above to the build."""
    app.connect("builder-inited", prepare, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
