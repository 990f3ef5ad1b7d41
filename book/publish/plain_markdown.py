"""Sphinx extension: pages are Markdown that every tool shows, and the site makes its own of some of it.

A link to a word of glossary.md is a term, a link to a source of references.md in parentheses is a citation, and these two
pages are a glossary and a bibliography. A word or source that is not there is a fault of the build. A link to a word
carries what the glossary says of it, and formulas are MathML, which browsers set by themselves.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from glossary import HEADING, LINK, anchors, word_in
from latex2mathml.converter import convert
from references import CITATION
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

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


# ---- sources


def make_items(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Entries of the bibliography are items of a list: docutils gives them a role that ARIA 1.2 withdrew."""
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


# ---- formulas


def set_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """A formula in a line of text."""
    translator.body.append(f'<span class="math">{convert(node.astext())}</span>')
    raise nodes.SkipNode


def set_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """A formula by itself."""
    latex = node.astext().replace("{aligned}", "{align*}")  # which the converter knows
    latex = re.sub(r"\\\\\[[^]]*\]", r"\\\\", latex)  # and it does not know room between lines
    formula = convert(latex, display="block")
    translator.body.append(f'<div class="math" tabindex="0">{formula}</div>')
    raise nodes.SkipNode


# ---- links to words


GLOSSARY = "book/glossary"
SIGNS = {r"-\infty": "−∞", r"\log_2 n": "log₂ n", r"3.4 \times 10^{38}": "3.4 × 10³⁸", "n": "n", "10^9": "10⁹"}  # fmt: skip
"""Formulas of the glossary as text; another one is a fault of the build."""


def give_texts(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Title every link to a term with the first paragraph of its definition, for `terms.js` or a browser to show."""
    links = [link for link in doctree.findall(nodes.reference) if _is_term(link)]
    told = _definitions(app) if links else {}
    for link in links:
        place = link.get("refid") or link["refuri"].partition("#")[2]
        link["reftitle"] = told[place]


def _is_term(link: nodes.reference) -> bool:
    return any("std-term" in inner["classes"] for inner in link.findall(nodes.inline))


def _definitions(app: Sphinx) -> dict[str, str]:
    """The text of each definition, by the anchor of its term."""
    found = {}
    for item in app.env.get_doctree(GLOSSARY).findall(nodes.definition_list_item):
        text = plain(item[-1])
        for term in item.findall(nodes.term):
            found.update(dict.fromkeys(term["ids"], text))
    return found


def plain(node: nodes.Node) -> str:
    """Words of a definition without its marks, formulas in letters. Raises `KeyError` for one that is not in `SIGNS`."""
    if isinstance(node, nodes.math):
        return SIGNS[node.astext()]
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, (nodes.comment, nodes.raw)):
        return ""
    return "".join(plain(child) for child in node.children)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read)
    app.connect("html-page-context", make_items)
    app.add_html_math_renderer("mathml", (set_inline, None), (set_block, None))
    app.connect("doctree-resolved", give_texts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
