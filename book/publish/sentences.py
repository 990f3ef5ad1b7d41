"""Markdown cut into sentences, each with the marker that names what shows it.

A marker is a comment directly behind its sentence: `It is faster.<!-- shown by: counting --> Next.`
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

_BLOCK = re.compile(r"<!-- (?P<name>\w+):begin -->\n.*?<!-- (?P=name):end -->\n?", re.DOTALL)
MARKER = re.compile(r"<!--\s*shown by:\s*(.*?)\s*-->")

CITATION = re.compile(r"\(\[[^\[\]\n]+\]\((?:\.\./)?references\.md#(?P<key>\w+)\)\)")

_FENCE = re.compile(r"\s*(?P<fence>`{3,}|~{3,})")
_FOLD = re.compile(r"<details>$|<summary>.*</summary>$|</details>$")
_HEADING = re.compile(r"^\s*#+\s+")
_ITEM = re.compile(r"^\s*([-*+]|\d+[.)])\s+")
_ROW = re.compile(r"\s*\|")
_RULE = re.compile(r"[\s|:-]+")

_CITED = re.compile(rf" ?{CITATION.pattern}")
_LINK = re.compile(r"!?\[(?P<words>[^\]]*)\]\([^)\s]*\)")
_CODE_OR_MATH = re.compile(r"(`+).+?\1|\$\$.+?\$\$|\$[^$]+\$")
_QUOTED = re.compile(r'"[^"]*?(?=[.?!]?")|“[^”]*?(?=[.?!]?”)')
_END = re.compile(
    r"(?<!e\.g)(?<!i\.e)(?<!\bcf)(?<!\bvs)(?<!\.\.)"  # abbreviations, dots that trail off
    rf"""[.?!]["”’)*_]*(?:{MARKER.pattern})?(?=\s+(?![a-z|]))"""
)
BLOT = "▢"


@dataclass(frozen=True)
class Sentence:
    """What a reader sees of a sentence, where it stands, and what its marker names."""

    text: str
    where: str
    shown_by: tuple[str, ...] = ()
    misplaced: bool = False
    """A marker stands inside of it, or behind nothing."""

    @property
    def words(self) -> str:
        """The text without code and formulas."""
        return _blot(_CODE_OR_MATH, self.text)

    @property
    def is_question(self) -> bool:
        return self.text.rstrip('"”’)*_').endswith("?")


def sentences(markdown: str, where: str = "") -> list[Sentence]:
    """The sentences of paragraphs, headings, list items, table rows and definitions, in order.

    What a script writes between two marks is a record's, and tested as that.
    """
    by_hand = _BLOCK.sub("", markdown)
    return [_marked(raw, where) for unit in units(by_hand) for raw in split(visible(unit))]


def names(marker: str) -> tuple[str, ...]:
    """What a marker's text names: `"counting, cites:key"` is `("counting", "cites:key")`."""
    return tuple(name.strip() for name in marker.split(","))


def _marked(raw: str, where: str) -> Sentence:
    """A sentence parted from the marker behind it."""
    marker = re.search(MARKER.pattern + "$", raw)
    text = raw[: marker.start()] if marker else raw
    misplaced = bool(MARKER.search(text)) or not text or text != text.rstrip()
    shown_by = names(marker[1]) if marker else ()
    return Sentence(MARKER.sub("", text).strip(), where, shown_by, misplaced)


def split(text: str) -> list[str]:
    """Cut behind `.`, `?` or `!` and the marker that follows, but not in code, math or quotes."""
    blotted = _blot(_QUOTED, _blot(_CODE_OR_MATH, text))
    cuts = [0, *(end.end() for end in _END.finditer(blotted)), len(text)]
    return [text[a:b].strip() for a, b in itertools.pairwise(cuts) if text[a:b].strip()]


def visible(text: str) -> str:
    """The words of links without their targets; a citation shows none of ours."""
    return _LINK.sub(r"\g<words>", _CITED.sub("", text))


def _blot(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda found: BLOT * len(found[0]), text)


def units(markdown: str) -> Iterator[str]:
    """Paragraphs, headings, list items and table rows."""
    unit: list[str] = []
    for line in prose_lines(markdown):
        alone = bool(_HEADING.match(line) or _ROW.match(line))
        if unit and (not line.strip() or alone or _ITEM.match(line)):
            yield " ".join(unit)
            unit = []
        line = _ITEM.sub("", _HEADING.sub("", line)).strip()
        if _ROW.match(line):
            line = "" if _RULE.fullmatch(line) else line.strip("| ")
        if line and alone:
            yield line
        elif line:
            unit.append(line)
    if unit:
        yield " ".join(unit)


def prose_lines(markdown: str) -> Iterator[str]:
    """The lines that hold prose, and an empty one in place of a fold-out's edge, code or math."""
    skipped_to = ""  # what ends the code or formula that is being skipped
    for line in markdown.splitlines():
        bare = line.strip()
        if skipped_to:
            skipped_to = "" if bare.endswith(skipped_to) else skipped_to
        elif bare.startswith("$$"):
            skipped_to = "" if bare.endswith("$$") and len(bare) > 3 else "$$"
        elif fence := _FENCE.match(line):
            skipped_to = fence["fence"]
        elif not _FOLD.match(line):
            yield line
            continue
        yield ""
