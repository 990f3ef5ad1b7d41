"""X-ray of a kernel of the book, of a reader's own, or of any operator on rows: what `engine.xray` counts, on noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from softmax_lib.engine.compiled.launching import Progress, ReadBack
from softmax_lib.engine.grids import blocks_of
from softmax_lib.engine.source import Source
from softmax_lib.engine.spec import LaunchSpec, Unkept
from softmax_lib.engine.whole_numbers import whole
from softmax_lib.engine.xrays import counting as engine
from softmax_lib.engine.xrays.counting import hazards_of
from softmax_lib.engine.xrays.machine_path import ARCH, check_path
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.operators import (
    Grid,
    Operator,
    OperatorWords,
    Reference,
    Threads,
    read_operator,
    threads_of,
)
from softmax_lib.worklog.reference import noise
from softmax_lib.worklog.registry import kernels, notes_on, resolve

MOST_ELEMENTS = 1 << 22
"""Elements of the matrix at most where the source is run: each word has a history of 20 bytes, and 20 for each of its
readers."""

MOST_OF_CODE = 1 << 26
"""Elements of the matrix at most where nothing but machine code is."""

TOO_LARGE = (
    "Of a matrix as large as this the machine code alone is run: hazards were not looked for."
)

RAGGED = ((3, 1), (2, 3), (3, 33), (70, 5), (3, 257), (2, 1001))
"""Shapes at which careless kernels break: rows shorter than a vector, a warp or a block, and longer than one that
no vector divides; more rows than a warp has lanes."""

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
        found = xray_launch(**own.noise_words(rows, cols), path=path, arch=arch)
        found = replace(found, rows=rows, cols=cols, item_bytes=own.item_bytes)
        return _with_ragged(found, own, lambda *at: [LaunchSpec.of(**own.noise_words(*at))], ragged)
    kernel = resolve(name_or_source)
    given = blocks_of(grid)
    _check_shape(rows, cols, path)
    size = kernel.settle_block_size(threads_of(block_size), cols)
    x = (_kept_noise if kernels.get(kernel.name) is kernel else noise)(rows, cols)
    is_small = x.size <= MOST_ELEMENTS

    def look(y: Any) -> XRay:
        launches = kernel.launches(x, y, size, grid=given)
        return engine.xray(
            *launches, path=path, arch=arch, progress=progress, look_for_hazards=is_small
        )

    try:
        found = look(np.full_like(x, np.nan) if is_small else Unkept(x.nbytes))
    except ReadBack:
        found = look(np.full_like(x, np.nan))
    notes = (*notes_on(kernel), *(() if is_small else (TOO_LARGE,)), *found.notes)
    found = replace(found, kernel=kernel.name, rows=rows, cols=cols, notes=notes)
    return _with_ragged(found, kernel, partial(_on_noise, kernel, size), ragged and given is None)


_kept_noise = lru_cache(maxsize=2)(noise)
"""Explorers x-ray kernel after kernel on a large matrix or two. Kernels of the registry write nothing there."""


def _on_noise(kernel: Kernel, block_size: int, rows: int, cols: int) -> Sequence[LaunchSpec]:
    if cols > kernel.max_cols(block_size):
        return ()
    x = noise(rows, cols)
    return kernel.launches(x, np.full_like(x, np.nan), block_size)


def _with_ragged(
    found: XRay,
    taker: Kernel | Operator,
    launches: Callable[[int, int], Sequence[LaunchSpec]],
    ragged: bool,
) -> XRay:
    """The same with the hazards of the first matrix of `RAGGED`, at lengths that `taker` takes, where there are some.

    Where it has hazards already, or nobody looked for any, it is left as it is.
    """
    if not ragged or found.hazards or not found.hazards_sought:
        return found
    shapes = dict.fromkeys((rows, taker.longer(cols)) for rows, cols in RAGGED)
    given = {shape: of for shape in shapes if (of := launches(*shape))}
    for shape, of in given.items():
        if hazards := hazards_of(*of):
            there = tuple(
                replace(one, message=f"{one.message.removesuffix('.')}, on a matrix of {shape}.")
                for one in hazards
            )
            return replace(found, hazards=there, ragged=tuple(given))
    return replace(found, ragged=tuple(given))


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
    spec = LaunchSpec.of(source, grid, block, args, **how)
    bytes_ = sum(array.nbytes for array in spec.arrays)
    if bytes_ > MOST_BYTES:
        raise BadInput(
            f"x-ray takes arrays of up to {MOST_BYTES} bytes in all, not {bytes_}; smaller ones show "
            "the same pattern."
        )
    return engine.xray(spec, path=path, arch=arch)


def _check_shape(rows: int, cols: int, path: str | None) -> None:
    most = MOST_ELEMENTS if path == "written" else MOST_OF_CODE
    if rows < 1 or cols < 1 or rows * cols > most:
        raise BadInput(
            f"x-ray takes a matrix of 1 to {most} elements, not ({rows}, {cols}); "
            "a smaller one shows the same pattern."
        )
