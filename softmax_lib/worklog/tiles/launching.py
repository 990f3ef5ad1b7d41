"""`run` and `check`: a Triton kernel on a matrix, by Triton's compiler on a GPU and by its interpreter without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from softmax_lib.engine.arrays import Matrix, host_view, is_on_gpu, is_tensor, like
from softmax_lib.engine.whole_numbers import whole
from softmax_lib.engine.words import count
from softmax_lib.worklog.checking import Tally, choose_device, place
from softmax_lib.worklog.errors import BadInput, NotAvailable
from softmax_lib.worklog.matrices import check_x
from softmax_lib.worklog.reference import KINDS, adversarial, as_numpy, judge
from softmax_lib.worklog.tiles.interpreter import READS_OUTSIDE, Interpreted, Job, interpret
from softmax_lib.worklog.tiles.programs import (
    FULL_TILES,
    Setting,
    TileKernel,
    find,
    require_triton,
    settle,
)

INTERPRETED_PROGRAMS = 4
"""Programs of a persistent kernel in the interpreter: each goes through several rows."""


GUARD = 7.0
"""What lies behind a result: no share, and so nothing that a softmax writes."""


def run(
    kernel: str | TileKernel,
    x: Matrix,
    *,
    tile: int | None = None,
    num_warps: int | None = None,
    num_stages: int | None = None,
    programs: int | None = None,
) -> Matrix:
    """Softmax of each row of `x` by one Triton kernel: on the GPU for a CUDA tensor, else in the interpreter.

    `x` is a contiguous float32 numpy array or torch tensor of shape (rows, cols), and so is the result.
    `kernel` is a name from `tiles.kernels`, or the text of one. A tile is the least power of two from cols
    up, the warps are by `seeds_warps`, the stages 2, unless they are given; `programs` is how many a
    persistent kernel gets, without it as many as the GPU holds at once. The interpreter knows neither
    warps nor stages. Raises `UnknownKernel`, `WrongType`, `BadInput`, `RowTooLong`, `NotAvailable` without
    Triton, or where the stages need more shared memory than there is, and `CompileError`.
    """
    kernel = find(kernel)
    check_x(x)
    rows, cols = x.shape
    setting = settle(cols, tile, num_warps, num_stages)
    if programs is not None and not kernel.loops and programs != rows:
        raise BadInput(f"{kernel.name} has one program per row: {rows}, and not {programs}.")
    if programs is not None and kernel.loops and whole("programs", programs) < 1:
        raise BadInput(f"programs is {programs}; it is 1 or more.")
    if kernel.name in FULL_TILES and setting.tile != cols:
        raise BadInput(
            f"{kernel.name} takes rows that fill their tile, and not {cols} in {setting.tile}."
        )
    require_triton()
    if not rows or not cols:
        return x.clone() if is_tensor(x) else x.copy()
    if is_on_gpu(x):
        y = x.new_empty(x.shape)
        launch(kernel, x, y, setting, programs)
        return y
    (found,) = interpret([job(kernel, host_view(x), setting, programs)])
    return like(x, found.y[: rows * cols].reshape(rows, cols))


def job(
    kernel: TileKernel,
    x: np.ndarray,
    setting: Setting,
    programs: int | None = None,
    room: int | None = None,
) -> Job:
    """A launch for the interpreter; its `x` and `y` lie flat, and go on for `room` elements, or a tile: `x` with NaN, `y` with GUARD.

    Without `programs` there is one per row, and of a persistent kernel INTERPRETED_PROGRAMS at most.
    """
    room = setting.tile if room is None else room
    beyond = np.full(room, np.nan, np.float32)
    y = padded_y(x.size, room)
    flat = np.concatenate((x.reshape(-1), beyond))
    rows = x.shape[0]
    usual = min(rows, INTERPRETED_PROGRAMS) if kernel.loops else rows
    count = usual if programs is None else programs
    given = arguments(kernel, flat, y, x.shape, setting)
    return Job(kernel.source, kernel.entry, given, count, x.size)


def padded_y(size: int, room: int) -> np.ndarray:
    """NaN for a result of `size`, and behind it `room` elements of GUARD, which no kernel may write."""
    return np.concatenate((np.full(size, np.nan, np.float32), np.full(room, GUARD, np.float32)))


def arguments(
    kernel: TileKernel, x: Any, y: Any, shape: tuple[int, ...], setting: Setting
) -> dict[str, Any]:
    """What the kernel takes, by name."""
    rows, cols = shape
    known = {"x": x, "y": y, "rows": rows, "cols": cols}
    known |= {"TILE": setting.tile, "STAGES": setting.num_stages}
    return {name: known[name] for name in kernel.parameters}


def launch(
    kernel: TileKernel, x: Any, y: Any, setting: Setting, programs: int | None = None
) -> None:
    """Launch `kernel` on CUDA tensors of any float dtype; raises `NotAvailable` where the GPU lacks shared memory.

    Without `programs` there is one per row, and of a persistent kernel as many as are `resident`.
    """
    import torch
    from triton.runtime.errors import OutOfResources

    words = arguments(kernel, x, y, x.shape, setting)
    words |= {"num_warps": setting.num_warps, "num_stages": setting.num_stages}
    rows = x.shape[0]
    with torch.cuda.device(x.device):
        try:
            if programs is None:
                programs = resident(kernel, x, setting, words) if kernel.loops else rows
            kernel.function[(min(programs, rows),)](**words)
        except OutOfResources as error:
            raise NotAvailable(f"{kernel.name} does not fit this GPU: {error}") from error


_resident: dict[tuple, int] = {}
"""Programs that a whole GPU holds at once, by kernel, setting, dtype and device: asked for once."""


def resident(kernel: TileKernel, x: Any, setting: Setting, words: dict[str, Any]) -> int:
    """Programs of `kernel` that the GPU of `x` holds at once, by registers and shared memory, as Triton's tutorial counts."""
    key = (kernel.digest, setting, x.dtype, x.shape[1] % 16 == 0, x.device.index)
    if key not in _resident:
        from triton.runtime import driver

        facts = driver.active.utils.get_device_properties(x.device.index)
        compiled = kernel.function.warmup(**words, grid=(1,))
        compiled._init_handles()
        registers = compiled.n_regs * facts["warpSize"] * setting.num_warps
        by_registers = facts["max_num_regs"] // registers
        by_shared = facts["max_shared_mem"] // max(1, compiled.metadata.shared)
        _resident[key] = max(1, min(by_registers, by_shared)) * facts["multiprocessor_count"]
    return _resident[key]


