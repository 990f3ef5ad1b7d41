"""What graders say of the attempts that a page offers, and what known mistakes are known by, recorded."""

from __future__ import annotations

from typing import Any

from softmax_lib.grading.collection import exercises
from softmax_lib.grading.exercise import Attempt, Exercise
from softmax_lib.grading.finding import Finding
from softmax_lib.grading.grade import Grade, judge
from softmax_lib.grading.mistakes import Trace, look_alike, read, rows_of, trace
from softmax_lib.worklog.errors import BadInput


def recorded_grade(exercise: Exercise, label: str) -> Grade:
    """The grade of one of an exercise's labelled attempts, as it was recorded."""
    found = tuple(Finding(*one) for one in read()[exercise.name]["offered"][label])
    told = next((one.diagnosis for one in exercise.offered if one.label == label), "")
    return Grade(exercise.name, exercise.title, found, exercise.out_of, told)


def record(names: tuple[str, ...] = ()) -> dict[str, Any]:
    """What is recorded of all exercises, made anew for those that are named, or for all. Raises `BadInput`."""
    anew = names or tuple(exercises())
    return {
        name: _record(one) if name in anew or name not in read() else read()[name]
        for name, one in exercises().items()
    }


def _record(exercise: Exercise) -> dict[str, Any]:
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
