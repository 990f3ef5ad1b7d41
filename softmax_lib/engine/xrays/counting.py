"""X-ray: hardware-like counters and hazards of a launch, line by line, with no GPU.

The emulator runs the unmodified source: results, faults and hazards are its. Two accesses are in
order when a barrier or a __syncwarp() lies between them; those of two blocks, when one has passed a fence
and then written an atomic or volatile word that the other has read. Volatile accesses race as others do, but for
flags: what one lane stores behind a fence, or somebody reads again and again. Where one is meant, a comment on
its line says so: `// race: intended`. A variable of a thread that it has not
written is seen where it is an array, or where the compiler cannot tell that it was written, and in words of
4 bytes and more. An index of an array of a thread's own is seen to leave it where the compiler knows the array:
not through a pointer that a function is given which is not inlined. An int that overflows is told of,
but for hashes and random numbers. An atomic exchange counts as a read, also where nobody looks at what it returns.

What each warp asks of memory is counted as Nsight Compute would: in the machine code that NVRTC makes, instruction
by instruction as a GPU executes it, or in the source as it is written, which knows nothing of what a compiler
changes. Neither knows time, caches and occupancy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any, TypeAlias

import numpy as np

from softmax_lib.engine.arrays import (
    address,
    element_code,
    from_bfloat16_bits,
    host_bytes,
)
from softmax_lib.engine.compiled.inspection import check_registers
from softmax_lib.engine.compiled.launching import Counted, Progress
from softmax_lib.engine.compiled.program import Decoder
from softmax_lib.engine.compiled.running import run
from softmax_lib.engine.errors import CompileError, NotAvailable, NotEmulated
from softmax_lib.engine.spec import LaunchSpec
from softmax_lib.engine.written.metering import Metered, meter
from softmax_lib.engine.written.stretches import Stretch
from softmax_lib.engine.xrays.hazards import Hazard, read_hazards
from softmax_lib.engine.xrays.lines import read_lines
from softmax_lib.engine.xrays.machine_path import ARCH, check_path, count_machine, watch_machine
from softmax_lib.engine.xrays.result import XRay

CODE_ALONE = "The compiled code alone is run: hazards were not looked for."


def xray(
    *specs: LaunchSpec,
    path: str | None = None,
    arch: int = ARCH,
    progress: Progress | None = None,
    look_for_hazards: bool = True,
) -> XRay:
    """Count what each of `specs`, which are of one program, asks of memory, one after the other on the same arrays.

    The source is run for results, faults and hazards, unless not `look_for_hazards`. Counted is the machine code for
    `arch`, 90 for sm_90; `progress` hears how many of its threads have ended, and of how many. Where there is neither
    a listing of it that came along nor nvdisasm, and where it has an instruction that is not run here, its PTX is
    counted instead; where there is no NVRTC either, and where the launch faults, the source as it is written; and a
    note says why. A `path`, one of "machine", "ptx" and "written", says which; then nothing else is counted but for a
    fault.

    Arrays are written in place, unless the kernel faults: that is a hazard in the result. Where the code that is counted
    leaves other numbers than the source did, a note says the first of them. Of a source that the
    emulator refuses, such as one with inline PTX, the compiled code alone is run: what it writes is the result,
    nobody looks for hazards, and a note says so; a fault is raised. Raises what `launch` raises for bad input,
    `CompileError`, and `NotAvailable` without a C++ compiler, outside Linux, or for what is run nowhere here.
    """
    check_path(path, arch)
    before = _Contents(specs if look_for_hazards else ())
    last, blocks = specs[-1], sum(prod(spec.grid) for spec in specs)
    what = (last.kernel, blocks, last.grid, last.block, (), (), last.program)
    found, refusal = XRay(*what, hazards_sought=False), None
    given: Mapping[int, Stretch] = {}
    if look_for_hazards:
        try:
            metered = meter(*specs)
            found, given = _read(found, metered), metered.given
        except NotEmulated as error:
            if path == "written":
                raise
            found, refusal = replace(found, notes=(f"{CODE_ALONE} {error}",)), error
    if path == "written" or found.has_stopped:
        return found
    result = _Contents(specs if found.hazards_sought else ())

    def count(decoder: Decoder) -> tuple[Counted, ...]:
        before.restore()
        return run(*specs, arch=arch, progress=progress, decoder=decoder)

    try:
        counted = count_machine(found, count, path, arch, refusal)
        notes = (*counted.notes, *_differences(counted, specs, result, given))
        return replace(counted, notes=notes)
    except BaseException:
        before.restore()
        raise
    finally:
        result.restore()


def hazards_of(*specs: LaunchSpec, path: str = "written", arch: int = ARCH) -> tuple[Hazard, ...]:
    """What is wrong with them, and nothing else, in the source as it is written or in its "machine" code.

    That does not say where a `__syncwarp()` was: of lanes of one warp no race is found there. Raises as `xray` does.
    """
    return read_hazards(meter(*specs) if path == "written" else watch_machine(*specs, arch=arch))[0]


class _Contents:
    """What is in the arrays of a launch now."""

    def __init__(self, specs: Sequence[LaunchSpec]) -> None:
        once = {id(array): array for spec in specs for array in spec.written}
        views = ((array, host_bytes(array)) for array in once.values())
        self._held = [(array, view, view.copy()) for array, view in views if view.flags.writeable]

    def restore(self) -> None:
        """Write it back."""
        for _, view, content in self._held:
            view[:] = content

    def changed(self) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
        """Each array that holds other bytes now: itself, what was in it, and what is."""
        for array, view, content in self._held:
            if not np.array_equal(view, content):
                yield array, content, view


_UNLIKE = re.compile(r"\b(clock(64)?|__nanosleep)\b|globaltimer|smid")
"""What is another number each time: when and where a kernel runs."""


def _differences(
    counted: XRay, specs: Sequence[LaunchSpec], written: _Contents, given: Mapping[int, Stretch]
) -> tuple[str, ...]:
    """In words, the first element that the code that was counted leaves other than the source did."""
    if counted.path == "written" or _UNLIKE.search(counted.program.source.code):
        return ()
    in_any_order = any(line.operation == "atomic" for line in counted.lines)
    changed = list(written.changed())
    arrays = [array for spec in specs for array in spec.arrays] if changed else []
    noise = _noise_of((host_bytes(array), _elements(array, given)) for array in arrays)
    for array, ours, theirs in changed:
        found = _first_difference(ours, theirs, _elements(array, given), noise, in_any_order)
        if found:
            at, left, leaves = found
            what = "Machine code" if counted.path == "machine" else "PTX"
            name = given[address(array)].name if address(array) in given else "an array"
            return (
                f"{what} leaves {leaves} in {name}[{at}], the source as it is written {left}, which is what arrays hold.",
            )
    return ()


def _elements(array: Any, given: Mapping[int, Stretch]) -> _Elements:
    """What the elements of a caller's array are, as the kernel takes them."""
    if isinstance(array, np.ndarray) and array.dtype.names:
        return array.dtype
    code = element_code(array)
    return given[address(array)].code if code == "u2" and address(array) in given else code


