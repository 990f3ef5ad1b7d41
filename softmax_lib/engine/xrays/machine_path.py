"""A launch counted by its machine code, or by its PTX, where that can be had."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from softmax_lib.engine.compiled.cubin import SHARED_BASE
from softmax_lib.engine.compiled.launching import Counted
from softmax_lib.engine.compiled.library import HAZARD
from softmax_lib.engine.compiled.program import Decoder, decode_program
from softmax_lib.engine.compiled.ptx.program import translate
from softmax_lib.engine.compiled.running import run, shared_arrays
from softmax_lib.engine.errors import BadInput, CompileError, KernelFault, NotAvailable, NotEmulated
from softmax_lib.engine.spec import LaunchSpec
from softmax_lib.engine.written.metering import Metered, Place
from softmax_lib.engine.written.stretches import Stretch
from softmax_lib.engine.xrays.changes import read_changes
from softmax_lib.engine.xrays.machine_lines import Places, read_machine_lines
from softmax_lib.engine.xrays.result import XRay

_DECODERS: dict[str, Decoder] = {"machine": decode_program, "ptx": translate}

PATHS = (*_DECODERS, "written")
"""What is counted: the machine code that NVRTC makes of a source; the PTX before it, which is what the assembler is
given; or the source as it is written."""

ARCH = 90
"""For which machine code is made if nothing else is said: sm_90, the H100 and H200."""

Run = Callable[[Decoder], Iterable[Counted]]
"""Runs a launch as a decoder says."""


def check_path(path: str | None, arch: int) -> None:
    """Raises `BadInput` for what is none of `PATHS`, and for an arch whose machine code is not run here."""
    if path is not None and path not in PATHS:
        raise BadInput(f"path is {path!r}; it is one of {', '.join(PATHS)}.")
    if arch not in SHARED_BASE:
        known = ", ".join(map(str, SHARED_BASE))
        raise BadInput(f"arch is {arch!r}; machine code is run for {known}.")


def count_machine(
    found: XRay, run: Run, path: str | None, arch: int, refusal: NotEmulated | None = None
) -> XRay:
    """The launch that was `found` as it is written, counted by what `run` runs: what `path` says.

    Where that is None it is the machine code, else the PTX, else it stays as it was found; a note says why it is
    not the machine code. Raises what `run` raises for a path that is said, and where the source was not run; where
    it was refused, the `refusal` with what the compiled kernel lacks.
    """
    why: Exception | None = None
    for one in (path,) if path else _DECODERS:
        try:
            counted = _count(found, run, one, arch)
        except (NotAvailable, CompileError, KernelFault) as error:
            if path:
                raise
            why = why or error
            if not isinstance(error, NotAvailable):
                break
        else:
            return _with_note(counted, "Counted in PTX, before the assembler.", why)
    if refusal and why and not isinstance(why, KernelFault):
        raise NotEmulated(
            f"{refusal} Compiled it is not counted either: {_first_line(why)}"
        ) from why
    if why and not found.hazards_sought:
        raise why
    return _with_note(found, "Counted as it is written.", why)


def watch_machine(*specs: LaunchSpec, arch: int) -> Metered:
    """What is found wrong in machine code, with each instruction as a place of its own, and no counts."""
    steps: list[Counted] = []
    fault = None
    try:
        run(*specs, arch=arch, hear=steps.append)
    except KernelFault as raised:
        fault = raised
    places: list[Place] = []
    arrays, hazards = [], [np.zeros(0, HAZARD)]
    for spec, step in zip(specs, steps, strict=False):
        rows, first = step.hazards, len(places)
        own = first << 32  # each step has shared memory of its own
        rows["address"][rows["is_shared"] == 1] += np.uint64(own)
        rows["place"] += first
        rows["other_place"] += first
        hazards.append(rows)
        places += map(Places(spec.source, ()).of, step.decoded.statements)
        arrays += [Stretch(one.name, one.address, one.host.nbytes, one.code) for one in step.arrays]
        kernel = spec.kernel if spec.entries else ""
        for start, name, size, item in shared_arrays(spec.program, arch, kernel, spec.shared_bytes):
            arrays.append(Stretch(name, own + start, size, f"V{item}", is_shared=True))
    found, last = np.concatenate(hazards), specs[-1]
    return Metered(found[:0], found, tuple(places), fault, tuple(arrays), {}, last.geometry, last.source, "")  # fmt: skip


def _with_note(found: XRay, what: str, why: Exception | None) -> XRay:
    note = (f"{what} {_first_line(why)}",) if why else ()
    return replace(found, notes=(*found.notes, *note))


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _count(found: XRay, run: Run, path: str, arch: int) -> XRay:
    steps = tuple(run(_DECODERS[path]))
    source = found.program.source
    lines = read_machine_lines(steps, source, found.lines)
    return replace(
        found,
        path=path,
        arch=arch,
        made_by=steps[0].decoded.made_by,
        lines=lines,
        steps=steps if path == "machine" else (),
        steps_of_ptx=steps if path == "ptx" else (),
        written=found.lines,
        changes=read_changes(steps, source, found.lines, lines),
    )
