"""Exercises by name, read from their files, and the numbers that a reader answers some of them with."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any

from softmax_lib.engine.source import Edit, Source
from softmax_lib.engine.words import count, cut_long_words, hint
from softmax_lib.grading.exercise import Asked, Attempt, Exercise, Goal
from softmax_lib.worklog.errors import BadInput, UnknownExercise, WrongType
from softmax_lib.worklog.files import EXERCISE_FOLDER

WRONG = "launches are wrong"
"""What is said of an attempt where its file has no other words."""

_COUNTED: dict[str, dict[str, str]] = {
    "reads of an element": {"of": "floats", "per": "element", "space": "global", "operation": "load"},
    "writes of an element": {"of": "floats", "per": "element", "space": "global", "operation": "store"},
    "sectors of a load": {"of": "sectors", "per": "request", "space": "global", "operation": "load"},
    "barriers of a block": {
        "of": "requests", "per": "block", "operation": "barrier", "well": "{value:barrier} per block.",
    },
    "shared accesses of a block": {"of": "requests", "per": "block", "space": "shared"},
}  # fmt: skip
"""What goals of several exercises have in common, by the words that stand for it in their `counts`."""


def _read(path: Path) -> Exercise:
    """The exercise in a file, whose goals without an `on` of their own have that of its head."""
    given = tomllib.loads(path.read_text(encoding="utf-8"))
    attempts = tuple(made for one in given.pop("attempt") for made in _attempts(**one))
    right = tuple(_attempts("", **given.pop("right"))) if "right" in given else ()
    on = given.pop("on", {})
    goals = tuple(_goal({"on": on, **one}) for one in given.pop("goal", ()))
    replied = {(float(number),): says for goal in goals for number, says in goal.replies.items()}
    labelled = {one.text for one in attempts}
    attempts += tuple(Attempt(says, n) for n, says in replied.items() if n not in labelled)
    asked = tuple(Asked(**one) for one in given.pop("asked", ()))
    if cut := given.get("cut", "").strip("\n"):
        parts = ("cut", "solution", "starter")
        given |= {name: given.get(name, cut).strip("\n") for name in parts}
    if given["kind"] == "mend":
        given["starter"] = given["text"].strip("\n")
        whole, mended = Source(path.stem, given["starter"]), _edits(given.pop("mend"))
        given["solution"] = whole.edited(path.stem, mended).text
    return Exercise(
        path.stem, goals=goals, attempts=attempts, right=right, asked=asked, **_tuples(given)
    )


def _goal(given: dict[str, Any]) -> Goal:
    counted = _COUNTED[given.pop("counts")] if "counts" in given else {}
    return Goal(**_tuples(counted | given))


def _tuples(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(it) if isinstance(it, list) else it for name, it in given.items()}


def _attempts(says: str = WRONG, **given: Any) -> Iterator[Attempt]:
    """An attempt, or one for each of `swaps` and `texts`, of which all the same is said."""
    swaps, texts = (given.pop(several, ()) for several in ("swaps", "texts"))
    each = [*({"swap": swap} for swap in swaps), *({"text": text} for text in texts)]
    for one in each or [given]:
        words = {"swap": {}, **given, **one}
        yield Attempt(says, swap=_edits(words.pop("swap")), **_tuples(words))


def _edits(swap: Mapping[str, str]) -> tuple[Edit, ...]:
    return tuple(Edit(old, new) for old, new in swap.items())


@cache
def exercises() -> Mapping[str, Exercise]:
    """All exercises by name, in the order of their chapters."""
    found = [_read(path) for path in sorted(EXERCISE_FOLDER.glob("*.toml"))]
    order = {"write": 0, "mend": 1, "break": 2, "predict": 3}
    found.sort(key=lambda one: (one.chapter, order[one.kind], one.name))
    return MappingProxyType({one.name: one for one in found})


def find_exercise(name: str) -> Exercise:
    """The exercise called `name`. Raises `UnknownExercise`, naming the nearest ones, or `WrongType`."""
    if not isinstance(name, str):
        raise WrongType(f"An exercise's name is a word, and not a {type(name).__name__}.")
    known = exercises()
    if name in known:
        return known[name]
    raise UnknownExercise(f"There is no exercise called {name!r}; {hint(name, known)}")


def read_numbers(exercise: Exercise, given: Any) -> dict[str, float]:
    """The numbers that a reader gives, by name: one, or several in a row. Raises `WrongType` or `BadInput`."""
    numbers = given if isinstance(given, (tuple, list)) else (given,)
    names = ", ".join(one.name for one in exercise.asked)
    if not all(isinstance(n, Real) and not isinstance(n, bool) for n in numbers):
        what = cut_long_words(repr(given))
        raise WrongType(f"{exercise.name} is answered by numbers, {names}, and not by {what}.")
    if len(numbers) != len(exercise.asked):
        asked = count(len(exercise.asked), "number")
        raise BadInput(f"{exercise.name} takes {asked}, {names}, and not {len(numbers)}.")
    read = {}
    for one, number in zip(exercise.asked, numbers, strict=True):
        if not one.least <= number <= one.most or (one.whole and number != int(number)):
            kind = "a whole number" if one.whole else "a number"
            raise BadInput(
                f"{one.name}, {one.what}, is {kind} from {one.least} to {one.most}, and not {cut_long_words(str(number))}."
            )
        read[one.name] = int(number) if one.whole else float(number)
    return read
