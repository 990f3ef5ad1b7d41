"""An exercise as a reader sees it: the task, the kernel around their part, ready attempts, and then help, one by one."""

from __future__ import annotations

import textwrap

import ipywidgets as W
from markupsafe import Markup

from softmax_lib.grading.collection import find_exercise
from softmax_lib.grading.exercise import Attempt, Exercise
from softmax_lib.grading.grade import recorded_grade
from softmax_lib.show.drawings.listings import highlight_lines, marked
from softmax_lib.widgets.boxes import Shown
from softmax_lib.widgets.markup import markdown, render
from softmax_lib.widgets.questions import picker

_TASK = """\
<div class="worklog-task"><p class="worklog-question">{{ one.title }}</p>{{ task }}\
{% if listing %}<details{% if one.kind == "mend" %} open=""{% endif %}><summary>{{ "The whole kernel, your part marked" if one.cut else "The kernel" }}\
</summary>{{ listing }}</details>{% endif %}</div>"""

_HELP = """\
<div class="worklog-help" data-exercise="{{ name }}">\
{% for hint in hints %}<details class="worklog-hint" hidden=""><summary>Hint {{ loop.index }} of {{ hints | length }}</summary>{{ hint }}</details>{% endfor %}\
<details class="worklog-solution" hidden=""><summary>Solution</summary>{{ solution }}{{ why }}</details></div>"""
"""Which widgets.js opens: a hint for each attempt that is not right, the solution with the last of them or once solved."""

_CODE = '<div class="worklog-code highlight"><pre tabindex="0" aria-label="{{ label }}">{{ code }}</pre></div>'
_OFFER = {
    "write": "Which of these attempts is right? Pick one, and see what the grader says of it.",
    "mend": "Which line is at fault? Pick a change, and see what the grader says of it.",
    "break": "Which of these does it? Pick one, and see what the grader says of it.",
    "predict": "Pick an answer, and see what the grader says of it.",
}
_OWN = " In Colab or JupyterLab a cell below takes your own."
_WHOLE = " It may be the marked part, or a whole kernel of the same name."
_OUTCOME = '<div role="status">{{ code }}{{ grade }}</div>'


def exercise(name: str) -> Shown:
    """Show the exercise called `name`; `grade(name, answer)` then says what an answer is worth.

    Under the task are the whole kernel with the reader's part marked, and a few attempts with what was said of them.
    On a page hints come after wrong ones, and then the solution; in a notebook `grade` gives them. Raises
    `UnknownExercise` or `WrongType`.
    """
    one = find_exercise(name)
    task = str(render(_TASK, one=one, task=markdown(one.task), listing=_listing(one)))
    labels = [attempt.label for attempt in one.offered]
    outcomes = [W.HTML(_outcome(one, attempt)) for attempt in one.offered]
    own = _OWN + (_WHOLE if one.kind == "write" else "")
    offer = W.HTML(f"<p>{_OFFER[one.kind]}{own}</p>")
    parts = [W.HTML(task), offer, *picker(labels, outcomes), W.HTML(_help(one))]
    return Shown(parts, "exercise", {"text/html": task, "text/plain": one.words})


def _outcome(one: Exercise, attempt: Attempt) -> str:
    code = _code(one.shown(attempt), attempt.label) if one.wants_code else ""
    return str(render(_OUTCOME, code=code, grade=recorded_grade(one, attempt.label).html))


def _code(text: str, label: str) -> Markup:
    lines = highlight_lines(textwrap.dedent(text).strip("\n"))
    return render(_CODE, label=label, code=Markup("\n".join(lines)))


def _help(one: Exercise) -> str:
    text = one.shown(Attempt("", one.solution))
    shown = _code(text, "Solution") if one.wants_code else markdown(f"`{one.solution_text}`.")
    hints, why = list(map(markdown, one.hints)), markdown(one.afterwards)
    return str(render(_HELP, name=one.name, hints=hints, solution=shown, why=why))


def _listing(one: Exercise) -> Markup:
    """The kernel around the part that a reader writes, or the one that numbers are asked about; none of the book's."""
    if one.cut:
        first = one.before().count("\n") + 1
        own = range(first, first + len(one.starter.splitlines()))
        return Markup(marked(one.with_part(one.starter).text.rstrip("\n"), own).html)
    return Markup(marked(one.text.strip("\n"), range(0)).html if one.text else "")
