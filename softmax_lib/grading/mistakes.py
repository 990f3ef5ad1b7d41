"""Mistakes that are known by what they compute: how they are recorded, and an answer compared with them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from softmax_lib.grading.collection import exercises
from softmax_lib.grading.exercise import Attempt, Exercise
from softmax_lib.grading.finding import Finding
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.files import EXERCISE_FOLDER

if TYPE_CHECKING:
    from softmax_lib.grading.grade import Grade

FILE = EXERCISE_FOLDER / "outcomes.json"

MOST_TRACES = 8
"""Launches that a mistake is known by, of all that went wrong."""

NEAR = 2e-3
"""Of two numbers that the same mistake makes in another order of operations, the relative distance at most."""

_LOCATION = re.compile(
    r" (?:at )?(?:[\w.]+\.(?:cu|py):\d+|line \d+(?: of (?:your code|the kernel))?)| for [\d.]+ s\b"
)
"""Where in a text something is, and how long the watchdog waited: neither is of the mistake."""
_ROWS = re.compile(r" \[([\d,]+)\]")
_NUMBER = re.compile(r"(?<!\w)-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf|nan)\b")

Trace = tuple[str, ...]
"""What an answer that is not right is known by: sentences with numbers, none of which depends on the text."""


def trace(findings: Sequence[Finding]) -> Trace:
    """What is wrong of an answer, without lines. Where there is a hazard it is that alone: results depend on luck then."""
    wrong = [one for one in findings if not one.is_met]
    hazards = [one for one in wrong if one.about == "safe"]
    found: list[str] = []
    for one in hazards or wrong:
        some = [f"{len(one.traces)} wrong", *one.traces[:MOST_TRACES]]
        found += some if one.traces else [_LOCATION.sub("", one.says)]
    return tuple(found)


def rows_of(shows: Trace) -> Trace:
    """The kinds of rows alone that go wrong, of a mistake whose values are rounding's; nothing where there are no rows."""
    launches = [one for one in shows if _ROWS.search(one)]
    same = [one for one in launches if one.partition("x")[0] == launches[0].partition("x")[0]]
    rows = {int(row) for one in same for row in _ROWS.findall(one)[0].split(",")}
    return ("rows alone", str(sorted(rows))) if rows else ()


def look_alike(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether two traces have the same words, and numbers as near as float32 allows."""
    if len(first) != len(second):
        return False
    pairs = list(zip(first, second, strict=True))
    if any(_NUMBER.sub("#", a) != _NUMBER.sub("#", b) for a, b in pairs):
        return False
    return all(
        _near(float(m), float(n))
        for a, b in pairs
        for m, n in zip(_NUMBER.findall(a), _NUMBER.findall(b), strict=True)
    )


def _near(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=NEAR)


def diagnose(exercise: str, findings: Sequence[Finding]) -> str:
    """The mistake in a sentence, where one that was recorded shows the same; else nothing."""
    found = trace(findings)
    known = read().get(exercise, {}).get("mistakes", [])
    for form in (found, rows_of(found)):
        for says, shows in known:
            if form and look_alike(form, shows):
                return says
    return ""


@cache
def read() -> dict:
    """By exercise, the findings of what a page offers ("offered", by label), and "mistakes": sentences and traces."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def record(judge: Callable[[Exercise, Any], Grade], names: Sequence[str] = ()) -> dict[str, Any]:
    """What is recorded of all exercises, made anew by `grade.judge` for those named, or for all. Raises `BadInput`."""
    anew = names or tuple(exercises())
    return {
        name: _record(one, judge) if name in anew or name not in read() else read()[name]
        for name, one in exercises().items()
    }


def _record(exercise: Exercise, judge: Callable[[Exercise, Any], Grade]) -> dict[str, Any]:
    """Raises `BadInput` where two attempts are told different mistakes, and compute the same."""
    offered, traces = {}, []
    for attempt in (*exercise.offered, *(one for one in exercise.attempts if not one.label)):
        found = judge(exercise, exercise.handed_in(attempt)).findings
        if attempt.label:
            offered[attempt.label] = [(one.about, one.is_met, one.says) for one in found]
        if exercise.wants_code and trace(found):
            traces.append((attempt, trace(found)))
    return {"offered": offered, "mistakes": _told_apart(exercise.name, traces)}


def _told_apart(name: str, traces: list[tuple[Attempt, Trace]]) -> list[tuple[str, Trace]]:
    kept: dict[Trace, str] = {}
    for attempt, shows in traces:
        form = rows_of if attempt.by_rows else tuple
        for other, also in traces:
            if other.diagnosis != attempt.diagnosis and look_alike(form(shows), form(also)):
                told = f"{attempt.diagnosis!r} and {other.diagnosis!r}"
                raise BadInput(
                    f"{name}: two attempts show the same, {shows[:2]}, and are told {told}."
                )
        if attempt.diagnosis and not any(look_alike(form(shows), one) for one in kept):
            kept[form(shows)] = attempt.diagnosis
    return [(says, shows) for shows, says in kept.items()]
