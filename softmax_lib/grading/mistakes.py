"""Mistakes that are known by what they compute, and an answer compared with them; `make outcomes` records them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import cache

from softmax_lib.grading.finding import Finding
from softmax_lib.worklog.files import EXERCISE_FOLDER

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
    a, b = "\n".join(first), "\n".join(second)
    pairs = zip(_NUMBER.findall(a), _NUMBER.findall(b), strict=False)
    same_words = _NUMBER.sub("#", a) == _NUMBER.sub("#", b)
    return same_words and all(
        m == n == "nan" or math.isclose(float(m), float(n), rel_tol=NEAR) for m, n in pairs
    )


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
