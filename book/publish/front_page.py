"""Sphinx extension: the introduction as a front page, at the site's own address too, and pages by their addresses.

It has three doors, and each page of the contents with its minutes. The button that opens a page in Colab opens it as the
last release has it.
"""

from __future__ import annotations

import posixpath
import re
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from address import ROOT, Address
from docutils import nodes
from glossary import markdown_of
from sphinx.application import Sphinx
from sphinx.config import Config

INTRODUCTION = "book/intro"
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
    exercises = len(list(Path(ROOT, "book", "exercises").glob("*.toml")))
    sidebar, progress = 'class="bd-sidebar-primary', 'class="worklog-progress"'
    text = text.replace(sidebar, 'class="pst-sidebar-hidden bd-sidebar-primary')  # same contents
    text = text.replace(progress, f'{progress} data-of="{exercises}"')
    (out / page).write_text(text, encoding="utf-8")
    text = text.replace('data-content_root="../"', 'data-content_root="./"')
    (out / "index.html").write_text(_LINK.sub(_from_above, text), encoding="utf-8")


def _from_above(link: re.Match[str]) -> str:
    """A link of the introduction, for the folder above its own."""
    path, mark, place = link[2].partition("#")
    path = posixpath.normpath(f"{posixpath.dirname(INTRODUCTION)}/{path}")
    return f'{link[1]}="{path}{mark}{place}"'


# ---- what the introduction lists


WORDS_A_MINUTE, LINES_A_MINUTE, MINUTES_A_TRY, MINUTES_AN_EXERCISE = 200, 15, 1, 5
"""Prose, lines of code, a slider or a guess, an exercise."""
_EXERCISE = re.compile(r'^exercise\("|<summary>Solution</summary>', re.MULTILINE)
_HIDDEN = {"remove-cell", "remove-input", "hide-input"}


def minutes(path: Path) -> int:
    """How long the notebook at `path` takes with all that is folded in it and its exercises, to five minutes."""
    cells = [one for one in nbformat.read(path, as_version=4).cells if one.cell_type == "code"]
    seen = [one.source for one in cells if not _HIDDEN & {*one.metadata.get("tags", ())}]
    text = markdown_of(path)
    words = len(re.findall(r"\w+", text))
    lines = sum(len(source.splitlines()) for source in seen)
    exercises = sum(len(_EXERCISE.findall(told)) for told in (text, *(one.source for one in cells)))
    tries = sum("widget-view" in str(one.outputs) for one in cells) - exercises
    took = words / WORDS_A_MINUTE + lines / LINES_A_MINUTE
    took += MINUTES_A_TRY * max(0, tries) + MINUTES_AN_EXERCISE * exercises
    return 5 * max(1, round(took / 5))


def lay_out(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Name the parts of the introduction for its style, and put minutes behind the notebooks that it lists."""
    if page != INTRODUCTION or app.builder.name == "epub":
        return
    front = next(doctree.findall(nodes.section))
    front["classes"].append("worklog-front")
    next(front.findall(nodes.bullet_list))["classes"].append("worklog-doors")
    (contents,) = (one for one in doctree.findall(nodes.section) if "contents" in one["ids"])
    for link in list(contents.findall(nodes.reference)):
        path = ROOT / "book" / f"{Path(link['refuri']).stem}.ipynb"
        if path.exists():
            link.parent += nodes.inline("", f"{minutes(path)} min", classes=["worklog-minutes"])


# ---- Colab


def point_at_the_release(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """The theme would open the branch, whose notebooks install the release all the same."""
    for group in context.get("header_buttons", ()):
        for button in group.get("buttons", ()):
            if button["text"] == "Colab":
                button["url"] = Address.read().notebook(page.removeprefix("book/"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", name_addresses)
    app.connect("html-page-context", describe, priority=400)  # before sphinxext.opengraph
    app.connect("build-finished", name_every_page, priority=100)
    app.connect("build-finished", put_introduction_first, priority=900)
    app.connect("env-get-outdated", lambda *_: [INTRODUCTION])
    app.connect("doctree-resolved", lay_out)
    app.connect("html-page-context", point_at_the_release, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
