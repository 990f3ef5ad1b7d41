"""`make outcomes`: what graders say of the answers that pages offer, and what mistakes are known by, written anew.

`python book/publish/outcomes.py [EXERCISE ...]` does so for those given, or for all.
"""

import sys
from collections.abc import Sequence
from typing import Any

from softmax_lib.grading.collection import exercises
from softmax_lib.grading.exercise import Attempt, Exercise
from softmax_lib.grading.grade import judge
from softmax_lib.grading.mistakes import FILE, Trace, look_alike, read, rows_of, trace
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.files import write_json


def record(names: Sequence[str] = ()) -> dict[str, Any]:
    """What is recorded of all exercises, made anew for those named, or for all. Raises `BadInput`."""
    anew = names or tuple(exercises())
    return {
        name: record_one(one) if name in anew or name not in read() else read()[name]
        for name, one in exercises().items()
    }


def record_one(exercise: Exercise) -> dict[str, Any]:
    """Raises `BadInput` where two attempts are told different mistakes, and compute the same."""
    offered, traces = {}, []
    for attempt in (*exercise.offered, *(one for one in exercise.attempts if not one.label)):
        found = judge(exercise, exercise.handed_in(attempt)).findings
        if attempt.label:
            offered[attempt.label] = [(one.about, one.is_met, one.says) for one in found]
        if exercise.wants_code and trace(found):
            traces.append((attempt, trace(found)))
    return {"offered": offered, "mistakes": told_apart(exercise.name, traces)}


def told_apart(name: str, traces: list[tuple[Attempt, Trace]]) -> list[tuple[str, Trace]]:
    kept: dict[Trace, str] = {}
    for attempt, shows in traces:
        form = rows_of if attempt.by_rows else tuple
        for other, also in traces:
            if other.diagnosis != attempt.diagnosis and look_alike(form(shows), form(also)):
                told = f"{shows[:2]}, and are told {attempt.diagnosis!r} and {other.diagnosis!r}"
                raise BadInput(f"{name}: two attempts show the same, {told}.")
        if attempt.diagnosis and not any(look_alike(form(shows), one) for one in kept):
            kept[form(shows)] = attempt.diagnosis
    return [(says, shows) for shows, says in kept.items()]


if __name__ == "__main__":
    write_json(FILE, record(sys.argv[1:]))
