"""`grade`: what a machine says of an answer to an exercise, in sentences, and the points for it."""

from __future__ import annotations

import io
import re
import textwrap
from contextlib import redirect_stdout
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from softmax_lib.engine.source import MOST_BYTES, Source, too_large
from softmax_lib.engine.spec import in_order
from softmax_lib.engine.words import PAGE_WIDTH, count, cut_long_words
from softmax_lib.grading import scores
from softmax_lib.grading.answers import FAMILIES
from softmax_lib.grading.collection import find_exercise, read_numbers
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.finding import Finding
from softmax_lib.grading.goals import find
from softmax_lib.grading.handed_in import HandedIn, in_a_sentence
from softmax_lib.grading.mistakes import diagnose, read
from softmax_lib.widgets.markup import render
from softmax_lib.worklog.errors import (
    BadInput,
    CompileError,
    KernelFault,
    SoftmaxLibError,
    WrongType,
)

_HTML = """\
<div class="worklog-grade"{% if grade.ok %} data-solved="true"{% endif %}><p><strong>{{ grade.head }}</strong></p>\
{% if diagnosis %}<p class="worklog-diagnosis">{{ diagnosis }}</p>{% endif %}\
{% if findings %}<ul style="list-style:none;padding-left:0">\
{% for mark, says in findings %}<li>{{ mark }} {{ says }}</li>{% endfor %}</ul>{% endif %}\
{% if help %}<p>{{ help }}</p>{% endif %}\
{% if solution %}<details><summary>Solution</summary><pre>{{ solution }}</pre></details>{% endif %}</div>"""

_FIRST_IF_EMPTY = re.compile(r"\A[ \t]*\n")
"""The line of the opening quotes, which no reader counts."""


@dataclass(frozen=True)
class Grade:
    """What was found of one answer: a finding is worth a point, and `out_of` is how many there are at most.

    `diagnosis` is the mistake in a sentence, where it is one that is known. `help` is what a reader is told beside it:
    the next hint, or once it is solved, why. `solution` is theirs to see when it is solved, and after the last hint.
    `is_starter` says that what an exercise begins with was handed in, in which nothing is looked for.
    """

    exercise: str
    title: str
    findings: tuple[Finding, ...]
    out_of: int
    diagnosis: str = ""
    help: str = field(default="", compare=False)
    solution: str = field(default="", compare=False)
    is_starter: bool = False

    @property
    def points(self) -> int:
        """How many findings are as they should be."""
        return sum(one.is_met for one in self.findings)

    @property
    def ok(self) -> bool:
        """Whether the exercise is solved."""
        return self.points == self.out_of

    @property
    def head(self) -> str:
        """Such as "One tree, not two: solved, 5 of 5 points."."""
        if self.is_starter:
            return f"{self.title}: this is where it begins. Change it and run the cell again."
        solved = "solved" if self.ok else "not yet"
        return f"{self.title}: {solved}, {self.points} of {count(self.out_of, 'point')}."

    def __str__(self) -> str:
        lines = [f"{'yes' if one.is_met else 'no '}  {one.says}" for one in self.findings]
        wrap = textwrap.TextWrapper(PAGE_WIDTH, subsequent_indent=5 * " ")
        told = [textwrap.fill(one, PAGE_WIDTH) for one in (self.diagnosis, self.help)]
        parts = [textwrap.fill(self.head, PAGE_WIDTH), told[0], *map(wrap.fill, lines), told[1]]
        return "\n".join(filter(None, parts))

    def as_json(self) -> dict[str, Any]:
        """Plain lists and dictionaries."""
        facts = ("exercise", "points", "out_of", "diagnosis", "help")
        told = ("about", "is_met", "says")
        findings = [{name: getattr(one, name) for name in told} for one in self.findings]
        return {**{name: getattr(self, name) for name in facts}, "findings": findings}

    @property
    def html(self) -> Markup:
        """The same as a list."""
        findings = [("✓" if one.is_met else "✗", _with_code(one.says)) for one in self.findings]
        told = {"diagnosis": _with_code(self.diagnosis), "help": _with_code(self.help)}
        solution = self.solution.strip("\n")
        return render(_HTML, grade=self, findings=findings, solution=solution, **told)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": str(self.html)}


