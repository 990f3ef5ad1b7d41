"""X-ray of what `softmax()` launches: its kernel for a matrix, counted in machine code with no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from softmax_lib.engine.arrays import bfloat16_bits
from softmax_lib.engine.compiled.launching import (
    MULTIPROCESSORS,
    Counted,
    Progress,
    launch,
)
from softmax_lib.engine.compiled.memory import Memory
from softmax_lib.engine.compiled.program import Decoded, Decoder
from softmax_lib.engine.geometry import Geometry
from softmax_lib.engine.grids import MOST_SHARED_BYTES
from softmax_lib.engine.whole_numbers import whole
from softmax_lib.engine.xrays.machine_path import ARCH, check_path, count_machine
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.ops.designs import CHUNK_BYTES, SIZES, Design, Strided, Task, Tile
from softmax_lib.ops.outlines import SLOTS, Outline, outline_design, outline_strided, outline_tile
from softmax_lib.ops.tables import has_few_blocks, strided_design, table_for, tile_design
from softmax_lib.worklog.errors import BadInput, NotAvailable
from softmax_lib.worklog.reference import noise, softmax
from softmax_lib.worklog.xray import MOST_OF_CODE

CODE_ALONE = (
    "Of what softmax() launches the machine code alone is run: hazards were not looked for."
)

POLLS = "Blocks ask for one another's slots until all have come. How often depends on time on a GPU; here they take turns."


def xray_softmax(
    rows: int,
    cols: int,
    dtype: str = "float32",
    *,
    inner: int = 1,
    backward: bool = False,
    log: bool = False,
    path: str | None = None,
    arch: int = ARCH,
    progress: Progress | None = None,
) -> XRay:
    """Count what `softmax()` asks of memory on a contiguous (rows, cols) matrix of normal noise for `arch`, such as 90.

    `dtype` is float32, float16 or bfloat16; with `backward` it is the gradient of softmax, with `log` that of
    log_softmax or that itself. With `inner` above 1 it is softmax along the middle of (rows, cols, inner). Which
    kernel is launched the table that came along says, of an H200 for sm_90. `path` and `progress` are as for
    `xray`; there is no source to run as it is written.

    Raises `BadInput` for what is none of these, and `NotAvailable` without NVRTC and nvdisasm or a listing that
    came along.
    """
    rows, cols, inner = whole("rows", rows), whole("cols", cols), whole("inner", inner)
    check_path(path, arch)
    if path == "written":
        raise BadInput("The kernels behind softmax() are counted as machine code or ptx alone.")
    if dtype not in SIZES:
        raise BadInput(f"dtype is {dtype!r}; it is one of {', '.join(SIZES)}.")
    if min(rows, cols, inner) < 1 or rows * cols * inner > MOST_OF_CODE:
        raise BadInput(
            f"x-ray takes a matrix of 1 to {MOST_OF_CODE} elements, not {(rows, cols, inner)}; "
            "a smaller one shows the same pattern."
        )
    task = Task(rows * inner, cols, dtype, dtype, bool(backward), bool(log))
    moves = inner > 1 and has_few_blocks(rows, inner)
    if moves:
        inner = 1
    design, outline = outline_of(task, inner, arch)
    arrays = arrays_for(task, inner)

    def run(decoder: Decoder) -> Iterator[Counted]:
        yield run_outline(outline, arrays, decoder(outline.build.program, arch, ""), progress)

    notes = [f"softmax() takes {design} here.", CODE_ALONE]
    if moves:
        notes.append(
            "It lays these rows in one piece first, and back afterwards, which is not counted."
        )
    if outline.is_cooperative:
        notes.append(POLLS)
    found = XRay(
        f"softmax_{outline.build.stem}", outline.blocks, (outline.blocks, 1, 1), (outline.threads, 1, 1), (), (),
        outline.build.program, rows=task.rows, cols=cols, hazards_sought=False,
        notes=tuple(notes),
    )  # fmt: skip
    return count_machine(found, run, path, arch)


def outline_of(task: Task, inner: int, arch: int) -> tuple[Design | Tile | Strided, Outline]:
    """What is launched for contiguous tensors that begin at 16 bytes, of rows whose numbers lie `inner` apart."""
    if inner > 1:
        task = _with_edges(task, inner * task.size)
        strided = strided_design(task, inner, arch)
        return strided, outline_strided(strided, task, task.rows // inner, inner)
    task = _with_edges(task, task.row_bytes)
    tile = tile_design(task)
    if tile:
        return tile, outline_tile(tile, task)
    strides = (task.cols, task.cols if task.backward else 0, task.cols)
    for design in table_for(arch).designs(task):
        is_there = design.regime != "cluster" or arch >= 90
        if is_there and design.shared_bytes <= MOST_SHARED_BYTES:
            at_once = max(1, design.blocks_an_sm(task) * MULTIPROCESSORS // design.team)
            return design, outline_design(design, task, strides, at_once=at_once)
    raise NotAvailable(f"No kernel takes rows of {task.cols} numbers.")


def _with_edges(task: Task, apart_bytes: int) -> Task:
    return replace(task, edges=bool(apart_bytes % CHUNK_BYTES))


def arrays_for(task: Task, inner: int = 1) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """First, second and result of a launch, of bits where numpy has no such dtype.

    Of a gradient the first is a result of softmax, the second noise.
    """
    shape = (task.rows // inner, task.cols, inner)
    x = noise(task.rows, task.cols)
    second = noise(task.rows, task.cols, 1) if task.backward else None
    first = softmax(x) if task.backward else x
    if task.backward and task.log:
        first = np.log(first)
    rounded = bfloat16_bits if task.of == "bfloat16" else partial(np.asarray, dtype=task.of)
    given = rounded(first).reshape(shape)
    others = None if second is None else rounded(second).reshape(shape)
    return given, others, np.full_like(given, 0xFFFF if task.of == "bfloat16" else np.nan)


def run_outline(
    outline: Outline,
    arrays: tuple[np.ndarray, np.ndarray | None, np.ndarray],
    decoded: Decoded,
    progress: Progress | None = None,
) -> Counted:
    """Run one launch of a fast kernel, which writes the last of `arrays`."""
    memory = Memory()
    names = ("first", "second", "result")
    pairs = zip(names, arrays, strict=True)
    placed = [None if one is None else memory.place(name, one) for name, one in pairs]
    numbers = [int(number).to_bytes(8, "little") for number in outline.numbers]
    arguments = [*placed, *numbers]
    if outline.slot_bytes:
        arguments[SLOTS] = memory.place("slots", np.zeros(outline.slot_bytes, np.uint8))
    threads = Geometry(
        (outline.blocks, 1, 1), (outline.threads, 1, 1), cluster=(outline.cluster, 1, 1),
        cooperative=outline.is_cooperative, shared_bytes=outline.shared_bytes,
    )  # fmt: skip
    return launch(decoded, threads, arguments, memory, progress)
