"""Each figure and relation that a chapter or its evidence states stands there, and is what record, counter or code has."""

import re
from importlib import import_module
from pathlib import Path

import nbformat
import pytest
from notebooks import BOOK

TABLES = [
    (path.stem, name)
    for path in sorted(Path(__file__).parent.glob("facts_*.py"))
    for name in re.findall(r"^(FACTS\w*) =", path.read_text(encoding="utf-8"), re.MULTILINE)
]
"""Modules and their tables, whose facts are worked out where the test of a page is run. A table has phrases, and whether they
are true: a module's `FACTS` are of the page that it is called after, `FACTS_INTRO` of the page `intro`. A phrase with a number
put in has so many words that no other of the page is like it."""
LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")


def said(stem):
    """What a reader of a page, its cells and its evidence sees, without links, marks and line breaks."""
    paths = [*BOOK.glob(f"{stem}.ipynb"), *BOOK.glob(f"evidence/{stem}.ipynb")]
    texts = [path.read_text(encoding="utf-8") for path in BOOK.glob(f"{stem}.md")]
    text = " ".join(
        texts + [cell.source for path in paths for cell in nbformat.read(path, 4).cells]
    )
    return re.sub(r"\s+", " ", re.sub(r'[`*]|"\s*"', "", LINK.sub(r"\1", text)))


@pytest.mark.parametrize(("module", "name"), TABLES, ids=[" ".join(one) for one in TABLES])
def test_each_phrase_stands_on_its_page_and_is_true(module, name):
    facts = getattr(import_module(f"facts.{module}"), name)
    page = said((name if "_" in name else module).partition("_")[2].lower())
    assert facts
    assert [phrase for phrase in facts if not phrase or phrase not in page] == []
    # a phrase, however true, is no answer
    assert [phrase for phrase, fact in facts.items() if fact not in (True,)] == []
