"""Every word of the glossary is a link where a chapter first uses it."""

import re

import pytest
from notebooks import chapters
from terms import entries, first_uses, markdown_of

pytestmark = pytest.mark.quick

CHAPTERS = {path.stem: path for path in chapters() if re.match(r"\d|gpu$|xray$", path.stem)}


@pytest.mark.parametrize("stem", CHAPTERS)
def test_each_word_of_the_glossary_is_linked_where_a_chapter_first_uses_it(stem):
    uses = first_uses(markdown_of(CHAPTERS[stem]))
    assert {use.term for use in uses if not use.is_linked} == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A warp. A [warp](glossary.md#warp).", [("warp", False)]),
        ("A [warp](glossary.md#warp). A warp.", [("warp", True)]),
        ("[Warps](glossary.md#warp) wait.", [("warp", True)]),
        ("Cache lines, and *sectors*.", [("cache line", False), ("sector", False)]),
        ("# A warp\n`warp`, $warp$, [warp](warp.md)<!-- warp -->", []),
        ("<details>\n<summary>A warp</summary>\n\nA lane.\n\n</details>", [("lane", False)]),
        ("```python\nwarp = 1\n```", []),
        ("The SM, one multiprocessor.", [("SM", False)]),
        ("A warped board.", []),
    ],
)
def test_first_uses_are_those_of_running_text(text, found):
    assert [(use.term, use.is_linked) for use in first_uses(text)] == found


def test_words_that_share_a_definition_are_one():
    assert entries()["L1 cache"] == entries()["L1"]
