"""`make lab` opens the introduction, in a list that has the pages and nothing else."""

import json
import urllib.request

import pytest
from jupyter_lab import TOKEN, command, started
from notebooks import BOOK, pages

pytestmark = pytest.mark.site


@pytest.fixture(scope="module")
def opened():
    with started(command()) as address:
        yield address


def test_the_introduction_is_opened(opened):
    assert opened.endswith(f"/lab/tree/intro.ipynb?token={TOKEN}")


def test_pages_are_listed_and_nothing_else(opened):
    address = opened.partition("/lab/")[0]
    with urllib.request.urlopen(f"{address}/api/contents?token={TOKEN}") as answer:
        listed = {entry["name"] for entry in json.load(answer)["content"]}
    assert listed == {*(path.name for path in pages() if path.parent == BOOK), "evidence"}