def _with_code(sentence: str) -> Markup:
    """A sentence with what stands between backticks as code; underscores and stars in it mean nothing."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(sentence))))


def grade(exercise: str, *answer: Any) -> Grade:
    """What a machine finds of `answer` to `exercise`; the best that a reader has had is kept (see `scores`).

    Where an exercise asks for code, `answer` is the part that is missing, a whole kernel with that part in it, or the
    `Path` of a file with either; where it asks for numbers, these, one after the other or in a tuple. A kernel is right when `check` finds nothing, safe when
    an x-ray of it has no hazards, and does what the exercise is about when counters of that x-ray say so. All of
    that is done in the emulator, with a GPU or without. What does not compile, faults or hangs is a finding, in one
    sentence at the line of the answer. Raises `UnknownExercise`, `WrongType`, and `BadInput` for numbers that cannot
    be meant and files that cannot be read.
    """
    chosen = find_exercise(exercise)
    handed_in = answer[0] if len(answer) == 1 else answer
    if _is_starter(chosen, handed_in):
        return Grade(chosen.name, chosen.title, (), chosen.out_of, is_starter=True)
    given = judge(chosen, handed_in)
    failures = scores.keep(given.exercise, given.points, given.ok)
    return _helped(chosen, given, failures)


def _helped(exercise: Exercise, given: Grade, failures: int) -> Grade:
    """The same with the hint that comes after so many failures, or with why the solution is right."""
    if given.ok:
        return replace(given, help=exercise.afterwards, solution=exercise.solution_text)
    number, last = min(failures, len(exercise.hints)), len(exercise.hints)
    solution = exercise.solution_text if failures >= last else ""
    hint = f"Hint {number} of {last}: {exercise.hints[number - 1]}" if number else ""
    return replace(given, help=hint, solution=solution)


def solution(exercise: str) -> str:
    """The solution, for whoever has solved it or had its last hint. Raises `UnknownExercise`, and `BadInput` for others."""
    chosen = find_exercise(exercise)
    failures, last = scores.failures(chosen.name), len(chosen.hints)
    if failures < last and not scores.is_solved(chosen.name):
        raise BadInput(
            f"The solution of {chosen.name} shows once you have solved it, or after the last of {last} hints; "
            f"a hint comes with each answer that is not right, and you have had {failures}."
        )
    return f"{chosen.solution_text}\n\n{textwrap.fill(chosen.afterwards, PAGE_WIDTH)}"


def recorded_grade(exercise: Exercise, label: str) -> Grade:
    """The grade of one of an exercise's labelled attempts, as it was recorded."""
    found = tuple(Finding(*one) for one in read()[exercise.name]["offered"][label])
    told = next((one.diagnosis for one in exercise.offered if one.label == label), "")
    return Grade(exercise.name, exercise.title, found, exercise.out_of, told)


def judge(exercise: Exercise, answer: Any) -> Grade:
    """The same, of which nothing is kept. What the kernel prints is not shown: it runs many times."""
    context = copy_context()
    context.run(in_order.set, True)
    with redirect_stdout(io.StringIO()):
        return context.run(_judge, exercise, answer)


def _judge(exercise: Exercise, answer: Any) -> Grade:
    if exercise.wants_code:
        given = HandedIn(exercise, _text(exercise, answer))
        found = _findings(given)
        told = diagnose(exercise.name, found)
        said = tuple(replace(one, says=cut_long_words(given.told(one.says))) for one in found)
    else:
        numbers = read_numbers(exercise, answer)
        subject = FAMILIES[exercise.family](exercise, _with_numbers(exercise, numbers))
        said, values = tuple(find(exercise, subject, numbers)), tuple(numbers.values())
        told = next((one.diagnosis for one in exercise.attempts if tuple(one.text) == values), "")
    return Grade(exercise.name, exercise.title, said, exercise.out_of, told)


def _is_starter(exercise: Exercise, answer: Any) -> bool:
    """Whether it is what the exercise begins with, which is nobody's failure."""
    if exercise.wants_code:
        texts = (_text(exercise, answer), exercise.starter)
        first, second = (textwrap.dedent(one.strip("\n")).strip() for one in texts)
        return first == second
    return tuple(read_numbers(exercise, answer).values()) == exercise.guess


def _text(exercise: Exercise, answer: Any) -> str:
    if isinstance(answer, Path):
        return Source.read(answer).text
    if not isinstance(answer, str):
        language = "Triton" if exercise.family == "triton" else "CUDA"
        given = f"a {type(answer).__name__}" if answer != () else "nothing"
        raise WrongType(
            f"{exercise.name} is answered by {language}, the part that is missing or a whole kernel in one text, "
            f"and not by {given}."
        )
    if len(answer) > MOST_BYTES:
        raise too_large("what was handed in")
    return _FIRST_IF_EMPTY.sub("", answer)


def _with_numbers(exercise: Exercise, numbers: dict[str, float]) -> Source:
    """The exercise's kernel, with each number in the place of its name in capitals."""
    text = exercise.source.text
    for name, number in numbers.items():
        text = re.sub(rf"\b{name.upper()}\b", f"{number:g}", text)
    return exercise.named(text)


def _findings(given: HandedIn) -> tuple[Finding, ...]:
    if given.refusal:
        return (Finding("right", False, given.refusal),)
    found: list[Finding] = []
    try:
        subject = FAMILIES[given.exercise.family](given.exercise, given.source)
        for one in find(given.exercise, subject, {}):
            found.append(one)
    except CompileError as error:
        return (Finding("right", False, in_a_sentence(error)),)
    except KernelFault as fault:
        return (*found, Finding("safe", False, f"it was stopped: {fault}"))
    except SoftmaxLibError as error:
        return (*found, Finding("right", False, str(error)))
    return tuple(found)
