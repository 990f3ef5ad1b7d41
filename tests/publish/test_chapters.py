"""What a chapter's cells may look like: the same two imports, short lines, no plumbing in sight."""

import ast
import re
from itertools import pairwise

import pytest
from chapter_cells import beginning, cells_of, code_cells
from notebooks import chapters
from prose import with_markers
from running_prose import words, words_of

import softmax_lib
from softmax_lib import exercises

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
    "results": PAGES,
    "xray": PAGES,
    "clocks": PAGES,
    "batches": PAGES,
    "lies": """\
from softmax_lib import catch_lie, lie_peak, lie_times, predict
from softmax_lib import drawings, figures""",
    "machine": PAGES.replace("xray)", "xray, xray_softmax)"),
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


ALL = [path.stem for path in chapters() if path.stem[0].isdigit()]
NUMBERED = [stem for stem in ALL if stem not in REWRITTEN]


@pytest.mark.parametrize("chapter", NUMBERED)
def test_a_chapter_has_its_exercises_each_with_a_cell_that_begins_an_answer(chapter):
    cells = [cell.source for cell in code_cells(CHAPTERS[chapter])]
    named = [exercise for exercise in exercises().values() if exercise.chapter == chapter]
    shown = [f'exercise("{one.name}")' for one in named]
    assert [source for source in cells if source.startswith("exercise(")] == shown
    for one, task in zip(named, shown, strict=True):
        assert cells[cells.index(task) + 1] == beginning(one)


@pytest.mark.parametrize("chapter", NUMBERED)
def test_a_chapter_asks_one_question_and_says_what_the_answer_is(chapter):
    prose = [cell.source for cell in cells_of(CHAPTERS[chapter]) if cell.cell_type == "markdown"]
    (asked,) = re.findall(r"\*\*[^*]+\?\*\*", prose[0])
    answered = [
        text for text in prose[1:] if re.search(r"So the answer (to our question )?is", text)
    ]
    assert asked
    assert answered


@pytest.mark.parametrize("chapter", NUMBERED)
def test_a_question_replies_to_each_wrong_answer_and_what_answers_it_is_folded(chapter):
    cells = code_cells(CHAPTERS[chapter])
    (place,) = [i for i, cell in enumerate(cells) if re.search(r"^predict\(", cell.source, re.M)]
    assert "replies={" in cells[place].source
    following = cells[place + 1]
    if {output.output_type for output in following.outputs} == {"stream"}:
        assert "hide-output" in following.metadata.tags
        assert following.metadata.jupyter.outputs_hidden


FEWEST_WORDS, MOST_WORDS = 900, 1500


@pytest.mark.parametrize("path", [path for path in chapters() if path.stem in NUMBERED])
def test_a_chapter_is_read_in_one_sitting(path):
    assert FEWEST_WORDS <= words(path) <= MOST_WORDS


@pytest.mark.parametrize(
    ("markdown", "count"),
    [
        ("# Two words\nOne *word*, a [warp](glossary.md#lane), [this](there.md).", 7),
        ("It takes 32,768 floats, Little's law.<!-- shown by: counting -->", 6),
        ("Of $a + b$ and `x + y` and\n\n$$c = d$$\n\n```python\nx = 1\n```\n\nno more.", 5),
        ("One.\n\n| a | b |\n|---|---|\n| c | d |\n\nTwo.", 2),
        ("One.\n\n<details>\n<summary>Answer</summary>\n\nHidden.\n\n</details>\n\nTwo.", 2),
    ],
)
def test_words_are_those_that_a_reader_sees_who_opens_nothing(markdown, count):
    assert words_of(markdown) == count


@pytest.mark.parametrize(
    ("chapter", "next_page"), [pair for pair in pairwise([*ALL, "results"]) if pair[0] in NUMBERED]
)
def test_a_chapter_ends_by_pointing_to_the_next(chapter, next_page):
    last = cells_of(CHAPTERS[chapter])[-1].source
    assert f"]({next_page}.ipynb)" in last[last.index("## Summary") :]
