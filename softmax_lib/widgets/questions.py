"""Questions that a reader answers before being told."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets as W
from markupsafe import Markup

from softmax_lib.engine.errors import BadInput, WrongType
from softmax_lib.widgets.boxes import Shown, switch
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import view

_QUESTION = '<p class="worklog-question">{{ question }}</p>'
_VERDICT = """\
<p class="worklog-verdict" role="status">You said {{ said }}\
{% if said == right %}: right.{% else %}; {{ "nearest is" if nearest else "it is" }} {{ right }}.{% endif %}</p>\
{% if reply %}<p class="worklog-reply">{{ reply }}</p>{% endif %}"""
_FOLDED = """\
<ul>{% for answer in answers %}<li>{{ answer }}</li>{% endfor %}</ul>\
<details><summary>Answer</summary><p>{{ right }}</p>{{ told }}</details>"""


def predict(
    question: str,
    answers: Sequence[str] | Mapping[str, float],
    truth: str | float,
    reveal: Any,
    *,
    replies: Mapping[str, str] | None = None,
    alt: str = "",
) -> Shown:
    """Ask before telling: `reveal`, which is what `views.view` takes, shows once the reader has picked.

    `truth` is one of `answers`; or each answer stands for a number, as in {"twice": 2.0}, `truth` is
    what was measured, and the answer nearest to it is right. `replies` say to whoever picked an answer what is
    wrong with it, before `reveal`; the right one needs none. Raises `WrongType`, or `BadInput` when `truth` is not
    among the answers, or no number, and when there are replies, but not to each of the wrong answers.
    """
    if isinstance(answers, str) or not isinstance(answers, (Sequence, Mapping)):
        raise WrongType(f"answers is a {type(answers).__name__}; it takes several of them.")
    choices = list(answers)
    right = _right(answers, truth)
    told = view(reveal, alt)
    shared = W.HTML(told.html)
    replies = _checked(replies or {}, choices, right)
    verdicts = [
        str(
            render(
                _VERDICT,
                said=choice,
                right=right,
                nearest=not isinstance(truth, str),
                reply=replies.get(choice, ""),
            )
        )
        for choice in choices
    ]
    outcomes = [W.VBox([W.HTML(verdict), shared]) for verdict in verdicts]
    asked = render(_QUESTION, question=question)
    folded = render(_FOLDED, answers=choices, right=right, told=Markup(told.html))
    words = f"{question} ({' / '.join(choices)})"
    return Shown(
        [W.HTML(str(asked)), *picker(choices, outcomes)],
        "predict",
        {"text/html": str(asked + folded), "text/plain": words},
    )


def picker(choices: Sequence[str], outcomes: list[W.Widget]) -> tuple[W.Widget, W.Widget]:
    """Choices of which none is taken yet, and a place where the outcome of the one that is taken shows."""
    pick = W.RadioButtons(options=list(choices), index=None, layout=W.Layout(width="auto"))
    return pick, switch(pick, outcomes)


def _checked(replies: Mapping[str, str], choices: list[str], right: str) -> Mapping[str, str]:
    unknown = [choice for choice in replies if choice not in choices]
    missing = [choice for choice in choices if choice not in replies and choice != right]
    if unknown or (replies and missing):
        raise BadInput(
            f"There is a reply to {unknown[0]!r}, which is no answer."
            if unknown
            else f"There is no reply to the wrong answer {missing[0]!r}."
        )
    return replies


def _right(answers: Sequence[str] | Mapping[str, float], truth: str | float) -> str:
    if isinstance(answers, Mapping) and not isinstance(truth, str):
        if not isinstance(truth, (int, float)):
            raise WrongType(
                f"The answer is a {type(truth).__name__}; it is one of them, or a number."
            )
        if not answers or math.isnan(truth):
            raise BadInput(
                f"The answer {truth!r} is near none of the choices: {', '.join(answers)}."
            )
        return min(answers, key=lambda answer: abs(answers[answer] - truth))
    if truth not in answers:
        raise BadInput(f"The answer {truth!r} is not among the choices: {', '.join(answers)}.")
    return str(truth)
