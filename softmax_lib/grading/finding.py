"""What a grade consists of: one thing that was looked at, and a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from softmax_lib.errors import KernelFault
from softmax_lib.xrays.result import XRay


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at, "right", "safe" or "idea"; whether it is as it should be, and a sentence."""

    about: str
    is_met: bool
    says: str


@dataclass(frozen=True)
class Subject:
    """A kernel that was handed in, and how to look at it.

    `right` compares it with float64, `safe` looks for hazards, everywhere or just on one matrix, and `look` x-rays it on what a goal says. All of them raise
    `CompileError`, and `KernelFault` or not, as launching does.
    """

    kernel: Any
    right: Callable[[], Finding]
    safe: Callable[[bool], Finding] | None = None
    look: Callable[..., XRay] | None = None


def safety(found: list[XRay]) -> Finding:
    """Whether any of these x-rays has a hazard; the first is told."""
    hazards = [hazard for one in found for hazard in one.hazards]
    if hazards:
        return Finding("safe", False, hazards[0].words)
    matrices = sum(1 + len(one.ragged) for one in found)
    return Finding("safe", True, f"no hazard on {matrices} matrices.")


def stopped(fault: KernelFault) -> Finding:
    """What is said of a kernel that was stopped."""
    return Finding("safe", False, f"it was stopped: {fault}")
