"""What an exercise is, read from its file: a task, a place in a kernel, goals, hints, and attempts at it."""

from __future__ import annotations

import difflib
import hashlib
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

from softmax_lib.engine.source import Edit, Source
from softmax_lib.engine.words import PAGE_WIDTH
from softmax_lib.grading.references import REFERENCES, Reference
from softmax_lib.worklog import selections, tiles
from softmax_lib.worklog.files import KERNEL_FOLDER
from softmax_lib.worklog.registry import resolve, with_copy

Kind = Literal["write", "mend", "break", "predict"]
"""Of an exercise: what is missing is written, a fault is found and mended, a kernel is broken in one way only, or a
number is found."""

Family = Literal["softmax", "topk", "triton"]
"""Of kernels: softmaxes in CUDA, those that find the k largest, and softmaxes in Triton."""


@dataclass(frozen=True)
class Goal:
    """One thing that a grade looks at beside right and safe.

    With `of` it is a counter: that field of the lines of an x-ray, summed over those of `space`, `operation` and `size`
    where they are given, for each element, request, warp or block (`per`), on a matrix of `on`, which is to be `at_most`,
    `at_least` or `exactly` so much; "compiled barriers" are those in a Triton kernel's PTX. With `rows` it is the kinds of
    rows that are to go wrong, and no other; with `hazard` the kind of hazard that is to be found, its sentence having the
    words that it `mentions`; with `same_bits` a row is to have the same bits alone, among others and at any block size; with `wrong_at` the block sizes at which any launch is to go wrong, and at no other; with
    `number` the answer itself, `replies` being what is said of others.
    On the two other matrices of `Subject.others` a counter is to be at most `at_most_there`, or what it is to be here.
    `well` and `says` are the sentences where it is met and where not, with `{value}` and `{goal}` in them.
    """

    well: str
    says: str
    of: str = ""
    per: str = ""
    space: str = ""
    operation: str = ""
    size: int = 0
    on: Mapping[str, Any] = field(default_factory=dict)
    at_most: float | None = None
    at_least: float | None = None
    exactly: float | None = None
    at_most_there: tuple[float, ...] = ()
    rows: tuple[str, ...] | None = None
    hazard: str = ""
    mentions: str = ""
    wrong_at: tuple[int, ...] | None = None
    same_bits: bool = False
    number: float | None = None
    replies: Mapping[str, str] = field(default_factory=dict)

    @property
    def bound(self) -> float:
        """The number that its counter is held against."""
        return next(n for n in (self.at_most, self.at_least, self.exactly, 0.0) if n is not None)

    def is_met(self, value: float) -> bool:
        """Whether its counter is what it is to be; counts are whole numbers, and their quotients nearly so."""
        above = self.at_least is None or value >= self.at_least - _SLACK
        below = self.at_most is None or value <= self.at_most + _SLACK
        there = self.exactly is None or abs(value - self.exactly) <= _SLACK
        return above and below and there


_SLACK = 1e-9


@dataclass(frozen=True)
class Attempt:
    """What somebody may hand in, by changes of the solution or whole, and words that the grade of it has to contain.

    With `label` it is one of those that a page without a kernel offers. `diagnosis` is the mistake in a sentence, told of
    every answer that computes the same; with `by_rows` of every one that gets the same kinds of rows wrong, where the
    values are rounding's.
    """

    says: str
    text: Any = None
    swap: tuple[Edit, ...] = ()
    label: str = ""
    diagnosis: str = ""
    by_rows: bool = False


@dataclass(frozen=True)
class Asked:
    """A number that a reader gives: its name, what it counts, and from where to where it may be."""

    name: str
    what: str
    least: float = 1
    most: float = 1 << 20
    whole: bool = True


