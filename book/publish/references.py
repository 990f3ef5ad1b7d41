"""The sources of references.bib as plain Markdown: how the text cites them, and the list in references.md.

`python book/publish/references.py` writes the list anew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from marks import rewrite

BOOK = Path(__file__).parents[1]
PAGE = BOOK / "references.md"
CITATION = re.compile(r"\(\[[^\[\]\n]+\]\((?:\.\./)?references\.md#(?P<key>\w+)\)\)")
"""A source in parentheses, as pages cite it."""

_ENTRY = re.compile(r"^@\w+\{([^,\s]+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """An entry of references.bib: its key, its authors as (first names, surname), and its other fields."""

    key: str
    authors: list[tuple[str, str]]
    fields: dict[str, str]

    @property
    def label(self) -> str:
        """By what the text cites it: "Dao et al., 2022"."""
        match [surname for _, surname in self.authors]:
            case []:
                who = self.fields["title"]
            case [only]:
                who = only
            case [one, other]:
                who = f"{one} and {other}"
            case [first, *_]:
                who = f"{first} et al."
        return f"{who}, {self.fields['year']}"

    @property
    def line(self) -> str:
        """Its item in the list, to which citations lead."""
        names = ", ".join(f"{first} {surname}".strip() for first, surname in self.authors)
        title = f"{names}, *{self.fields['title']}*".replace(", others,", " and others,")
        kinds = ("booktitle", "journal", "publisher", "howpublished")
        where = next(self.fields[kind] for kind in kinds if kind in self.fields)
        doi = self.fields.get("doi")
        address = f"https://doi.org/{doi}" if doi else self.fields.get("url")
        told = [title if names else "", where, f"<{address}>" if address else ""]
        return f'- <a id="{self.key}"></a>**{self.label}**: {". ".join(filter(None, told))}.'


@cache
def sources() -> dict[str, Source]:
    """Every entry of references.bib by its key."""
    text = (BOOK / "references.bib").read_text(encoding="utf-8")
    return {key: _source(key, body) for key, body in _ENTRY.findall(text)}


def _source(key: str, body: str) -> Source:
    fields = dict(_FIELD.findall(body))
    authors = [_name(one) for one in fields.pop("author", "").split(" and ") if one]
    plain = {name: re.sub("[{}]", "", text) for name, text in fields.items()}
    return Source(key, authors, plain)


def _name(text: str) -> tuple[str, str]:
    """First names and surname of "Surname, First"; a name in braces, or without a comma, is whole."""
    surname, _, first = re.sub("[{}]", "", text).partition(", ")
    return first, surname


def listed() -> str:
    """The list of references.md, in the order of the alphabet."""
    lines = sorted((source.label.lower(), source.line) for source in sources().values())
    return "\n".join(line for _, line in lines)


def main() -> None:
    PAGE.write_text(rewrite(PAGE.read_text(encoding="utf-8"), "sources", listed()), "utf-8")


if __name__ == "__main__":
    main()
