"""Sphinx extension: the introduction at the site's own address too, and what is known of every page by that address."""

from __future__ import annotations

import posixpath
import re
from html import escape
from pathlib import Path
from typing import Any

from address import Address
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

INTRODUCTION = "book/intro"
BOOK = Path(__file__).parents[1]
CARD = '<meta name="twitter:card" content="summary_large_image" />'

_LINK = re.compile(r'\b(href|src|action)="(?!#|/|[a-z][a-z0-9+.-]*:)([^"]+)"')


def name_addresses(app: Sphinx, config: Config) -> None:
    """Give every page its canonical address, shared links a picture, and a mistyped address its way back."""
    address = Address.read()
    config.html_baseurl = config.ogp_site_url = address.site
    config.ogp_image = f"{address.site}_static/card.png"
    config.ogp_image_alt = "A ladder of softmax kernels, each faster than the one before"
    config.ogp_custom_meta_tags = (CARD,)
    config.sitemap_url_scheme = "{link}"
    config.notfound_urls_prefix = f"/{address.name}/"
    config.notfound_context = {
        "title": "No such page",
        "body": "<h1>No such page</h1><p>The book has no page at this address. "
        f'<a href="/{address.name}/">The introduction</a> and the list beside it have them all; '
        f'<a href="/{address.name}/search.html">the search</a> looks into their words.</p>',
    }


def describe(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Say what a page is about in its first paragraph, the subtitle, to search engines and in shared links."""
    first = next(iter(doctree.findall(nodes.paragraph)), None) if doctree is not None else None
    if first is not None:
        told = " ".join(first.astext().split())
        context["meta"] = {**(context["meta"] or {}), "og:description": escape(told, quote=False)}
        context["metatags"] += f'<meta name="description" content="{escape(told)}" />\n'


def name_every_page(app: Sphinx, error: Exception | None) -> None:
    """Give the sitemap all pages of the book: its extension has met those that were written in this build."""
    if app.builder.name == "html":
        links = app.sitemap_links
        while not links.empty():
            links.get()
        for page in sorted(app.env.all_docs):
            links.put((f"{page}.html", None))


def put_introduction_first(app: Sphinx, error: Exception | None) -> None:
    """Write the introduction as the site's index, and name it by the site's address wherever it is named whole."""
    out, site, page = Path(app.outdir), app.config.html_baseurl, f"{INTRODUCTION}.html"
    if error or app.builder.name != "html" or not (out / page).exists():
        return
    for path in (out / page, out / "sitemap.xml"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(site + page, site), encoding="utf-8")
    text = (out / page).read_text(encoding="utf-8")
    text = text.replace(
        'class="bd-sidebar-primary', 'class="pst-sidebar-hidden bd-sidebar-primary'
    )  # same contents
    text = text.replace(
        'class="worklog-progress"', f'class="worklog-progress" data-of="{_exercises()}"'
    )
    (out / page).write_text(text, encoding="utf-8")
    (out / "index.html").write_text(_moved_up(text), encoding="utf-8")


def _exercises() -> int:
    """How many there are."""
    return len(list(Path(BOOK, "exercises").glob("*.toml")))


def _moved_up(page: str) -> str:
    """The HTML of a page of the folder `book`, for the folder above it."""
    page = page.replace('data-content_root="../"', 'data-content_root="./"')
    return _LINK.sub(lambda link: f'{link[1]}="{_from_above(link[2])}"', page)


def _from_above(link: str) -> str:
    path, mark, place = link.partition("#")
    return posixpath.normpath(f"{posixpath.dirname(INTRODUCTION)}/{path}") + mark + place


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the functions above to the build."""
    app.connect("config-inited", name_addresses)
    app.connect("html-page-context", describe, priority=400)  # before sphinxext.opengraph
    app.connect("build-finished", name_every_page, priority=100)
    app.connect("build-finished", put_introduction_first, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
