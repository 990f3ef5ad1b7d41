"""Several kernels checked, one after the other: one that faults or does not compile stops none of the others."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from softmax_lib.cli.answer import DONE, FAILED, REFUSED, Answer, parts
from softmax_lib.engine.words import count
from softmax_lib.worklog.checking import CheckResult, check, choose_device, count_attempts
from softmax_lib.worklog.errors import KernelFault, SoftmaxLibError
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.registry import kernels, resolve


@dataclass(frozen=True)
class Checked:
    """What became of the check of a kernel: a result, or what stopped it after so many `launches`."""

    kernel: Kernel
    device: str
    launches: int
    result: CheckResult | None = None
    stopped: SoftmaxLibError | None = None

    @property
    def refused(self) -> SoftmaxLibError | None:
        """What kept the kernel from being launched, which is no fault of its."""
        return None if isinstance(self.stopped, KernelFault) else self.stopped

    @property
    def status(self) -> int:
        """0 where a sound kernel was right, or one with a flaw wrong."""
        if self.refused:
            return REFUSED
        is_sound = self.kernel.flaw is None
        return DONE if self.result and self.result.ok == is_sound else FAILED

    def as_json(self) -> dict:
        """Plain lists and dictionaries; `error` has the name of what stopped the check."""
        made, stopped = self.result, self.stopped
        return {
            "name": self.kernel.name,
            "device": self.device,
            "ok": made is not None and made.ok,
            "launches": self.launches,
            "max_abs_error": made and made.max_abs_error,
            "failures": [stopped.told] if stopped else list(made.failures if made else ()),
            "notes": list(made.notes) if made else [],
            "error": type(stopped).__name__ if stopped else None,
        }

    def __str__(self) -> str:
        if self.stopped:
            launches = count(self.launches, "launch", "launches")
            return f"{self.kernel.name}: {launches}, then {self.stopped.told} (on {self.device})"
        flaw = f" (as it should: {self.kernel.flaw})" if self.kernel.flaw else ""
        return f"{self.result}{flaw}"


def run(options: argparse.Namespace) -> Answer:
    """Kernels against float64: those named, or all. Raises what `resolve` and `choose_device` raise."""
    chosen = [resolve(name) for name in options.names] or list(kernels.values())
    device = choose_device(options.device)
    with parts(options.json) as tell:
        found = _check_all(chosen, device, tell)

    def show() -> None:
        for one in found:
            if not one.refused:
                print(one)

    refused = tuple(f"{one.kernel.name}: {one.refused}" for one in found if one.refused)
    status = max((one.status for one in found), default=DONE)
    return Answer([one.as_json() for one in found], show, status, refused)


def _check_all(
    chosen: list[Kernel], device: str, progress: Callable[[str, int, int], None]
) -> list[Checked]:
    total = sum(map(count_attempts, chosen))
    done, found = 0, []
    for kernel in chosen:
        before = done

        def hear(attempt: object, name: str = kernel.name) -> None:
            nonlocal done
            done += 1
            progress(name, done, total)

        result, stopped = None, None
        try:
            result = check(kernel, device=device, progress=hear)
        except SoftmaxLibError as error:
            stopped = error
        found.append(Checked(kernel, device, done - before, result, stopped))
    return found
