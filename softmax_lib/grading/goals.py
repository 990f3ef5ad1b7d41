"""Whether what a reader handed in is right, safe, and does what its exercise is about: a sentence for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from softmax_lib.engine.words import plural
from softmax_lib.engine.xrays.lines import LineCounters
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.grading.answers import compiled_barriers, is_right_at, other_bits, wrong_kinds
from softmax_lib.grading.exercise import Exercise, Goal
from softmax_lib.grading.finding import Finding, Subject

COMPILED_BARRIERS = "compiled barriers"
"""A counter of a whole Triton kernel, and not of its lines."""

Numbers = Mapping[str, float]


def find(exercise: Exercise, subject: Subject, numbers: Numbers) -> Iterator[Finding]:
    """What is found of an answer, one after the other. Raises `CompileError`, `KernelFault` and what `run` does."""
    if exercise.is_free:
        right = subject.right()
        yield right
        safe = subject.safe(right.is_met) if subject.safe else None
        if safe and (right.is_met or not safe.is_met):
            yield safe
        if not right.is_met:  # what it asks of memory is of no interest then
            return
    for goal in exercise.goals:
        found = _judge(goal)(exercise, subject, goal, numbers)
        yield found
        if exercise.kind == "break" and not found.is_met:  # it broke in another way
            return


Judge = Callable[[Exercise, Subject, Goal, Numbers], Finding]


def _judge(goal: Goal) -> Judge:
    kinds: list[tuple[object, Judge]] = [
        (goal.number is not None, _number),
        (goal.rows is not None, _rows),
        (goal.wrong_at is not None, _block_sizes),
        (goal.same_bits, _bits),
        (goal.hazard, _hazard),
    ]
    return next((judge for is_one, judge in kinds if is_one), _counter)


def _number(exercise: Exercise, subject: Subject, goal: Goal, numbers: Numbers) -> Finding:
    (value,) = numbers.values()
    said = replace(goal, says=goal.replies.get(f"{value:g}", goal.says))
    return _told(said, value == goal.number, value=value)


def _rows(exercise: Exercise, subject: Subject, goal: Goal, numbers: Numbers) -> Finding:
    wanted, wrong = goal.rows or (), wrong_kinds(exercise, subject.kernel)
    spared = [name for name in wanted if name not in wrong]
    hurt = [name for name in wrong if name not in wanted]
    if not wrong:
        return _not_broken("nothing broke: every row still comes out right.")
    if spared:
        return _told(goal, False, value=_listed(spared))
    if hurt:
        return _not_broken(f"rows go wrong that should not: {_listed(hurt)}.")
    return _told(goal, True, value=_listed(wrong))


def _block_sizes(exercise: Exercise, subject: Subject, goal: Goal, numbers: Numbers) -> Finding:
    wanted, tried = goal.wrong_at or (), exercise.block_sizes
    wrong = [size for size in tried if not is_right_at(exercise, subject.kernel, size)]
    hurt = [size for size in wrong if size not in wanted]
    if not wrong:
        return _not_broken("nothing broke: it is right at every block size.")
    if hurt:
        where = f"at {_listed(hurt)} threads per block"
        return _not_broken(f"it goes wrong where it should not, {where}.")
    spared = [size for size in wanted if size not in wrong]
    return _told(goal, not spared, value=_listed(spared or wrong))


def _bits(exercise: Exercise, subject: Subject, goal: Goal, numbers: Numbers) -> Finding:
    depends = other_bits(exercise, subject.kernel)
    return _told(goal, not depends, value=" and on ".join(depends))


def _not_broken(sentence: str) -> Finding:
    return Finding("idea", False, sentence)


def _hazard(exercise: Exercise, subject: Subject, goal: Goal, numbers: Numbers) -> Finding:
    found = _look(subject, _on(goal, numbers)).hazards
    wanted = [one for one in found if one.kind == goal.hazard and goal.mentions in one.message]
    if wanted:
        return _told(goal, True, value=wanted[0].words)
    if found:
        return _not_broken(f"the x-ray finds something else: {found[0].words}")
    return _told(goal, False, value="nothing")


def _counter(exercise: Exercise, subject: Subject, goal: Goal, numbers: Numbers) -> Finding:
    """A counter on the matrix that the exercise names; of code also on two others, which it does not name."""
    found = _counted(subject, goal, _on(goal, numbers), **numbers)
    elsewhere = [replace(goal, at_most=one) for one in goal.at_most_there] or (goal, goal)
    for there, on in zip(elsewhere, subject.others if exercise.is_free else (), strict=False):
        if not found.is_met:
            return found
        other = _counted(subject, there, on)
        if not other.is_met:
            where = ", ".join(f"{name} = {value}" for name, value in on.items())
            return replace(other, says=f"with {where}: {other.says}")
    return found


def _counted(subject: Subject, goal: Goal, on: Mapping[str, Any], **numbers: float) -> Finding:
    if goal.of == COMPILED_BARRIERS:
        value = compiled_barriers(subject.kernel, **on)
    else:
        value = _count(goal, _look(subject, on))
    return _told(goal, goal.is_met(value), value=value, **numbers)


def _on(goal: Goal, numbers: Numbers) -> Mapping[str, Any]:
    """What a goal looks at; a word in place of a number stands for one that the reader gave."""
    return {name: numbers.get(given, given) for name, given in goal.on.items()}


def _look(subject: Subject, on: Mapping[str, Any]) -> XRay:
    assert subject.look is not None, "this family of kernels has no x-ray"
    return subject.look(**on)


def _count(goal: Goal, found: XRay) -> float:
    """The counter that a goal is about."""
    lines = [line for line in found.lines if _is_meant(goal, line)]
    elements = (found.rows or 0) * (found.cols or 0)
    floats = sum(line.lanes * line.size for line in lines) / 4
    if goal.of == "unwritten":
        return elements - floats
    total = floats if goal.of == "floats" else sum(getattr(line, goal.of) for line in lines)
    per = {
        "": 1,
        "request": sum(line.requests for line in lines),
        "element": elements,
        "warp": found.warps,
        "block": found.blocks,
    }[goal.per]
    return total / per if per else 0.0


def _is_meant(goal: Goal, line: LineCounters) -> bool:
    """Whether a goal counts this line; "shuffle" stands for all kinds of them."""
    same = all(getattr(goal, name) in ("", 0, getattr(line, name)) for name in ("space", "size"))
    return same and line.operation.startswith(goal.operation)


def _listed(values: Any) -> str:
    return ", ".join(map(str, values))


def _told(goal: Goal, is_met: bool, **values: Any) -> Finding:
    words = {name: _Said(given) for name, given in values.items()}
    sentence = (goal.well if is_met else goal.says).format(goal=_Said(goal.bound), **words)
    return Finding("idea", is_met, sentence)


class _Said:
    """A value in a sentence: "{value}" is the number alone, and "{value:barrier}" is "1 barrier" or "2 barriers".

    A whole number has all of its digits, another one four; words are as they are.
    """

    def __init__(self, given: Any) -> None:
        self._given = given

    def __format__(self, thing: str) -> str:
        words = given = self._given
        if isinstance(given, float):
            words = f"{given:.0f}" if given.is_integer() else f"{given:.4g}"
        return f"{words} {plural(given, thing)}" if thing else str(words)
