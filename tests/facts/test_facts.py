"""Each figure and relation that a chapter or its evidence states stands there, and is what record, counter or code has."""

import re
from importlib import import_module
from pathlib import Path

import nbformat
import pytest
from notebooks import BOOK

PAGES = [path.stem.removeprefix("facts_") for path in Path(__file__).parent.glob("facts_*.py")]
TABLES = {page: import_module(f"facts.facts_{page}").FACTS for page in sorted(PAGES)}
"""By page, phrases and what they have to be: the same phrase, or true."""
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
    assert phrase in said(stem)
    assert fact in (True, phrase)
