"""The words of glossary.md, which of them a page uses, and whether it links each where it comes first.

A word has a heading, and words that share a definition have their headings in a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat

PAGE = Path(__file__).parents[1] / "glossary.md"
HEADING = "### "
LINK = re.compile(r"\[([^\[\]\n]+)\]\((?:\.\./)?glossary\.md#([\w-]+)\)")
"""The words of a link, and the anchor that it leads to."""
_ANCHOR = re.compile(r'<a id="[\w-]+"></a>$')
"""JupyterLab's own have capital letters where the heading has."""


@cache
def entries() -> Mapping[str, str]:
    """Each word of the glossary and the first of those that share its definition."""
    found: dict[str, str] = {}
    first = ""
    for line in filter(None, PAGE.read_text(encoding="utf-8").splitlines()):
        if word := word_in(line):
            first = first or word
            found[word] = first
        else:
            first = ""
    return found


def word_in(line: str) -> str:
    """The word that a heading has, without the anchor behind it; "" for other lines."""
    return _ANCHOR.sub("", line.removeprefix(HEADING)) if line.startswith(HEADING) else ""


@cache
def anchors() -> Mapping[str, str]:
    """Each word by the anchor that its heading has wherever Markdown is shown."""
    return {anchor(word): word for word in entries()}


def anchor(heading: str) -> str:
    """`machine-code` for "machine code"."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


# ---- uses of words on a page

_HIDDEN = re.compile(
    r"""
    \A\#[^\n]*\n+[^\n]+                    # the title, and the sentence under it
    | ^```.*?^```$                         # code
    | ^\#[^\n]* | ^<summary>[^\n]*         # headings
    | <!--.*?-->
    | \$\$.*?\$\$ | \$[^$\n]*\$
    | `[^`\n]*`
    | \[[^\]]*\]\([^)]*\)                  # links, of which those to words are looked at alone
    | https?://\S+
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
"""What is no running text."""

EVERYDAY = frozenset(
    {"round", "program", "record", "tie", "event", "stage", "driver", "device", "host", "of use"}
)
"""Words of the glossary that also have their everyday meaning on these pages: where they come first is not looked at."""


@dataclass(frozen=True)
class Use:
    """The first use of a word of the glossary: where in the text, which, and whether it is a link."""

    start: int
    term: str
    is_linked: bool


def markdown_of(path: Path) -> str:
    """The Markdown of a page, of a notebook cell after cell."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    cells = nbformat.read(path, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def first_uses(text: str) -> Iterator[Use]:
    """Where each word of the glossary comes first in a page's Markdown, of those that are looked at."""
    seen: set[str] = set()
    for use in sorted((*_links(text), *_plain(text)), key=lambda use: use.start):
        meaning = entries().get(use.term, use.term)
        if meaning not in seen and use.term not in EVERYDAY:
            seen.add(meaning)
            yield use


def _links(text: str) -> Iterator[Use]:
    for found in LINK.finditer(text):
        yield Use(found.start(), anchors().get(found[2], found[2]), is_linked=True)


def _plain(text: str) -> Iterator[Use]:
    running = _HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in _words().finditer(running):
        yield Use(found.start(), _forms()[found[0].lower()], is_linked=False)


@cache
def _words() -> re.Pattern[str]:
    forms = sorted(_forms(), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, forms))})(?![\w-])", re.IGNORECASE)


@cache
def _forms() -> Mapping[str, str]:
    """Each word by how it is written in small letters, alone and as several."""
    terms = reversed(entries())  # of two that are written alike the first
    return {f"{term}{end}".lower(): term for term in terms for end in ("", "s", "es")}
