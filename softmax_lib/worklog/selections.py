"""Kernels that find the k largest of each row and their softmax: chapter 11's, which take more than x and y.

Nothing of `kernels` is here and none of these is there: those give a matrix back, these two of k columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from softmax_lib.engine.arrays import Matrix, empty_like, is_on_gpu, is_tensor
from softmax_lib.engine.compiled.inspection import MachineCode, inspect
from softmax_lib.engine.source import Program
from softmax_lib.engine.whole_numbers import whole
from softmax_lib.worklog.checking import Tally, choose_device, place
from softmax_lib.worklog.errors import BadInput, UnknownKernel
from softmax_lib.worklog.kernel import Kernel, Step
from softmax_lib.worklog.launch import launcher
from softmax_lib.worklog.matrices import check_x
from softmax_lib.worklog.reference import (
    NUMBERS,
    SMALLEST,
    adversarial,
    as_numpy,
    relative_tolerance,
    softmax,
    within,
)
from softmax_lib.worklog.registry import controls

MOST_K = 32
"""Elements of a list: one for each lane of a warp, or 64 of a thread's 255 registers."""

_FLAW = (
    "where probabilities round to the same number it takes them for equal, "
    "and of a row whose probabilities are NaN it finds no places"
)

_FILES = (
    Kernel("topk", "11_topk",
           (Step("softmax_topk", "block a row", ("x", "values", "places", "rows", "cols")),),
           ("strided",), ()),
    Kernel("topk_warp", "11_topk_warp",
           (Step("softmax_topk_warp", "block a row", ("x", "values", "places", "rows", "cols")),),
           ("strided",), ()),
    Kernel("topk_warp_plain", "11_topk_warp_plain",
           (Step("softmax_topk_warp_plain", "block a row", ("x", "values", "places", "rows", "cols")),),
           ("strided",), (), suite="shown"),
    Kernel("topk_unfused", "11_unfused",
           (Step("softmax_topk_probabilities", "block a row"),
            Step("softmax_topk_select", "block a row", ("y", "values", "places", "rows", "cols"))),
           4 * ("strided",), ("strided",), foil=True, flaw=_FLAW),
)  # fmt: skip

kernels: Mapping[str, Kernel] = MappingProxyType(
    {kernel.name: kernel for kernel in (*_FILES, *controls(_FILES, "11_controls.toml"))}
)
"""By name: the two kernels of chapter 11, their foil, and what is made of them."""


class Selection(NamedTuple):
    """What finds the k largest of one matrix: a kernel's launches, and values and places once they have been made.

    `launches` are words that `emulator.launch`, `gpu.launch` and `xray_launch` take, in order.
    """

    kernel: Kernel
    launches: tuple[dict[str, Any], ...]
    found: tuple[Matrix, Matrix]

    def launch(self) -> None:
        """Launch all of them: on the GPU for CUDA tensors, else in the emulator. Raises what launching does."""
        launch = launcher(on_gpu=is_on_gpu(self.found[0]))
        for words in self.launches:
            launch(**words)


def find(name: str | Kernel) -> Kernel:
    """The kernel called `name`, or the one that is given. Raises `UnknownKernel`."""
    if isinstance(name, Kernel):
        return name
    if not isinstance(name, str) or name not in kernels:
        raise UnknownKernel(
            f"No kernel called {name!r} finds the k largest; there are {', '.join(kernels)}."
        )
    return kernels[name]


