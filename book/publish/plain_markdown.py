"""Sphinx extension: pages are Markdown that every tool shows, and the site makes its own of some of it.

A link to a word of glossary.md is a term, a link to a source of references.md in parentheses is a citation, and these two
pages are a glossary and a bibliography. A word or source that is not there is a fault of the build.
"""

from __future__ import annotations

import re

from glossary import HEADING, LINK, anchors, word_in
from references import CITATION
from sphinx.application import Sphinx

_WORDS = re.compile(rf"^{HEADING}.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_SOURCES = re.compile(r"<!-- sources:begin -->.*<!-- sources:end -->", re.DOTALL)


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Turn a page's text, Markdown or a notebook's JSON, into what Sphinx makes a site of."""
    text = _WORDS.sub(_glossary, source[0]) if page.endswith("/glossary") else source[0]
    text = _SOURCES.sub("```{bibliography}\n```", text)
    text = CITATION.sub(r"{cite}`\g<key>`", text)
    source[0] = LINK.sub(_term, text)


def _term(link: re.Match[str]) -> str:
    words, anchor = link.groups()
    return f"{{term}}`{words} <{anchors().get(anchor, anchor)}>`"


def _glossary(words: re.Match[str]) -> str:
    lines = ["```{glossary}"]
    for line in filter(None, words[0].splitlines()):
        word = word_in(line)
        lines += [word] if word else [f"  {line}", ""]
    return "\n".join([*lines, "```", "", ""])


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the function above to the build."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
