"""What a grade consists of: one thing that was looked at, and a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from softmax_lib.engine.words import count, plural
from softmax_lib.engine.xrays.result import XRay


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at, "right", "safe" or "idea"; whether it is as it should be, and a sentence.

    `traces` are what a mistake is known by beside it: every launch that went wrong.
    """

    about: str
    is_met: bool
    says: str
    traces: tuple[str, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class Subject:
    """A kernel that was handed in, and how to look at it.

    `right` compares it with float64, `safe` looks for hazards, everywhere or just on one matrix, `look` x-rays it on
    what a goal says, and on `others`, which were launched to see whether it is right. All of them raise `CompileError`, and `KernelFault` or not, as launching does.
    """

    kernel: Any
    right: Callable[[], Finding]
    safe: Callable[[bool], Finding] | None = None
    look: Callable[..., XRay] | None = None
    others: Sequence[Mapping[str, int]] = ()


class Mistake(NamedTuple):
    """A launch that went wrong: what was launched, what is wrong of it, and both in short, as a mistake is known by."""

    launch: str
    what: str
    trace: str


def tally(tried: Sequence[Mistake | None], right: str) -> Finding:
    """Whether all launches were right, `right` saying what they were; else how many were not, the first, and their traces."""
    wrong, all_of_them = [one for one in tried if one], count(len(tried), "launch", "launches")
    if not wrong:
        return Finding("right", True, f"all of {all_of_them} {right}.")
    many = f"{len(wrong)} of {all_of_them} {plural(len(wrong), 'is', 'are')} wrong"
    says = f"{many}; the first, {wrong[0].launch}: {wrong[0].what}."
    return Finding("right", False, says, tuple(one.trace for one in wrong))


def safety(found: list[XRay]) -> Finding:
    """Whether any of these x-rays has a hazard; the first is told."""
    hazards = [hazard for one in found for hazard in one.hazards]
    if hazards:
        return Finding("safe", False, hazards[0].words)
    matrices = sum(1 + len(one.ragged) for one in found)
    return Finding("safe", True, f"no hazard on {count(matrices, 'matrix', 'matrices')}.")
