"""`check`: a Triton kernel against softmax in float64, on rows that break careless kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from softmax_lib.engine.words import count
from softmax_lib.worklog.checking import Tally, choose_device, place
from softmax_lib.worklog.reference import ROWS, adversarial, as_numpy, judge
from softmax_lib.worklog.tiles.interpreter import READS_OUTSIDE, Interpreted, interpret
from softmax_lib.worklog.tiles.launching import GUARD, job, launch, padded_y
from softmax_lib.worklog.tiles.programs import FULL_TILES, TileKernel, find, require_triton
from softmax_lib.worklog.tiles.settings import Setting, settle

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
    full = kernel.name in FULL_TILES
    tried = [settled for cols in lengths for warps in WARPS
             if (settled := (cols, settle(cols, num_warps=warps)))[1].tile == cols or not full]  # fmt: skip
    xs = [adversarial(cols) for cols, _ in tried]
    settings = [setting for _, setting in tried]
    found = (_interpreted if device == "cpu" else _on_gpu)(kernel, xs, settings)
    return Tally(kernel.name, len(tried), tuple(_failures(xs, found, settings)))


def _interpreted(
    kernel: TileKernel, xs: list[np.ndarray], settings: list[Setting]
) -> list[Interpreted]:
    return interpret([job(kernel, *one) for one in zip(xs, settings, strict=True)])


def _on_gpu(kernel: TileKernel, xs: list[np.ndarray], settings: list[Setting]) -> list[Interpreted]:
    """What a GPU makes of them, where nobody sees what is read."""
    found = []
    for x, setting in zip(xs, settings, strict=True):
        padded = place(padded_y(x.size, setting.tile), "cuda")
        y = padded[: x.size].view(x.shape)
        launch(kernel, place(x, "cuda"), y, setting)
        found.append(Interpreted(as_numpy(padded), reads_outside=False))
    return found


def _failures(
    xs: list[np.ndarray], found: list[Interpreted], settings: list[Setting]
) -> Iterator[str]:
    for x, one, setting in zip(xs, found, settings, strict=True):
        if wrong := _mistake(x, one):
            yield f"rows of {x.shape[1]} with {count(setting.num_warps, 'warp')}: {wrong}"


def _mistake(x: np.ndarray, found: Interpreted) -> str | None:
    """What is wrong of a launch on `x`; what lies outside of it is the cause of what is wrong inside."""
    if found.reads_outside:
        return READS_OUTSIDE
    kinds = [row.name for row in ROWS]
    wrong = judge(found.y[: x.size].reshape(x.shape), x, kinds=kinds).mistake
    stray = (found.y[x.size :] != GUARD).any()
    return wrong or ("it wrote past the end of y" if stray else None)
