"""Every kernel of a chapter is put into words, line by line, and what is shown is its file."""

import html
import re

import pytest
from notebooks import BOOK

from softmax_lib import drawings
from softmax_lib.drawings import line_by_line, listings
from softmax_lib.errors import BadInput, UnknownKernel
from softmax_lib.registry import rungs
from softmax_lib.source import KERNEL_FOLDER, Source

pytest.importorskip("pygments")

WHOLE = {"naive", "online", "shared", "shuffle", "float4", "fusion"}
"""Whose chapters show a kernel in one cell."""
RUNGS = [name for kernel in rungs() if (name := kernel.name) not in WHOLE]
NAMES = [*RUNGS, "warp"]
MOST_LINES = 6
"""Lines of code that one entry may stand for, but for a function that has been explained before."""


def code_lines(given: Source, lines: range) -> list[str]:
    text = [line.strip() for line in given.text.splitlines()[lines.start : lines.stop]]
    return [line for line in text if line.strip("} ") and not line.startswith(("//", "# "))]


@pytest.mark.parametrize("name", NAMES)
def test_the_whole_file_is_shown_and_words_are_not_copied_with_it(name):
    shown, given = drawings.explained(name), listings.read(name)
    lines = [line for line in shown.text.splitlines() if not line.startswith("    ~ ")]
    assert [line[4:] for line in lines] == given.text.splitlines()
    code = re.sub(
        r'<style>.*?</style>|<p>.*?</p>|<span class="linenos">.*?</span>',
        "",
        shown.html,
        flags=re.DOTALL,
    )
    assert html.unescape(re.sub(r"<[^>]+>", "", code)).split() == given.text.split()
    assert ".worklog-explained p{" in shown.html
    assert "user-select:none" in shown.html


@pytest.mark.parametrize("name", NAMES)
def test_every_line_of_code_has_words(name):
    given = listings.read(name)
    groups = line_by_line.explain(given)
    assert [i for one in groups for i in one.lines] == list(range(len(given.text.splitlines())))
    for one in groups:
        code = code_lines(given, one.lines)
        assert bool(one.words) == bool(code)
        assert len(code) <= (8 if code and code[0].startswith("__device__") else MOST_LINES)


@pytest.mark.parametrize(
    "path", sorted((KERNEL_FOLDER / "in_words").glob("*.txt")), ids=lambda path: path.stem
)
def test_no_words_are_of_a_kernel_that_no_page_shows(path):
    assert path.name.removesuffix(".txt") in {listings.read(name).file_name for name in NAMES}


def test_words_that_no_line_has_are_told(tmp_path, monkeypatch):
    (tmp_path / "in_words").mkdir()
    (tmp_path / "in_words/03_naive.cu.txt").write_text(
        "int row =\n    It is there.\nint column\n    It is not.\n"
    )
    monkeypatch.setattr(line_by_line, "KERNEL_FOLDER", tmp_path)
    with pytest.raises(
        BadInput, match=r"03_naive\.cu\.txt has words for 'int column', which does not come next"
    ):
        drawings.explained("naive")


def test_a_kernel_that_has_no_words_is_told():
    with pytest.raises(BadInput, match=r"05_chunked\.cu has not been put into words\."):
        drawings.explained("chunked")
    with pytest.raises(UnknownKernel):
        drawings.explained("naiv")


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_shows_them_before_any_difference(name):
    shown = f'drawings.explained(\\"{name}\\")'
    texts = {path.name: path.read_text(encoding="utf-8") for path in BOOK.glob("[01]*.ipynb")}
    pages = [text for text in texts.values() if shown in text]
    assert len(pages) == 1
    difference = re.search(rf'drawings\.diff\([^)]*\\"{name}\\"', pages[0])
    assert difference is None or pages[0].index(shown) < difference.start()
