"""What a chapter is made of: few words and cells, its kernel whole, a guess with its replies, exercises, a way on."""

import ast
import re
import shlex
from itertools import pairwise

import pytest
from address import ROOT
from chapter_cells import CHAPTERS, NUMBERED, WITH_KERNEL, beginning, body_of, cells_of, code_cells
from glossary import markdown_of
from notebooks import chapters, evidence, name_of

from softmax_lib import exercises, selections, tiles
from softmax_lib.cli.parser import read
from softmax_lib.worklog.registry import find_kernel, rungs

pytestmark = pytest.mark.quick

PAGES = {name_of(path): path for path in (*chapters(), *evidence())}
TAGS = {"ladder", "hide-input", "remove-input", "remove-cell", "live"}
MOST_WORDS, MOST_CELLS, MOST_CODE_LINES, MOST_CHARACTERS = 1300, 20, 35, 72
NO_PROSE = re.compile(
    r"^```.*?^```$|\$\$.*?\$\$|^\|.*?$|</?[a-z][^<>\n]*>|\]\([^)]*\)", re.MULTILINE | re.DOTALL
)
"""Code, formulas, tables, tags, and where links lead."""
every_chapter = pytest.mark.parametrize("chapter", CHAPTERS)
every_kernel = pytest.mark.parametrize("chapter", WITH_KERNEL)
every_page = pytest.mark.parametrize("page", PAGES)


def is_folded(cell):
    return "remove-input" in cell.metadata.get("tags", [])


@every_chapter
def test_a_chapter_is_short(chapter):
    prose = NO_PROSE.sub(" ", markdown_of(CHAPTERS[chapter]))
    assert len(re.findall(r"[^\W_]+(?:[’'.,-][^\W_]+)*", prose)) <= MOST_WORDS
    assert len(cells_of(PAGES[chapter])) <= MOST_CELLS


@every_chapter
def test_the_first_screen_tells_the_subject_where_we_stand_and_what_is_in_it(chapter):
    _, title, setup, standing, idea = cells_of(PAGES[chapter])[:5]
    assert re.fullmatch(r"# [^\n]+\n\n[^\n]+[.?!]", title.source)
    assert is_folded(setup)
    assert len(re.findall("^- ", standing.source, re.MULTILINE)) == 3
    if chapter in WITH_KERNEL:
        assert "ladder" in setup.metadata.tags
        assert "% of a copy's speed" in standing.source.replace("\N{NO-BREAK SPACE}", " ")
    assert is_folded(idea)


@every_kernel
def test_the_kernel_is_its_file_whole_and_can_be_seen_at_once(chapter):
    bodies = [body_of(path) for path in ROOT.glob(f"kernels/{chapter[:3]}*")]
    held = [body for cell in code_cells(PAGES[chapter]) for body in bodies if body in cell.source]
    assert len(held) == 1
    lines = [line.strip() for line in held[0].splitlines()]
    code = [line for line in lines if line and not line.startswith(("//", "# ", "#include"))]
    assert len(code) <= MOST_CODE_LINES


@every_page
def test_what_only_draws_is_folded_in_every_place_and_lines_are_short(page):
    for cell in code_cells(PAGES[page]):
        if is_folded(cell):
            assert cell.source.startswith("# @title ")
            assert cell.metadata.cellView == "form"
            assert cell.metadata.jupyter.source_hidden
        if not cell.source.startswith("%%"):
            lines = cell.source.splitlines()
            assert [line for line in lines if len(line) > MOST_CHARACTERS] == [], cell.id
            imports = re.findall(r"^\s*(?:import|from) ", cell.source, re.MULTILINE)
            assert not imports or cell == code_cells(PAGES[page])[0]


@every_page
def test_every_tag_of_a_cell_means_something(page):
    for cell in cells_of(PAGES[page]):
        assert set(cell.metadata.get("tags", [])) <= TAGS, cell.id


@every_page
def test_no_cell_builds_html_or_reaches_into_what_is_private(page):
    for cell in code_cells(PAGES[page]):
        assert not re.search(r"</|<br|HTML\(|\w\._\w", cell.source), cell.id


@every_chapter
def test_a_guess_is_answered_at_once_and_every_answer_has_its_reply(chapter):
    (guess,) = (cell for cell in code_cells(PAGES[chapter]) if "predict(" in cell.source)
    (call,) = (
        node
        for node in ast.walk(ast.parse(guess.source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "predict"
    )
    replies = next(one.value for one in call.keywords if one.arg == "replies")
    assert list(map(ast.unparse, replies.keys)) == list(map(ast.unparse, call.args[1].keys))
    assert not any(
        "hide-output" in cell.metadata.get("tags", []) for cell in code_cells(PAGES[chapter])
    )


@every_chapter
def test_a_chapter_has_its_exercises_each_with_a_cell_that_begins_an_answer(chapter):
    cells = code_cells(PAGES[chapter])
    named = [exercise for exercise in exercises().values() if exercise.chapter == chapter]
    tasks = [i for i, cell in enumerate(cells) if "\nexercise(" in cell.source]
    assert [cells[i].source.splitlines()[1] for i in tasks] == [f'exercise("{e.name}")' for e in named]  # fmt: skip
    for one, i in zip(named, tasks, strict=True):
        assert cells[i + 1].source == beginning(one)
        assert "remove-cell" in cells[i + 1].metadata.tags  # on the site nobody can type


@every_chapter
def test_a_chapter_ends_with_three_lines_and_the_way_on(chapter):
    last = cells_of(PAGES[chapter])[-1].source
    following = {"gpu": "03_naive", **dict(pairwise([*NUMBERED, "results"]))}[chapter]
    assert last.startswith("## Summary")
    assert len(re.findall("^- ", last, re.MULTILINE)) == 3
    assert f"]({following}.ipynb)" in last


@every_page
def test_no_page_leaves_a_marker_or_an_old_record_behind(page):
    assert "shown by" not in markdown_of(PAGES[page])
    for cell in code_cells(PAGES[page]):
        if "over_records" in cell.source:
            assert "worklog-note" not in str(cell.outputs), cell.id


@every_kernel
def test_a_chapter_has_one_command_of_nsight_compute_that_finds_its_kernels(chapter):
    (told,) = re.findall(r"```bash\n(ncu .*?)\n```", markdown_of(PAGES[chapter]), re.DOTALL)
    words = shlex.split(told)
    launched = {*tiles.kernels, *selections.kernels}
    if "ladder" in words:
        options = read(words[words.index("softmax-lib") + 1 :])
        launched = {*rungs(), *map(find_kernel, options.names)}
        launched = {entry.removeprefix("softmax_") for one in launched for entry in one.entries}
    kind, _, wanted = words[words.index("-k") + 1].rpartition(":")
    how = re.search if kind else re.fullmatch
    found = [name for name in launched if how(wanted, f"softmax_{name}")]
    assert len(found) >= int(words[words.index("-c") + 1]), told
