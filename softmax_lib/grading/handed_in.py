"""Code that a reader hands in, the kernel that it makes, and lines as the reader counts them."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, zip_longest

from softmax_lib.engine.source import Source, blank_comments
from softmax_lib.grading.exercise import Exercise
from softmax_lib.worklog.errors import CompileError

_COMPILER = re.compile(r"^([^:\n]+:\d+)(?::\d+)?: (?:fatal )?error: (.*)$", re.MULTILINE)
_PYTHON = re.compile(r"(\S+)\.py, line (\d+): (.*)")
_STOPPED = "Triton's interpreter stopped"
_PYTHON_ALONE = (
    ast.FunctionDef, ast.Import, ast.ImportFrom, ast.For, ast.While, ast.If, ast.With, ast.Lambda, ast.comprehension,
)  # fmt: skip
"""What no C++ that Python can read has in it."""

_WORD = re.compile(r"\w+|[^\w\s]")
_PYTHON_COMMENT = re.compile(r"#[^\n]*|^import triton[^\n]*", re.MULTILINE)


@dataclass(frozen=True)
class HandedIn:
    """The part of an exercise's kernel that is missing there, or a whole kernel."""

    exercise: Exercise
    text: str

    @property
    def is_triton(self) -> bool:
        """Whether it is Python, and not CUDA C++."""
        return self.exercise.family == "triton"

    @cached_property
    def is_whole(self) -> bool:
        """Whether it is a kernel by itself."""
        if self.is_triton:
            return re.search(r"^@triton\.jit", self.text, re.MULTILINE) is not None
        return bool(self.exercise.named(self.text).entries)

    @cached_property
    def source(self) -> Source:
        """The kernel that is graded."""
        make = self.exercise.named if self.is_whole else self.exercise.with_part
        return make(self.text)

    @property
    def refusal(self) -> str | None:
        """A sentence about what cannot be graded at all: nothing, another language, or another kernel."""
        if not self.text.strip():
            return "nothing was handed in."
        if not self.is_triton and _is_python(self.text):
            return "this is Python, and what is asked for is CUDA C++, the language of the kernel around your part."
        kernels = len(self.source.entries)
        if not self.is_triton and kernels > 1:
            return (
                f"there are {kernels} kernels in what was handed in, and the exercise is about one."
            )
        return self._other_kernel if self.is_whole else None

    @property
    def _other_kernel(self) -> str | None:
        """A sentence about a whole kernel that is not this exercise's: where one is written, all but its name is free."""
        if self.exercise.is_free:
            if self.is_triton:  # whatever its name
                return None
            (given,), (due,) = self.source.entries, self.exercise.source.entries
            said = f"your kernel is called {given}, and the exercise launches {due}."
            return None if given == due else said
        line = first_difference(self.exercise, self.text)
        if line is None:
            return None
        return (
            f"line {line} of your kernel is not as in the listing, and only the marked part may be changed: "
            "take back what is different there, or hand in that part alone."
        )

    def told(self, sentence: str) -> str:
        """A sentence with each line as a reader counts it: from the top of what they wrote, or in the listing of the task."""
        pattern = rf"{re.escape(self.exercise.name)}\.(?:cu|py):(\d+)"
        return re.sub(pattern, lambda found: self._place(int(found[1])), sentence)

    def _place(self, line: int) -> str:
        if self.is_whole:
            return f"line {line}"
        first = self.exercise.before().count("\n") + 1
        part = self.text.strip("\n")
        lines = part.count("\n") + 1
        if first <= line < first + lines and part:
            above = len(self.text) - len(self.text.lstrip("\n"))
            return f"line {line - first + 1 + above} of your code"
        grown = lines - self.exercise.starter.count("\n") - 1
        return f"line {line if line < first else line - grown} of the kernel"


def _is_python(text: str) -> bool:
    try:
        nodes = ast.walk(ast.parse(textwrap.dedent(text)))
        return any(isinstance(node, _PYTHON_ALONE) for node in nodes)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def in_a_sentence(error: CompileError) -> str:
    """That it does not compile, or was stopped; what a compiler or Python says first, and where, as "what at file:line"."""
    message = str(error)
    lead = _STOPPED if message.startswith(_STOPPED) else "it does not compile"
    return f"{lead}: {_first_error(message)}."


def _first_error(message: str) -> str:
    if found := _COMPILER.search(message):
        return f"{found[2]} at {found[1]}"
    if found := _PYTHON.search(message):
        return f"{found[3]} at {found[1]}.py:{found[2]}"
    first = (message.splitlines() or [""])[0]
    return first.removeprefix(f"{_STOPPED}: ").rstrip(".")


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


def _words(exercise: Exercise, text: str) -> list[tuple[str, int]]:
    """The names, numbers and signs of a text, each with its line."""
    is_python = exercise.family == "triton"
    bare = _PYTHON_COMMENT.sub("", text) if is_python else blank_comments(text)
    lines = enumerate(bare.split("\n"), 1)
    return [(word, number) for number, line in lines for word in _WORD.findall(line)]
