"""What the book's pages say: the sentences of their Markdown, and of strings in their code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from address import ROOT
from claim_words import claim_words
from nbformat import NotebookNode
from notebooks import BOOK, chapters, evidence
from sentences import BLOT, Sentence, names, sentences, split

FACTS = ROOT / "tests" / "facts"
FEWEST_WORDS = 6
"""A shorter string of a code cell is a label."""


@dataclass(frozen=True)
class Page:
    """A page's name, its sentences, and the sources of its code cells by their ids.

    What the cells in `live` print is their machine's own, and compared with nothing.
    """

    stem: str
    sentences: list[Sentence]
    cells: dict[str, str]
    live: frozenset[str] = frozenset()


def pages() -> list[Path]:
    """Every notebook and every Markdown file of the book."""
    return [*chapters(), *evidence(), *sorted(BOOK.glob("*.md"))]


def with_markers() -> list[Path]:
    """Those whose sentences name what shows them: the others have a table of facts instead."""
    return [path for path in pages() if not (FACTS / f"facts_{path.stem}.py").exists()]


def read(path: Path) -> Page:
    """The page at `path`, a notebook or a Markdown file."""
    if path.suffix == ".md":
        return Page(path.stem, sentences(path.read_text(encoding="utf-8"), "text"), {})
    cells = nbformat.read(path, as_version=4).cells
    found = [sentence for cell in cells for sentence in of_cell(cell)]
    code = {cell.id: cell.source for cell in cells if cell.cell_type == "code"}
    live = frozenset(cell.id for cell in cells if "live" in cell.metadata.get("tags", []))
    return Page(path.stem, found, code, live)


def of_cell(cell: NotebookNode) -> list[Sentence]:
    """The sentences of a Markdown cell, or the claims in a code cell's strings.

    What shows the latter stands in the cell's metadata, under `shown_by`.
    """
    where = f"cell {cell.id}"
    if cell.cell_type == "markdown":
        return sentences(cell.source, where)
    shown_by = names(cell.metadata.shown_by) if "shown_by" in cell.metadata else ()
    said = [Sentence(text, where, shown_by) for s in strings(cell.source) for text in split(s)]
    claims = [sentence for sentence in said if is_claim(sentence)]
    return claims or ([Sentence("(its strings)", where, shown_by)] if shown_by else [])


def is_claim(sentence: Sentence) -> bool:
    """Whether it has a word of the list and is no question."""
    return bool(claim_words(sentence.words)) and not sentence.is_question


def strings(source: str) -> list[str]:
    """The strings of a code cell that are sentences: long enough, and no CUDA.

    What an f-string fills in is blotted out.
    """
    if source.startswith("%%"):
        return []
    tree = ast.parse(re.sub(r"^(\s*)%.*", r"\1pass", source, flags=re.MULTILINE))
    return [
        text
        for text in _texts(tree)
        if len(re.findall(r"[^\W\d]+", text)) >= FEWEST_WORDS
        and "__global__" not in text
        and "{\n" not in text
    ]


def _texts(node: ast.AST) -> Iterator[str]:
    """The strings below `node`, in order."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(p.value if isinstance(p, ast.Constant) else BLOT for p in node.values)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)
