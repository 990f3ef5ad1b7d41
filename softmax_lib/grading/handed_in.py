"""Code that a reader hands in, the kernel that it makes, and lines as the reader counts them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from softmax_lib.errors import CompileError
from softmax_lib.grading.exercise import Exercise
from softmax_lib.source import Source

_COMPILER = re.compile(r"^([^:\n]+:\d+)(?::\d+)?: (?:fatal )?error: (.*)$", re.MULTILINE)
_PYTHON = re.compile(r"(\S+)\.py, line (\d+): (.*)")
_INNER = "softmax_lib.errors.CompileError: "


@dataclass(frozen=True)
class HandedIn:
    """The part of an exercise's kernel that is missing there, or a whole kernel."""

    exercise: Exercise
    text: str

    @cached_property
    def is_whole(self) -> bool:
        """Whether it is a kernel by itself."""
        if self.exercise.family == "triton":
            return re.search(r"^@triton\.jit", self.text, re.MULTILINE) is not None
        return bool(self.exercise.named(self.text).entries)

    @cached_property
    def source(self) -> Source:
        """The kernel that is graded."""
        return (
            self.exercise.named(self.text) if self.is_whole else self.exercise.with_part(self.text)
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


def first_error(error: CompileError) -> str:
    """What a compiler says first, and where, as "what at file:line"."""
    message = str(error)
    if found := _COMPILER.search(message):
        return f"{found[2]} at {found[1]}"
    if found := _PYTHON.search(message):
        return f"{found[3]} at {found[1]}.py:{found[2]}"
    return message.splitlines()[0].replace(_INNER, "").rstrip(".")
