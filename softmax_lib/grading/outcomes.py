"""What graders say of the attempts that a page offers, and what known mistakes are known by, recorded."""

from __future__ import annotations

from typing import Any

from softmax_lib.errors import BadInput
from softmax_lib.grading.collection import exercises
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.finding import Finding
from softmax_lib.grading.grade import Grade, judge
from softmax_lib.grading.mistakes import Trace, look_alike, read, trace


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
    offered, mistakes = {}, []
    for attempt in (*exercise.offered, *(one for one in exercise.attempts if not one.label)):
        found = judge(exercise, exercise.handed_in(attempt)).findings
        if attempt.label:
            offered[attempt.label] = [(one.about, one.is_met, one.says) for one in found]
        if exercise.wants_code and trace(found):
            mistakes.append((attempt.diagnosis, trace(found)))
    return {"offered": offered, "mistakes": _told_apart(exercise.name, mistakes)}


def _told_apart(name: str, mistakes: list[tuple[str, Trace]]) -> list[tuple[str, Trace]]:
    kept: list[tuple[str, Trace]] = []
    for says, shows in mistakes:
        same = next((known for known, other in kept if look_alike(other, shows)), None)
        if same is not None and same != says:
            raise BadInput(
                f"{name}: two attempts show the same, {shows[:2]}, and are told {same!r} and {says!r}."
            )
        if same is None:
            kept.append((says, shows))
    return [one for one in kept if one[0]]
