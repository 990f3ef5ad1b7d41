"""What a chapter's cells may look like: the same two imports, short lines, no plumbing in sight."""

import ast
import re

import pytest
from chapter_cells import cells_of, code_cells
from notebooks import chapters
from prose import with_markers

import softmax_lib

pytestmark = pytest.mark.quick

PAGES = """\
from softmax_lib import (check, explore, kernels, measure, predict,
                         recorded, run, trace, xray)
from softmax_lib import drawings, errors, figures, widgets"""
SURFACE = """\
from softmax_lib import (check, exercise, explore, grade, kernels,
                         measure, predict, recorded, run, trace, xray)
from softmax_lib import drawings, errors, figures, widgets"""
BEYOND = {
}
"""What a page, or a chapter beyond the ladder, imports instead of what the ladder's chapters do."""
NAMES = [
    alias.name
    for text in (SURFACE, *BEYOND.values())
    for node in ast.parse(text).body
    for alias in node.names
]
MOST_CELLS, MOST_LINES, MOST_CHARACTERS = 36, 12, 72
MOST_HIDDEN_LINES = 24
HIDDEN = {"hide-input", "remove-input"}
TAGS = {"hide-input", "hide-output", "remove-input", "remove-cell", "live"}

REWRITTEN = {path.stem for path in chapters()} - {path.stem for path in with_markers()}
"""Whose anatomy is another; that of chapters is in test_anatomy.py."""
CHAPTERS = {path.stem: path for path in chapters() if path.stem not in REWRITTEN}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_imports_the_same_two_lines_and_nothing_else_of_ours(chapter):
    first, *others = (cell.source for cell in code_cells(CHAPTERS[chapter]))
    surface = BEYOND.get(chapter, SURFACE)
    assert first.count(surface) == 1
    assert "softmax_lib" not in first.replace(surface, "").replace("%load_ext softmax_lib", "")
    assert [source for source in others if "softmax_lib" in source] == []
    assert [s for s in others if re.search(r"^\s*(import|from) ", s, re.MULTILINE)] == []


def test_the_two_lines_name_what_the_package_offers():
    assert set(NAMES) <= set(softmax_lib.__all__)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_cells_are_few_and_short(chapter):
    assert len(cells_of(CHAPTERS[chapter])) <= MOST_CELLS
    for cell in code_cells(CHAPTERS[chapter]):
        lines = cell.source.splitlines()
        is_hidden = HIDDEN & set(cell.metadata.get("tags", []))
        assert len(lines) <= (MOST_HIDDEN_LINES if is_hidden else MOST_LINES), cell.id
        assert [line for line in lines if len(line) > MOST_CHARACTERS] == [], cell.id


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_cell_builds_html_or_reaches_into_what_is_private(chapter):
    for cell in code_cells(CHAPTERS[chapter]):
        assert not re.search(r"</|<br|HTML\(", cell.source), cell.id
        assert not re.search(rf"\b({'|'.join(NAMES)})\b[\w.]*\._", cell.source), cell.id


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_rooflines_follow_every_record_and_the_books_own_lacks_nothing(chapter):
    for cell in code_cells(CHAPTERS[chapter]):
        assert "figures.roofline(" not in cell.source, cell.id
        if "over_records" in cell.source:
            assert "worklog-note" not in str(cell.outputs), cell.id


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_tag_of_a_cell_means_something(chapter):
    for cell in cells_of(CHAPTERS[chapter]):
        assert set(cell.metadata.get("tags", [])) <= TAGS
