"""What graders say of the attempts that a page offers, recorded, since no kernel runs there yet."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from softmax_lib.grading.collection import exercises
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.finding import Finding
from softmax_lib.grading.grade import Grade, judge

FILE = Path(__file__).with_name("outcomes.json")

Recorded = dict[str, dict[str, list[tuple[str, bool, str]]]]
"""Findings, by exercise and by the label of the attempt."""


def recorded_grade(exercise: Exercise, label: str) -> Grade:
    """The grade of one of an exercise's labelled attempts, as it was recorded."""
    findings = tuple(Finding(*one) for one in _read()[exercise.name][label])
    return Grade(exercise.name, exercise.title, findings, exercise.out_of)


@cache
def _read() -> Recorded:
    return json.loads(FILE.read_text(encoding="utf-8"))


def record() -> Recorded:
    """The findings of every labelled attempt, made anew."""
    return {
        name: {
            attempt.label: [
                (one.about, one.is_met, one.says)
                for one in judge(exercise, exercise.handed_in(attempt)).findings
            ]
            for attempt in exercise.offered
        }
        for name, exercise in exercises().items()
    }
