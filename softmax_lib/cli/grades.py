"""Points so far, an exercise's task, or the grade of an answer to it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from softmax_lib.cli.answer import DONE, FAILED, Answer
from softmax_lib.grading.collection import find_exercise
from softmax_lib.grading.exercise import Exercise
from softmax_lib.grading.grade import grade, solution
from softmax_lib.grading.scores import scores
from softmax_lib.worklog.errors import BadInput


def run(options: argparse.Namespace) -> Answer:
    """The more words, the more is told: all points, a task, a grade."""
    if options.exercise is None:
        points = scores()
        return Answer(points.as_json(), lambda: print(points))
    exercise = find_exercise(options.exercise)
    if options.solution:
        told = solution(exercise.name)
        return Answer({"solution": told}, lambda: print(told))
    if not options.answer:
        return Answer(exercise.as_json(), lambda: print(exercise.words))
    given = grade(exercise.name, _read(exercise, options.answer))
    return Answer(given.as_json(), lambda: print(given), DONE if given.ok else FAILED)


def _read(exercise: Exercise, words: Sequence[str]) -> Any:
    """What `grade` takes: the path of a file, or numbers."""
    if exercise.wants_code:
        if len(words) > 1:
            raise BadInput(f"{exercise.name} is answered by one file, and not by {len(words)}.")
        return Path(words[0])
    try:
        return tuple(float(word) for word in words)
    except ValueError:
        names = ", ".join(one.name for one in exercise.asked)
        raise BadInput(f"{exercise.name} is answered by numbers, {names}.") from None
