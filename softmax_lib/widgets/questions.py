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
    nearest, outcomes = not isinstance(truth, str), []
    for said in choices:
        reply = replies.get(said, "")
        verdict = render(_VERDICT, said=said, right=right, nearest=nearest, reply=reply)
        outcomes.append(W.VBox([W.HTML(str(verdict)), shared]))
    asked = render(_QUESTION, question=question)
    folded = render(_FOLDED, answers=choices, right=right, told=Markup(told.html))
    words = f"{question} ({' / '.join(choices)})"
    fallback = {"text/html": str(asked + folded), "text/plain": words}
    return Shown([W.HTML(str(asked)), *picker(choices, outcomes)], "predict", fallback)


def picker(choices: Sequence[str], outcomes: list[W.Widget]) -> tuple[W.Widget, W.Widget]:
    """Choices of which none is taken yet, and a place where the outcome of the one that is taken shows."""
    pick = W.RadioButtons(options=list(choices), index=None, layout=W.Layout(width="auto"))
    return pick, switch(pick, outcomes)


def _checked(replies: Mapping[str, str], choices: list[str], right: str) -> Mapping[str, str]:
    if unknown := [choice for choice in replies if choice not in choices]:
        raise BadInput(f"There is a reply to {unknown[0]!r}, which is no answer.")
    missing = [choice for choice in choices if choice not in replies and choice != right]
    if replies and missing:
        raise BadInput(f"There is no reply to the wrong answer {missing[0]!r}.")
    return replies


def _right(answers: Sequence[str] | Mapping[str, float], truth: str | float) -> str:
    if isinstance(answers, Mapping) and not isinstance(truth, str):
        if not isinstance(truth, (int, float)):
            kind = type(truth).__name__
            raise WrongType(f"The answer is a {kind}; it is one of them, or a number.")
        if answers and not math.isnan(truth):
            return min(answers, key=lambda answer: abs(answers[answer] - truth))
        where = "near none of"
    elif truth in answers:
        return str(truth)
    else:
        where = "not among"
    raise BadInput(f"The answer {truth!r} is {where} the choices: {', '.join(answers)}.")
