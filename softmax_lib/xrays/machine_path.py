"""A launch counted by its machine code, where that can be had."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from softmax_lib.errors import BadInput, CompileError, KernelFault, NotAvailable
from softmax_lib.machine.cubin import SHARED_BASE
from softmax_lib.machine.launching import Counted
from softmax_lib.xrays.compiled import read_changes
from softmax_lib.xrays.machine_lines import read_machine_lines
from softmax_lib.xrays.result import XRay

PATHS = ("machine", "written")
"""What is counted: the machine code that NVRTC makes of a source, or the source as it is written."""

ARCH = 90
"""For which machine code is made if nothing else is said: sm_90, the H100 and H200."""


def check_path(path: str | None, arch: int) -> None:
    """Raises `BadInput` for what is none of `PATHS`, and for an arch whose machine code is not run here."""
    if path is not None and path not in PATHS:
        raise BadInput(f"path is {path!r}; it is one of {', '.join(PATHS)}.")
    if arch not in SHARED_BASE:
        known = ", ".join(map(str, SHARED_BASE))
        raise BadInput(f"arch is {arch!r}; machine code is run for {known}.")


def count_machine(
    found: XRay, run: Callable[[], Iterable[Counted]], path: str | None, arch: int
) -> XRay:
    """The launch that was `found` as it is written, counted by the machine code that `run` runs.

    Where that cannot be, and the path is not said to be "machine", it is `found` with a note that says why.
    Raises what `run` raises otherwise.
    """
    try:
        steps = tuple(run())
    except (NotAvailable, CompileError, KernelFault) as error:
        if path == "machine":
            raise
        why = str(error).splitlines()[0]
        return replace(found, notes=(*found.notes, f"Counted as it is written. {why}"))
    source = found.program.source
    lines = read_machine_lines(steps, source, found.lines)
    return replace(
        found,
        path="machine",
        arch=arch,
        made_by=steps[0].decoded.made_by,
        lines=lines,
        steps=steps,
        written=found.lines,
        changes=read_changes(steps, source, found.lines, lines),
    )
