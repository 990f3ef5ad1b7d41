"""X-ray: hardware-like counters and hazards of a kernel, line by line, with no GPU.

The emulator runs the unmodified source: results, faults and hazards are its. Two accesses are in
order when a barrier or a warp call lies between them; those of two blocks, when one has passed a fence
and then written an atomic or volatile word that the other has read. A variable of a thread that it has not
written is seen where it is an array, or where the compiler cannot tell that it was written, and in words of
4 bytes and more; an atomic exchange counts as a read, also where nobody looks at what it returns.

What each warp asks of memory is counted as Nsight Compute would: in the machine code that NVRTC makes, instruction
by instruction as a GPU executes it, or in the source as it is written, which knows nothing of what a compiler
changes. Neither knows time, caches and occupancy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any, Unpack

from softmax_lib.arrays import host_bytes
from softmax_lib.emulator.metering import Metered, meter, meter_launch
from softmax_lib.errors import BadInput, CompileError, NotAvailable, NotEmulated
from softmax_lib.grids import Axes, blocks_of
from softmax_lib.kernel import Kernel
from softmax_lib.launch_notes import notes_on
from softmax_lib.launch_spec import LaunchSpec, specify
from softmax_lib.machine.calls import run_call
from softmax_lib.machine.inspection import check_registers
from softmax_lib.machine.launching import Counted, Progress
from softmax_lib.machine.program import Decoder
from softmax_lib.machine.softmaxes import count_steps
from softmax_lib.operators import (
    Grid,
    Operator,
    OperatorWords,
    Reference,
    Threads,
    read_operator,
    threads_of,
)
from softmax_lib.reference import noise
from softmax_lib.registry import kernels, resolve
from softmax_lib.source import Program, Source
from softmax_lib.whole_numbers import whole
from softmax_lib.xrays.hazards import Hazard, read_hazards
from softmax_lib.xrays.lines import read_lines
from softmax_lib.xrays.machine_path import ARCH, check_path, count_machine
from softmax_lib.xrays.result import XRay

MOST_ELEMENTS = 1 << 22
"""Elements of the matrix at most where the source is run: each word has a history of 20 bytes, and 20 for each of its
readers."""

MOST_OF_CODE = 1 << 26
"""Elements of the matrix at most where nothing but machine code is."""

TOO_LARGE = (
    "Of a matrix as large as this the machine code alone is run: hazards were not looked for."
)

CODE_ALONE = "The compiled code alone is run: hazards were not looked for."

RAGGED = ((3, 1), (2, 3), (3, 33), (70, 5), (3, 257), (2, 1001))
"""Shapes at which careless kernels break: rows shorter than a vector, a warp or a block, and longer than one that
no vector divides; more rows than a warp has lanes."""

Shapes = tuple[tuple[int, int], ...]

MOST_BYTES = 1 << 26
"""Of all arrays together, for any kernel."""


def xray(
    name_or_source: str | Path | Kernel | Source,
    rows: int = 64,
    cols: int = 4096,
    block_size: Threads | None = None,
    *,
    grid: Grid | None = None,
    ragged: bool = False,
    path: str | None = None,
    arch: int = ARCH,
    progress: Progress | None = None,
    reference: Reference | None = None,
    **operator: Unpack[OperatorWords],
) -> XRay:
    """Count what `name_or_source` asks of memory on a (rows, cols) matrix of normal noise.

    Counted is the machine code for `arch`, 90 for sm_90; `progress` hears how many of its threads have ended, and of how
    many. Where there is neither a listing of it that came along nor nvdisasm, and where it has an instruction that
    is not run here, its PTX is counted instead; where there is no NVRTC either, and where the launch faults, the
    source as it is written; and a note says why. A `path`, one of "machine", "ptx" and "written", says which; then
    nothing else is counted but for a fault.

    Of a matrix of more than `MOST_ELEMENTS` elements, and of a source that the emulator refuses, such as one
    with inline PTX, nothing but that code is run, so that there are no hazards, and a note says so.

    With `ragged` a kernel without hazards there is launched on the matrices of `RAGGED` too, for hazards
    alone; without it, and for a `grid`, on no other. `grid` replaces the number of blocks; a reader's own source has one per row. A fault of the
    running kernel is a hazard in the result. With a `reference` it is any operator on rows, in the words of `check`,
    whose other inputs are noise too. Raises what `run` raises for bad input, `CompileError`,
    and `NotAvailable` without a C++ compiler, outside Linux, or for a feature that is run nowhere here.
    """
    rows, cols = whole("rows", rows), whole("cols", cols)
    check_path(path, arch)
    if operator or reference is not None:
        _check_shape(rows, cols, "written")
        own = read_operator(name_or_source, reference, grid, block_size, operator)
        return _xray_operator(own, rows, cols, ragged, path=path, arch=arch)
    kernel = resolve(name_or_source)
    given = blocks_of(grid)
    _check_shape(rows, cols, path)
    block_size = kernel.settle_block_size(threads_of(block_size), cols)
    x = (_kept_noise if kernels.get(kernel.name) is kernel else noise)(rows, cols)
    blocks = given or sum(step.blocks(rows, cols, block_size) for step in kernel.steps)
    last = given or kernel.steps[-1].blocks(rows, cols, block_size)
    unseen = _unseen(
        kernel.name, blocks, (last, 1, 1), (block_size, 1, 1), kernel.program(block_size, cols)
    )

    if x.size > MOST_ELEMENTS:
        tried = _Tried(replace(unseen, notes=(TOO_LARGE,)))
    else:
        tried = _try(lambda: _read(unseen, meter(kernel, x, block_size, given)), unseen, path)
    notes = (*notes_on(kernel), *tried.found.notes)
    found = replace(tried.found, rows=rows, cols=cols, notes=notes)
    if path != "written" and tried.has_ended:

        def run(decoder: Decoder) -> tuple[Counted, ...]:
            return count_steps(
                kernel, x, block_size, arch=arch, grid=given, progress=progress, decoder=decoder
            )

        found = count_machine(found, run, path, arch, tried.refusal)
    looks_elsewhere = ragged and given is None and found.hazards_sought
    return _look_elsewhere(kernel, found) if looks_elsewhere else found


def _xray_operator(operator: Operator, rows: int, cols: int, ragged: bool, **how: Any) -> XRay:
    def words(rows: int, cols: int) -> dict[str, Any]:
        inputs = operator.make_inputs(rows, cols)
        arrays = inputs | operator.make_outputs(inputs, rows, cols)
        return operator.launch_words(arrays, rows, cols)

    def look(*shape: int) -> tuple[Hazard, ...]:
        of = words(*shape)
        return read_hazards(meter_launch(specify(arguments=of.pop("args"), **of)))

    found = replace(
        xray_launch(**words(rows, cols), **how),
        rows=rows,
        cols=cols,
        item_bytes=operator.item_bytes,
    )
    if not ragged or found.hazards or not found.hazards_sought:
        return found
    return _with_ragged(found, _ragged(operator.longer), look)


_kept_noise = lru_cache(maxsize=2)(noise)
"""Explorers x-ray kernel after kernel on a large matrix or two. Kernels of the registry write nothing there."""


@dataclass(frozen=True)
class _Tried:
    """What was found of a source as it is written, whether it came to its end, and why it was not run."""

    found: XRay
    has_ended: bool = True
    refusal: NotEmulated | None = None


def _try(run: Callable[[], tuple[XRay, bool]], unseen: XRay, path: str | None) -> _Tried:
    """What `run` finds or, where the emulator refuses a source that need not be counted as it is written, nothing."""
    try:
        return _Tried(*run())
    except NotEmulated as refusal:
        if path == "written":
            raise
        return _Tried(replace(unseen, notes=(f"{CODE_ALONE} {refusal}",)), refusal=refusal)


def _unseen(name: str, blocks: int, grid: Axes, block: Axes, program: Program) -> XRay:
    """A launch of which nothing is known but what it is."""
    return XRay(name, blocks, grid, block, (), (), program, hazards_sought=False)


def _ragged(longer: Callable[[int], int]) -> Shapes:
    """`RAGGED`, each once, at lengths that a kernel takes."""
    return tuple(dict.fromkeys((rows, longer(cols)) for rows, cols in RAGGED))


def _look_elsewhere(kernel: Kernel, found: XRay) -> XRay:
    """With the hazards of the first ragged matrix that has some, unless it has hazards already."""
    if found.hazards:
        return found
    longest = kernel.max_cols(found.block_size)
    shapes = tuple(shape for shape in _ragged(kernel.longer) if shape[1] <= longest)
    return _with_ragged(
        found, shapes, lambda *of: read_hazards(meter(kernel, noise(*of), found.block_size))
    )


def _with_ragged(
    found: XRay, shapes: Shapes, look: Callable[[int, int], tuple[Hazard, ...]]
) -> XRay:
    """The same with the hazards of the first of `shapes` where `look` finds some."""
    for shape in shapes:
        if hazards := look(*shape):
            there = tuple(
                replace(one, message=f"{one.message.removesuffix('.')}, on a matrix of {shape}.")
                for one in hazards
            )
            return replace(found, hazards=there, ragged=shapes)
    return replace(found, ragged=shapes)


def xray_launch(
    source: str | Path | Source,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    *,
    path: str | None = None,
    arch: int = ARCH,
    **how: Any,
) -> XRay:
    """Count what any kernel of `source` asks of memory, launched by the words of `emulator.launch`.

    `path` and `arch` are as for `xray`.

    The arrays among `args` are written in place, unless the kernel faults: that is a hazard in the
    result. Of a source that the emulator refuses, such as one with inline PTX, the machine code alone is run: what it
    writes is the result, nobody looks for hazards, and a note says so; a fault is raised. Raises what `emulator.launch` raises for bad input, `CompileError`, and `NotAvailable`.
    """
    check_path(path, arch)
    spec = specify(source, grid, block, args, **how)
    bytes_ = sum(array.nbytes for array in spec.arrays)
    if bytes_ > MOST_BYTES:
        raise BadInput(
            f"x-ray takes arrays of up to {MOST_BYTES} bytes in all, not {bytes_}; smaller ones show "
            "the same pattern."
        )
    before = _Contents(spec)
    unseen = _unseen(spec.kernel, prod(spec.grid), spec.grid, spec.block, spec.program)
    tried = _try(lambda: _read(unseen, meter_launch(spec)), unseen, path)
    if path == "written" or not tried.has_ended:
        return tried.found
    result = _Contents(spec) if tried.found.hazards_sought else None

    def run(decoder: Decoder) -> tuple[Counted]:
        before.restore()
        return (run_call(spec, arch, decoder=decoder),)

    try:
        return count_machine(tried.found, run, path, arch, tried.refusal)
    except BaseException:
        before.restore()
        raise
    finally:
        if result:
            result.restore()


class _Contents:
    """What is in the arrays of a launch now."""

    def __init__(self, spec: LaunchSpec) -> None:
        views = list(map(host_bytes, spec.arrays))
        self._held = [(view, view.copy()) for view in views if view.flags.writeable]

    def restore(self) -> None:
        """Write it back."""
        for view, content in self._held:
            view[:] = content


def _read(unseen: XRay, metered: Metered) -> tuple[XRay, bool]:
    """The launch with what was metered, and whether it came to its end."""
    geometry, lines, hazards = metered.geometry, read_lines(metered), read_hazards(metered)
    with suppress(NotAvailable, CompileError):
        check_registers(unseen.program, prod(geometry.block))
    found = replace(
        unseen,
        grid=geometry.grid,
        block=geometry.block,
        lines=lines,
        hazards=hazards,
        hazards_sought=True,
    )
    return found, metered.fault is None


def _check_shape(rows: int, cols: int, path: str | None) -> None:
    most = MOST_ELEMENTS if path == "written" else MOST_OF_CODE
    if rows < 1 or cols < 1 or rows * cols > most:
        raise BadInput(
            f"x-ray takes a matrix of 1 to {most} elements, not ({rows}, {cols}); "
            "a smaller one shows the same pattern."
        )
