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

_LISTED = "tableofcontents|bibliography|math|code|code-block|code-cell|figure|image"
_FENCE = re.compile(r"\s*(?P<fence>`{3,}|~{3,}|:{3,})\s*(?P<directive>\{[\w-]+\})?")
_NO_PROSE = re.compile(rf"\{{({_LISTED})\}}")
_OPTION = re.compile(r"\s*:[\w-]+:(\s|$)")
_HEADING = re.compile(r"^\s*#+\s+")
_ITEM = re.compile(r"^\s*([-*+]|\d+[.)])\s+")
_ROW = re.compile(r"\s*\|")
_RULE = re.compile(r"[\s|:-]+")

_ROLE = re.compile(r"(?P<space> ?)\{(?P<role>[\w:-]+)\}`(?P<words>[^`<]*?)\s*(<[^`]*>)?`")
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
    """The words of roles and links without their targets; a citation shows none of ours."""

    def words(role: re.Match[str]) -> str:
        cites = role["role"].startswith("cite")
        return "" if cites else role["space"] + role["words"]

    return _LINK.sub(r"\g<words>", _ROLE.sub(words, text))


def _blot(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda found: BLOT * len(found[0]), text)


def units(markdown: str) -> Iterator[str]:
    """Paragraphs, headings, list items, table rows, and terms and definitions of a glossary."""
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
    """The lines that hold prose, and an empty one in place of a directive's edge, code or math."""
    open_fences: list[str] = []  # of directives that hold prose
    skipped_to = ""  # what ends the code or formula that is being skipped
    for line in markdown.splitlines():
        bare = line.strip()
        if skipped_to:
            skipped_to = "" if bare.endswith(skipped_to) else skipped_to
        elif bare.startswith("$$"):
            skipped_to = "" if bare.endswith("$$") and len(bare) > 3 else "$$"
        elif fence := _FENCE.match(line):
            skipped_to = _past(fence, open_fences)
        elif not _OPTION.match(line):
            yield line
            if open_fences[-1:] == ["glossary"] and line[:1].strip():
                yield ""  # a term
            continue
        yield ""


def _past(fence: re.Match[str], open_fences: list[str]) -> str:
    """Open or close a directive; what ends a fence that holds no prose, or nothing."""
    directive = fence["directive"]
    if directive and not _NO_PROSE.match(directive):
        open_fences.append("glossary" if directive == "{glossary}" else fence["fence"][0])
    elif not directive and open_fences and fence[0].strip() == fence.string.strip():
        open_fences.pop()
    elif not directive and fence["fence"].startswith(":"):
        pass  # the end of a directive that another cell began
    else:
        return fence["fence"]
    return ""