def _read(unseen: XRay, metered: Metered) -> XRay:
    """The launch with what was metered."""
    geometry, lines = metered.geometry, read_lines(metered)
    hazards, remarks = read_hazards(metered)
    with suppress(NotAvailable, CompileError):
        check_registers(unseen.program, prod(geometry.block))
    return replace(
        unseen,
        grid=geometry.grid,
        block=geometry.block,
        lines=lines,
        hazards=hazards,
        notes=remarks,
        hazards_sought=True,
    )


# ---- what two runs of one launch left in an array, compared: the source as it is written, and compiled code

_Elements: TypeAlias = str | np.dtype
"""What elements are: a code, as `arrays.element_code` says, or a dtype of a structure's members."""

_CLOSE, _CLOSE_SHORT = 1e-3, 2e-2
"""How far apart numbers may be, and those of 16 bits: compilers contract, functions are approximate, atomics add in any
order. A fraction of the number itself, and a hundredth as much of the array's largest, which is left where a sum cancels."""


def _first_difference(
    written: np.ndarray, compiled: np.ndarray, of: _Elements, noise: float, in_any_order: bool
) -> tuple[int, str, str] | None:
    """Index and values of the first element that is another one, in bytes of two arrays; None where all are the same.

    Whole numbers, and bytes of an unknown type, are compared exactly; numbers with a point may be `noise` apart, or close.
    `in_any_order` it is enough that the same elements are there.
    """
    a, b = (_readable(one, of) for one in (written, compiled))
    others = _others(a, b, of == "bf2", noise)
    if others.any() and in_any_order and a.ndim == 1 and not a.dtype.names:
        others &= _others(np.sort(a), np.sort(b), of == "bf2", noise).any()
    at = int(np.argmax(others))
    return (at, str(a[at]), str(b[at])) if others.any() else None


def _noise_of(arrays: Iterable[tuple[np.ndarray, _Elements]]) -> float:
    """By how much the sum of an array's numbers may differ with their order; of the noisiest one.

    Typical numbers count: one that is very large, such as a mask, says nothing of the others.
    """
    real = [one for one in (_readable(*each) for each in arrays) if one.dtype.kind in "fc"]
    some = [(one.size, one[:: 1 + one.size // 10_000]) for one in real]
    finite = [(count, one[np.isfinite(one)]) for count, one in some]
    return 2.0**-24 * max(
        (count * float(np.median(np.abs(one))) for count, one in finite if one.size), default=0
    )


def _readable(array: np.ndarray, of: _Elements) -> np.ndarray:
    """Bytes as numbers, as structures with members, or as a row of bytes an element."""
    if of == "bf2":
        return from_bfloat16_bits(array.view(np.uint16))
    typed = array.view(of)
    is_opaque = typed.dtype.kind == "V" and not typed.dtype.names
    return typed.view(np.uint8).reshape(len(typed), -1) if is_opaque else typed


def _others(a: np.ndarray, b: np.ndarray, is_short: bool, noise: float) -> np.ndarray:
    """Which elements are others, of arrays of one type."""
    if a.dtype.names:
        members = [_others(a[name], b[name], is_short, noise) for name in a.dtype.names]
        return np.logical_or.reduce(members)
    others = a != b
    if a.dtype.kind in "fc":
        close = _CLOSE_SHORT if is_short or a.dtype == np.float16 else _CLOSE
        largest = float(np.max(np.abs(a), where=np.isfinite(a), initial=0))
        with np.errstate(all="ignore"):
            x, y = (one[others].astype(np.complex128) for one in (a, b))
            room = 0.01 * close * largest + noise
            others[others] = ~np.isclose(y, x, rtol=close, atol=room, equal_nan=True)
    return others.reshape(len(a), -1).any(axis=1)
