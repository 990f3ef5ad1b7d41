"""An exercise as a reader sees it: the task, the kernel around their part, hints and solution folded, ready attempts."""

from __future__ import annotations

import textwrap

import ipywidgets as W
from markupsafe import Markup

from softmax_lib.drawings.listings import highlight_lines, marked
from softmax_lib.grading.collection import find_exercise
from softmax_lib.grading.exercise import Attempt, Exercise
from softmax_lib.grading.outcomes import recorded_grade
from softmax_lib.widgets.boxes import Shown
from softmax_lib.widgets.markup import markdown, render
from softmax_lib.widgets.questions import picker

_TASK = """\
<div class="worklog-task"><p class="worklog-question">{{ title }}</p>{{ task }}\
{% if listing %}<details><summary>{{ opened }}</summary>{{ listing }}</details>{% endif %}\
{% for hint in hints %}<details><summary>Hint {{ loop.index }} of {{ hints | length }}</summary>{{ hint }}{% endfor %}\
{% for hint in hints %}</details>{% endfor %}\
<details><summary>Solution</summary>{{ solution }}{{ why }}</details></div>"""

_CODE = '<div class="worklog-code highlight"><pre tabindex="0" aria-label="{{ label }}">{{ code }}</pre></div>'
_OFFER = "<p>Or hand one of these in, and see what the grader says:</p>"
_OUTCOME = '<div role="status">{{ code }}{{ grade }}</div>'


def exercise(name: str) -> Shown:
    """Show the exercise called `name`; `grade(name, answer)` then says what an answer is worth.

    Under the task are the whole kernel with the reader's part marked, three hints, each in the one before, the
    solution, and a few attempts with what was said of them. Raises `UnknownExercise` or `WrongType`.
    """
    one = find_exercise(name)
    task = _task(one)
    labels = [attempt.label for attempt in one.offered]
    outcomes = [W.HTML(_outcome(one, attempt)) for attempt in one.offered]
    parts = [W.HTML(task), W.HTML(_OFFER), *picker(labels, outcomes)]
    return Shown(parts, "exercise", {"text/html": task, "text/plain": one.words})


def _outcome(one: Exercise, attempt: Attempt) -> str:
    code = _code(one.handed_in(attempt), attempt.label) if one.wants_code else ""
    return str(render(_OUTCOME, code=code, grade=recorded_grade(one, attempt.label).html))


def _code(text: str, label: str) -> Markup:
    lines = highlight_lines(textwrap.dedent(text).strip("\n"))
    return render(_CODE, label=label, code=Markup("\n".join(lines)))


def _task(one: Exercise) -> str:
    return str(
        render(
            _TASK,
            title=one.title,
            task=markdown(one.task),
            opened="The whole kernel, your part marked" if one.cut else "The kernel",
            listing=_listing(one),
            hints=[markdown(hint) for hint in one.hints],
            solution=_solution(one),
            why=markdown(one.why),
        )
    )


def _listing(one: Exercise) -> Markup:
    """The kernel around the part that a reader writes, or the one that numbers are asked about; none of the book's."""
    if one.cut:
        first = one.before().count("\n") + 1
        own = range(first, first + len(one.starter.splitlines()))
        return Markup(marked(one.with_part(one.starter).text.rstrip("\n"), own).html)
    return Markup(marked(one.text.strip("\n"), range(0)).html if one.text else "")


def _solution(one: Exercise) -> Markup:
    if one.wants_code:
        return _code(one.solution, "Solution")
    named = zip(one.asked, one.solution, strict=True)
    return markdown(", ".join(f"`{asked.name} = {number:g}`" for asked, number in named) + ".")