def select(name: str | Kernel, x: Matrix, k: int, *, block_size: int | None = None) -> Selection:
    """What to launch for the `k` largest of each row of `x` and their softmax.

    `x` is what `run` takes, without NaN; `values`, float32, and `places`, int32, are new arrays of its kind
    of shape (rows, k). Raises `UnknownKernel`, `WrongType` or `BadInput`.
    """
    kernel = find(name)
    check_x(x, "select")
    rows, cols = x.shape
    k = whole("k", k)
    if not 1 <= k <= min(cols, MOST_K):
        raise BadInput(
            f"k is {k}; a row of {cols} has its 1 to {cols} largest, and a list here at most {MOST_K}: "
            "softmax_topk() takes up to 128."
        )
    size = kernel.settle_block_size(block_size, cols)
    if is_tensor(x):
        import torch

        values, places = x.new_empty((rows, k)), x.new_empty((rows, k), dtype=torch.int32)
    else:
        values, places = np.empty((rows, k), np.float32), np.empty((rows, k), np.int32)
    arrays = {"x": x, "rows": rows, "cols": cols, "values": values, "places": places}
    if len(kernel.steps) > 1:
        arrays["y"] = empty_like(x)
    launches = tuple(
        {
            "source": kernel.source,
            "kernel": step.entry,
            "grid": step.blocks(rows, cols, size),
            "block": size,
            "args": [arrays[name] for name in step.arguments],
            "defines": {"BLOCK": size, "K": k},
        }
        for step in kernel.steps
    )
    return Selection(kernel, launches, (values, places))


def run(
    name: str | Kernel, x: Matrix, k: int, *, block_size: int | None = None
) -> tuple[Matrix, Matrix]:
    """Values and places of the `k` largest of each row by one kernel: on the GPU for a CUDA tensor, else in the emulator.

    Takes and raises what `select` does, and what launching raises.
    """
    selection = select(name, x, k, block_size=block_size)
    if x.shape[0]:
        selection.launch()
    return selection.found


def machine_code(name: str, k: int, *, block_size: int, arch: int = 90) -> MachineCode:
    """What NVRTC makes of the kernel `name` for `arch`, 90 for sm_90. Raises `UnknownKernel`, `NotAvailable` or `CompileError`."""
    program = Program(find(name).source, (("BLOCK", block_size), ("K", k)))
    return inspect(program, block_size, [arch])[-1]


# ---- checking

CHECKED = ((1, 1), (33, 5), (1001, 10), (4099, 30))
"""Row lengths and k that `check` tries."""


RIGHT = "all places right, all values within the bound of float32"


def check(name: str | Kernel, *, device: str = "auto", block_size: int | None = None) -> Tally:
    """Compare a kernel with a stable sort and softmax in float64, on the rows of `reference.ROWS` without NaN.

    At the smallest, the usual and the largest block size, or at `block_size` alone; `device` is as for `softmax_lib.check`. Raises what `run`
    does; a wrong result is no error.
    """
    kernel, device = find(name), choose_device(device)
    usual = (kernel.block_sizes[0], kernel.default_block_size, kernel.block_sizes[-1])
    sizes = usual if block_size is None else (kernel.settle_block_size(block_size, 1),)
    failures = []
    for (cols, k), size in product(CHECKED, sizes):
        x = adversarial(cols, NUMBERS)
        values, places = map(as_numpy, run(kernel, place(x, device), k, block_size=size))
        wrong = judge(values, places, x).wrong.any(-1)
        if wrong.any():
            row = f'the row "{NUMBERS[wrong.argmax()]}" of {cols}'
            failures.append(f"{row}, k = {k}, {size} threads per block")
    return Tally(kernel.name, len(CHECKED) * len(sizes), tuple(failures), RIGHT)


class Lists(NamedTuple):
    """Which entries of the lists found are wrong, and the values in float64 and places that are due: each of shape (rows, k)."""

    wrong: np.ndarray
    values: np.ndarray
    places: np.ndarray


def judge(values: np.ndarray, places: np.ndarray, x: np.ndarray, *, alone: bool = False) -> Lists:
    """Hold both, (rows, k), against the softmax of the k largest of each row, or of these k `alone`, within float32."""
    order = np.argsort(-x, axis=-1, kind="stable")[:, : values.shape[1]]
    chosen = np.take_along_axis(x if alone else softmax(x), order, -1)
    due = softmax(chosen) if alone else chosen
    allowed = relative_tolerance(x.shape[1]) * due + SMALLEST["float32"]
    return Lists(~within(values, due, allowed) | (places != order), due, order)