# ---- checking

LENGTHS = (1, 33, 1000, 1001, 4096, 4099)
"""Rows that `check` tries: of one element, and around multiples of a warp, of 16 and of a tile."""
WARPS = (1, 4, 32)


def check(
    kernel: str | TileKernel, *, device: str = "auto", lengths: Sequence[int] = LENGTHS
) -> Tally:
    """Compare a Triton kernel with float64 on `reference.ROWS` of several lengths, with few and many warps.

    Every launch writes into a NaN-filled array that goes on for a tile behind its last row, with numbers to be
    kept. `kernel` is as for `run`, `device` as for `softmax_lib.check`. Raises what `run` does; a wrong result
    is no error.
    """
    kernel, device = find(kernel), choose_device(device)
    require_triton()
    settled = [(cols, settle(cols, num_warps=warps)) for cols in lengths for warps in WARPS]
    if kernel.name in FULL_TILES:
        settled = [(cols, setting) for cols, setting in settled if setting.tile == cols]
    tried = [(adversarial(cols), setting) for cols, setting in settled]
    if device == "cpu":
        found = interpret([job(kernel, *one) for one in tried])
    else:
        found = [_on_gpu(kernel, *one) for one in tried]
    failures = tuple(
        f"rows of {x.shape[1]} with {count(setting.num_warps, 'warp')}: {wrong}"
        for (x, setting), one in zip(tried, found, strict=True)
        if (wrong := _mistake(x, one))
    )
    return Tally(kernel.name, len(tried), failures)


def _on_gpu(kernel: TileKernel, x: np.ndarray, setting: Setting) -> Interpreted:
    """What a GPU makes of `x`, where nobody sees what is read."""
    padded = place(padded_y(x.size, setting.tile), "cuda")
    launch(kernel, place(x, "cuda"), padded[: x.size].view(x.shape), setting)
    return Interpreted(as_numpy(padded), reads_outside=False)


def _mistake(x: np.ndarray, found: Interpreted) -> str | None:
    """What is wrong of a launch on `x`; what lies outside of it is the cause of what is wrong inside."""
    if found.reads_outside:
        return READS_OUTSIDE
    wrong = judge(found.y[: x.size].reshape(x.shape), x, kinds=KINDS).mistake
    stray = (found.y[x.size :] != GUARD).any()
    return wrong or ("it wrote past the end of y" if stray else None)
