"""Whether each claim of the book names what shows it.

`python book/publish/claims.py [PAGE ...]` prints the words that make a claim, a table of what
shows the claims of each page, and what is wrong with any of them; status 1 when something is.

A marker, `<!-- shown by: NAME, NAME -->` directly behind its sentence, may name
  memory_is_far            test_memory_is_far in tests/claims, in the file of this page
  batches.memory_is_far    the same in the file of another page
  cell:ID                  a code cell of this page, whose output is tested
  cites:KEY                an entry of references.bib
  counting                 arithmetic that the reader can redo from the page or the kernel
  definition               what a word means, or how CUDA is specified
  guess                    nothing yet: the sentence itself says that it guesses
A sentence without a word of the list may have one too, and then it is held to it.
A code cell's strings have the same names in the cell's metadata, under `shown_by`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

from address import ROOT
from claim_words import claim_words, print_words
from notebooks import BOOK
from prose import Page, is_claim, read, with_markers
from sentences import Sentence

RELATIONS = ROOT / "tests" / "claims"
PLAIN = ("counting", "definition", "guess")
KINDS = ("relation", "cell", "cites", *PLAIN)
HEDGE = re.compile(r"\b(guess|perhaps|may|might|likely)\b", re.IGNORECASE)
RECORD = (
    "recorded",
    "measure(",
    "figures.",
    "explore(",
    "agreement(",
    "topk_times(",
    "topk_sizes(",
    "unroll_times(",
    "search_unroll(",
    "warp_times(",
    "tile_times(",
    "lie_times(",
    "lie_peak(",
    "catch_lie(",
    "memory_chart(",
    "read_meet_write(",
)
"""What a cell writes when it reads the record: its output changes with it."""


def kind(name: str) -> str:
    """Which of `KINDS` a name in a marker is."""
    if name in PLAIN:
        return name
    prefix, colon, _ = name.partition(":")
    return prefix if colon else "relation"


@cache
def relations(stem: str) -> frozenset[str]:
    """The names of the tests in the file of a page's relations, each without its `test_`."""
    path = RELATIONS / f"test_claims_{stem}.py"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return frozenset(re.findall(r"^def test_(\w+)\(", text, re.MULTILINE))


@cache
def bibliography() -> frozenset[str]:
    """The keys of references.bib."""
    text = (BOOK / "references.bib").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^@\w+\{([^,\s]+),", text, re.MULTILINE))


def whole_name(name: str, stem: str) -> str:
    """A relation's name with its page: `memory_is_far` on batches is `batches.memory_is_far`."""
    return name if "." in name else f"{stem}.{name}"


def related(page: Page) -> set[str]:
    """The whole names of the relations that a page's markers name."""
    found = {name for sentence in page.sentences for name in sentence.shown_by}
    return {whole_name(name, page.stem) for name in found if kind(name) == "relation"}


def wrong_with_name(name: str, sentence: Sentence, page: Page) -> str | None:
    """Why a name in a marker shows nothing, in words; None when it does."""
    of, _, target = name.partition(":")
    match kind(name):
        case "relation":
            other, _, test = whole_name(name, page.stem).rpartition(".")
            if test not in relations(other):
                return f"tests/claims/test_claims_{other}.py has no test_{test}."
        case "cell":
            return wrong_with_cell(target, page)
        case "cites":
            if target not in bibliography():
                return f"references.bib has no entry {target}."
        case "guess":
            if not HEDGE.search(sentence.words):
                return "It is a guess, and does not say so (guess, perhaps, may, might, likely)."
        case "counting" | "definition":
            return None
        case _:
            return f"{of}: is no kind of evidence (cell:, cites:)."
    return None


def wrong_with_cell(name: str, page: Page) -> str | None:
    """Why a cell's output shows nothing, in words; None when it does."""
    if name not in page.cells:
        return f"The page has no code cell {name}."
    source = page.cells[name]
    if "assert" in source:
        return None
    if any(word in source for word in RECORD):
        return f"Cell {name} reads the record and asserts nothing: a relation has to show it."
    if name in page.live:
        return f"Cell {name} is live and asserts nothing: what it prints is compared with nothing."
    return None


def wrong_with(sentence: Sentence, page: Page) -> list[str]:
    """All that is wrong with a sentence's evidence, in words."""
    if sentence.misplaced:
        return ["A marker stands directly behind a sentence, without a space and only there."]
    if is_claim(sentence) and not sentence.shown_by:
        return [f"Nothing shows it ({', '.join(claim_words(sentence.words))})."]
    found = (wrong_with_name(name, sentence, page) for name in sentence.shown_by)
    return [fault for fault in found if fault]


def faults(page: Page) -> list[str]:
    """A line for each fault of a page: where, which sentence, and what."""
    return [
        f"{page.stem}, {sentence.where}: “{sentence.text}” {fault}"
        for sentence in page.sentences
        for fault in wrong_with(sentence, page)
    ]


def table(read_pages: list[Page]) -> list[str]:
    """Lines that count, page by page, the claims, what shows them, and those that nothing shows."""
    heads = ("claims", *KINDS, "nothing")
    lines = ["".join([f"{'page':12}", *(f"{head:>11}" for head in heads)])]
    for page in read_pages:
        claims = [
            sentence for sentence in page.sentences if is_claim(sentence) or sentence.shown_by
        ]
        count = Counter(of for s in claims for of in {kind(name) for name in s.shown_by})
        count.update(claims=len(claims), nothing=sum(not s.shown_by for s in claims))
        lines.append("".join([f"{page.stem:12}", *(f"{count[head]:11}" for head in heads)]))
    return lines


def main() -> int:
    paths = {path.stem: path for path in with_markers()}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="such as batches; all if none")
    stems = [Path(given).stem for given in parser.parse_args().pages] or list(paths)
    if unknown := [stem for stem in stems if stem not in paths]:
        parser.error(f"the book has no page {unknown[0]}; it has {', '.join(paths)}")
    chosen = [read(paths[stem]) for stem in stems]
    found = [fault for page in chosen for fault in faults(page)]
    print_words()
    print("", *table(chosen), "", *found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
