"""The words of glossary.md: a heading each, and words that share a definition have their headings in a row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

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
