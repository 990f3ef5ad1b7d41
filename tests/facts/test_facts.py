"""Each figure and relation that a chapter or its evidence states stands there, and is what record, counter or code has."""

import re
from importlib import import_module
from pathlib import Path

import nbformat
import pytest
from notebooks import BOOK

MODULES = [import_module(f"facts.{path.stem}") for path in sorted(Path(__file__).parent.glob("facts_*.py"))]  # fmt: skip
TABLES = {
    name.removeprefix("FACTS_").lower() if "_" in name else module.__name__.partition("_")[2]: table
    for module in MODULES
    for name, table in vars(module).items()
    if name.startswith("FACTS")
}
"""By page, phrases, and whether they are true: a module's `FACTS` are of the page that it is called after, `FACTS_INTRO`
of the page `intro`. A phrase with a number put in has so many words that no other of the page is like it."""
EACH = [pytest.param(stem, *one, id=f"{stem}-{one[0]}") for stem in TABLES for one in TABLES[stem].items()]  # fmt: skip
LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")


def said(stem):
    """What a reader of a page, its cells and its evidence sees, without links, marks and line breaks."""
    paths = [*BOOK.glob(f"{stem}.ipynb"), *BOOK.glob(f"evidence/{stem}.ipynb")]
    texts = [path.read_text(encoding="utf-8") for path in BOOK.glob(f"{stem}.md")]
    text = " ".join(
        texts + [cell.source for path in paths for cell in nbformat.read(path, 4).cells]
    )
    return re.sub(r"\s+", " ", re.sub(r'[`*]|"\s*"', "", LINK.sub(r"\1", text)))


@pytest.mark.parametrize(("stem", "phrase", "fact"), EACH)
def test_a_phrase_stands_on_its_page_and_is_true(stem, phrase, fact):
    assert phrase
    assert phrase in said(stem)
    assert fact in (True,)  # a phrase, however true, is no answer
