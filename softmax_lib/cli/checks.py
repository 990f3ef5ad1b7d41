"""Several kernels checked, one after the other: one that faults or does not compile stops none of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from softmax_lib.cli.answer import DONE, FAILED, REFUSED
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
    def name(self) -> str:
        """The kernel's."""
        return self.kernel.name

    @property
    def refused(self) -> SoftmaxLibError | None:
        """What kept the kernel from being launched, which is no fault of its."""
        return None if isinstance(self.stopped, KernelFault) else self.stopped

    @property
    def is_as_expected(self) -> bool:
        """Whether a sound kernel was right, and one with a flaw wrong."""
        return self.result is not None and self.result.ok == (self.kernel.flaw is None)

    @property
    def sentence(self) -> str:
        """What stopped it, behind the launch of which it did."""
        return self.stopped.told if self.stopped else ""

    def as_json(self) -> dict:
        """Plain lists and dictionaries; `error` has the name of what stopped the check."""
        failures = [self.sentence] if self.result is None else list(self.result.failures)
        return {
            "name": self.name,
            "device": self.device,
            "ok": self.result is not None and self.result.ok,
            "launches": self.launches,
            "max_abs_error": self.result and self.result.max_abs_error,
            "failures": failures,
            "notes": list(self.result.notes) if self.result else [],
            "error": type(self.stopped).__name__ if self.stopped else None,
        }

    def __str__(self) -> str:
        if self.result is None:
            launches = count(self.launches, "launch", "launches")
            return f"{self.name}: {launches}, then {self.sentence} (on {self.device})"
        flaw = f" (as it should: {self.kernel.flaw})" if self.kernel.flaw else ""
        return f"{self.result}{flaw}"


def check_all(
    names: Sequence[str], device: str, progress: Callable[[str, int, int], None]
) -> list[Checked]:
    """Check the kernels of these names, or all. Raises what `resolve` and `choose_device` raise."""
    chosen = [resolve(name) for name in names] or list(kernels.values())
    device = choose_device(device)
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


def status_of_all(found: Sequence[Checked]) -> int:
    """The exit status: the worst of any."""
    if any(one.refused for one in found):
        return REFUSED
    return DONE if all(one.is_as_expected for one in found) else FAILED


def print_checks(found: Sequence[Checked]) -> None:
    """A line for each that was launched."""
    for one in found:
        if not one.refused:
            print(one)
