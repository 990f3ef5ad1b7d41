"""What is to be the book's, word for word: what stands around the reader's part, or all beside one statement."""

from __future__ import annotations

import re
from itertools import chain, zip_longest

from softmax_lib.engine.source import blank_comments
from softmax_lib.grading.exercise import Exercise

_WORD = re.compile(r"\w+|[^\w\s]")
_PYTHON_COMMENT = re.compile(r"#[^\n]*|^import triton[^\n]*", re.MULTILINE)

Word = tuple[str, int]
"""A name, a number or a sign of a text, and its line."""


def first_difference(exercise: Exercise, text: str) -> int | None:
    """The line of `text` that is not the book's outside of the reader's part; None where all of them are.

    Spaces, line ends and comments do not count.
    """
    given = _words(exercise, text)
    before, after = _words(exercise, exercise.before()), _words(exercise, exercise.after())
    last = given[-1][1] if given else 1
    rest = given[len(before) :]
    pairs = chain(
        zip_longest(before, given[: len(before)]),
        zip_longest(after[::-1], rest[::-1][: len(after)]),
    )
    for due, one in pairs:
        if one is None or one[0] != due[0]:
            return one[1] if one else last
    return None


def is_the_same_beside(exercise: Exercise, text: str, statement: str) -> bool:
    """Whether `text` has the words of the book's kernel, however many of `statement` there are, and of braces."""
    statement = "".join(f" {word}" for word in _WORD.findall(statement))
    left_out = re.compile(f" [{{}}]|{re.escape(statement)}")
    given, book = (
        left_out.sub("", "".join(f" {word}" for word, _ in _words(exercise, one)))
        for one in (text, exercise.source.text)
    )
    return given == book


def _words(exercise: Exercise, text: str) -> list[Word]:
    is_triton = exercise.family == "triton"
    bare = _PYTHON_COMMENT.sub("", text) if is_triton else blank_comments(text)
    lines = enumerate(bare.split("\n"), 1)
    return [(word, number) for number, line in lines for word in _WORD.findall(line)]
