"""Sphinx extension: a link to a word of the glossary carries what the glossary says of it, for `terms.js` to show.

Where no script runs, browsers show it as the link's title.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

GLOSSARY = "book/glossary"
SIGNS = {r"-\infty": "−∞", r"\log_2 n": "log₂ n", r"3.4 \times 10^{38}": "3.4 × 10³⁸", "n": "n", "10^9": "10⁹"}  # fmt: skip
"""Formulas of the glossary as text; another one is a fault of the build."""


def give_texts(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Title every link to a term with the first paragraph of its definition."""
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
    """Connect the function above to the build."""
    app.connect("doctree-resolved", give_texts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
