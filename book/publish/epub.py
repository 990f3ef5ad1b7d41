"""Sphinx extension: the whole book as one EPUB, which has no kernel to launch and moves no widget."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from address import Address, release
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.builders.epub3 import Epub3Builder

SVG = "http://www.w3.org/2000/svg"
AFTER_OTHERS = 900
LEFT_OUT = (
    "index.html",
    "sitemap.xml",
    "_static/elements.mjs",
    "_static/machine.mjs",
    "_static/machine.wasm",
    "_static/run.mjs",
    "_static/step.mjs",
    "_static/xray.mjs",
)
"""What is a site's, of the build before; and what nothing in a book runs, and EPUB has no type for."""


class Epub(Epub3Builder):
    """Sphinx's, with a manifest that says, as EPUB asks for, which pages hold formulas and drawings."""

    def build_content(self) -> None:
        super().build_content()
        manifest = Path(self.outdir, "content.opf")

        def tell(item: re.Match[str]) -> str:
            page = Path(self.outdir, item[1]).read_text(encoding="utf-8")
            held = [name for name, tag in (("mathml", "<math"), ("svg", "<svg")) if tag in page]
            return f'{item[0]} properties="{" ".join(held)}"' if held else item[0]

        text = manifest.read_text(encoding="utf-8")
        text = re.sub(
            r'<item id="[^"]+" href="([^"]+\.xhtml)" media-type="[^"]+"(?! prop)', tell, text
        )
        manifest.write_text(text, encoding="utf-8")


def prepare(app: Sphinx) -> None:
    """Say in an EPUB what it is, and leave the site's buttons out of it."""
    if app.builder.name != "epub":
        return
    config, address = app.config, Address.read()
    config.project = config.epub_title = config.html_title
    config.version = config.release = release()
    config.epub_basename = address.name
    # Sphinx writes the one where the other is meant.
    config.epub_identifier = config.epub_uid = address.name
    config.epub_description = f"Chapters of {address.site}, their widgets as they begin"
    config.epub_show_urls = "no"
    config.epub_exclude_files = [*LEFT_OUT]
    config.html_theme_options["launch_buttons"] = {}
    app.connect("html-page-context", as_xhtml, priority=AFTER_OTHERS)


def as_xhtml(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Write a page's HTML as XHTML, which EPUB asks for, without scripts and what only they would answer."""
    context["script_files"] = []
    styles = context["css_files"]  # that of myst-nb is copied when the EPUB is already closed
    context["css_files"] = [file for file in styles if "mystnb." not in str(file.filename)]
    if "body" not in context:
        return
    body = BeautifulSoup(context["body"], "html5lib").body
    for silent in body.select("button, script, [role=status], summary .expanded"):
        silent.decompose()
    for unheard in body.select("noscript"):
        unheard.unwrap()
    for words in body.select("summary p"):
        words.name = "span"
    for drawing in body.select("svg"):
        drawing["xmlns"] = SVG
    of_outputs = dict.fromkeys(style.extract().string for style in body.select("style"))
    context["metatags"] += "".join(f"<style>{style}</style>" for style in of_outputs)
    context["body"] = "".join(map(str, body.contents))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_builder(Epub, override=True)
    app.connect("builder-inited", prepare, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
