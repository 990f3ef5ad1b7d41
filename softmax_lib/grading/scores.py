"""The points that a reader has had, the best of each exercise, and how often they have failed, in files of their own."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softmax_lib.engine.caches import fcntl, replace_file
from softmax_lib.engine.words import count
from softmax_lib.grading.collection import exercises
from softmax_lib.widgets.tables import table
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.files import readers_folder

SCORES, FAILURES, LOCK = "scores.json", "failures.json", "lock"


@dataclass(frozen=True)
class Score:
    """The best points so far for one exercise, None where it was never tried."""

    name: str
    chapter: str
    points: int | None
    out_of: int

    @property
    def words(self) -> str:
        """Such as "3 of 4"."""
        return f"{'-' if self.points is None else self.points} of {self.out_of}"


@dataclass(frozen=True)
class Scores:
    """The best points for every exercise of the book, in the order of the chapters."""

    rows: tuple[Score, ...]

    @property
    def points(self) -> int:
        """All points together."""
        return sum(one.points or 0 for one in self.rows)

    @property
    def total(self) -> str:
        """Such as "12 of 61 points, 3 of 16 exercises solved"."""
        solved = sum(one.points == one.out_of for one in self.rows)
        out_of = sum(one.out_of for one in self.rows)
        points = f"{self.points} of {count(out_of, 'point')}"
        return f"{points}, {solved} of {count(len(self.rows), 'exercise')} solved"

    def __str__(self) -> str:
        lines = [f"{one.name:20} {one.chapter:12} {one.words}" for one in self.rows]
        return "\n".join([*lines, self.total])

    def as_json(self) -> list[dict[str, Any]]:
        """Plain lists and dictionaries."""
        return [vars(one).copy() for one in self.rows]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        rows = [(one.name, one.chapter, one.words) for one in self.rows]
        shown = table(["exercise", "chapter", "points"], rows, caption=self.total)
        return {"text/plain": str(self), "text/html": shown.html}


def scores() -> Scores:
    """The best points that `grade` has given a reader for each exercise, kept from one day to the next.

    They are in `scores.json` in the folder `exercises` of `files.readers_folder`. Raises `BadInput` where that
    file is none of ours.
    """
    kept = _read(SCORES)
    rows = []
    for one in exercises().values():
        points = kept.get(one.name)
        rows.append(Score(one.name, one.chapter, points and min(points, one.out_of), one.out_of))
    return Scores(tuple(rows))


def keep(exercise: str, points: int, solved: bool = True) -> int:
    """Write down `points`, if they are the most so far, and a failure; returns how many there have been.

    Warns where that cannot be done.
    """
    failed = 0 if solved else 1
    try:
        with _locked():
            best = _read(SCORES).get(exercise, -1)
            failed += failures(exercise)
            if points > best:
                _write(SCORES, exercise, points)
            if not solved:
                _write(FAILURES, exercise, failed)
    except (OSError, BadInput) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        warnings.warn(f"Your points are not kept: {reason}", stacklevel=3)
    return failed


def failures(exercise: str) -> int:
    """How often an answer to it was not right. Raises `BadInput` where the file is none of ours."""
    return _read(FAILURES).get(exercise, 0)


def is_solved(exercise: str) -> bool:
    """Whether all of its points were had. Raises `BadInput` where the file is none of ours."""
    return any(one.name == exercise and one.points == one.out_of for one in scores().rows)


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """No other process writes meanwhile, where files can be locked. Raises `OSError` where nothing can be written."""
    path = _path(LOCK)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as lock:
        if fcntl:
            with contextlib.suppress(OSError):  # not every file system has locks
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write(name: str, exercise: str, number: int) -> None:
    path = _path(name)
    replace_file(path, json.dumps(dict(_read(name)) | {exercise: number}, indent=1).encode())


def _path(name: str) -> Path:
    return readers_folder("exercises") / name


def _read(name: str) -> Mapping[str, int]:
    path = _path(name)
    if not os.path.exists(path):
        return {}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        kept = None
    if isinstance(kept, dict) and all(type(n) is int and n >= 0 for n in kept.values()):
        return kept
    raise BadInput(
        f"{path} does not hold points as grade() writes them; move it away to begin anew."
    )