@dataclass(frozen=True)
class Exercise:
    """An exercise about the kernel `of`, a `cut` of whose text a reader writes or changes; the `starter` stands there first.

    One to mend has a `text` with a fault in it, all of which is the reader's, and no `cut`.

    `why` says of the solution that it is right, and `look_next` what to look at then; `right` are other right answers.
    `reference` is what the kernel computes. `lengths` and `block_sizes` are what a grade launches, of a kernel set by `macros` (in Triton the TILE, and a program's ROWS); `text` is
    the kernel itself where the book has none; `label` is the solution in a few words; `asked` are the numbers to be found, `guess` those to begin with.
    """

    name: str
    chapter: str
    title: str
    kind: Kind
    task: str
    hints: tuple[str, ...]
    why: str
    label: str
    goals: tuple[Goal, ...]
    attempts: tuple[Attempt, ...]
    of: str = ""
    text: str = ""
    cut: str = ""
    starter: str = ""
    solution: Any = ""
    lengths: tuple[int, ...] = (1, 31, 127, 1000)
    block_sizes: tuple[int, ...] = ()
    family: Family = "softmax"
    reference: str = "softmax"
    macros: Mapping[str, int] = field(default_factory=dict)
    asked: tuple[Asked, ...] = ()
    guess: tuple[float, ...] = ()
    look_next: str = ""
    right: tuple[Attempt, ...] = ()

    @property
    def out_of(self) -> int:
        """Points at most: one for each goal, and where code is written for being right, and safe if that can be seen."""
        looks = 1 if self.family == "triton" else 2
        return len(self.goals) + (looks if self.kind in ("write", "mend") else 0)

    @property
    def wants_code(self) -> bool:
        """Whether a reader hands in CUDA, and not numbers."""
        return self.kind != "predict"

    @property
    def is_free(self) -> bool:
        """Whether a whole kernel that is handed in may differ from the listing outside of the marked part."""
        return self.kind in ("write", "mend")

    @cached_property
    def source(self) -> Source:
        """The whole kernel, as the book has it."""
        if self.text:
            return self.named(self.text)
        return _SOURCES[self.family](self.of)

    @property
    def offered(self) -> tuple[Attempt, ...]:
        """The attempts that a page offers, the solution among them, in an order that says nothing of them."""

        def place(attempt: Attempt) -> str:
            return hashlib.sha256(f"{self.name}: {attempt.label}".encode()).hexdigest()

        solved = Attempt("", self.solution, label=self.label)
        return tuple(sorted((solved, *(one for one in self.attempts if one.label)), key=place))

    @property
    def solution_text(self) -> str:
        """The solution as a reader is shown it."""
        if self.wants_code:
            return textwrap.dedent(self.solution).strip("\n")
        named = zip(self.asked, self.solution, strict=True)
        return ", ".join(f"{asked.name} = {number:g}" for asked, number in named)

    @property
    def afterwards(self) -> str:
        """What is said once it is solved."""
        return f"{self.why} {self.look_next}".strip()

    @property
    def asks(self) -> Reference:
        """What its kernel is to compute."""
        return REFERENCES[self.reference]

    @property
    def words(self) -> str:
        """The task in plain words, and what a reader begins with."""
        paragraphs = (" ".join(one.split()) for one in self.task.strip().split("\n\n"))
        task = "\n\n".join(textwrap.fill(one, PAGE_WIDTH) for one in paragraphs)
        names = ", ".join(f"{one.name}: {one.what}" for one in self.asked)
        return f"{self.title}\n\n{task}\n\n{self.starter or names}"

    def as_json(self) -> dict[str, Any]:
        """What a reader has to know, as plain lists and dictionaries."""
        facts = ("name", "chapter", "title", "kind", "task", "starter")
        return {
            **{name: getattr(self, name) for name in facts},
            "kernel": self.with_part(self.starter).text if self.cut else self.source.text,
            "asked": [asdict(one) for one in self.asked],
        }

    def before(self) -> str:
        """The kernel's text above the part that a reader writes."""
        return self.source.text.partition(self.cut)[0]

    def after(self) -> str:
        """The kernel's text below it."""
        return self.source.text.partition(self.cut)[2]

    def with_part(self, part: str) -> Source:
        """The kernel with `part` in the place that is left open, in Triton as far to the right as what was there."""
        if self.family == "triton":
            margin = self.cut[: len(self.cut) - len(self.cut.lstrip())]
            part = textwrap.indent(textwrap.dedent(part), margin)
        return self.named(self.before() + part.strip("\n") + self.after())

    def named(self, text: str) -> Source:
        """A text as a file of this exercise's name, among the book's kernels and their headers."""
        suffix = "py" if self.family == "triton" else "cu"
        return Source(f"{self.name}.{suffix}", text, KERNEL_FOLDER)

    def handed_in(self, attempt: Attempt) -> Any:
        """What stands for an attempt: its own text, or the solution with something else in it."""
        if not attempt.swap:
            return attempt.text
        begun = self.starter if self.kind == "mend" else self.solution
        return Source(self.name, begun).edited(self.name, attempt.swap).text

    def shown(self, attempt: Attempt) -> Any:
        """An attempt as it is shown: of a kernel to mend the lines that are new."""
        text = self.handed_in(attempt)
        if self.kind != "mend":
            return text
        lines = difflib.ndiff(self.starter.splitlines(), text.splitlines())
        return "\n".join(line[2:] for line in lines if line.startswith("+ "))


_SOURCES: Mapping[Family, Callable[[str], Source]] = {
    "softmax": lambda name: resolve(name, with_copy).source,
    "topk": lambda name: selections.kernels[name].source,
    "triton": lambda name: tiles.kernels[name].source,
}
