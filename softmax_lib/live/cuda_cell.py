"""The cell magic %%cuda: a kernel in a cell, checked and x-rayed when the cell runs.

`%load_ext softmax_lib` registers it. What it shows is the same on every machine: verdicts and
counts, no times and no error digits.
"""

from __future__ import annotations

import argparse
import shlex
import textwrap
from typing import Any

from softmax_lib.checking import check
from softmax_lib.drawings.margins import margin_of
from softmax_lib.errors import BadInput, KernelFault, NotAvailable, SoftmaxLibError
from softmax_lib.gpu.presence import has_gpu
from softmax_lib.launch_options import add_launch_words, is_any_kernel
from softmax_lib.launch_words import read_launch
from softmax_lib.registry import resolve
from softmax_lib.source import Source
from softmax_lib.xrays.xray import XRay, xray, xray_launch

CHECKED_LENGTHS = (1, 31, 127, 1000, 4096)
"""Row lengths that `check` tries: one, short of a warp, odd, ragged, and the usual one."""

WIDTH = 72
"""Characters of a line that a page shows whole."""


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise BadInput(f"%%cuda: {message}.")


def _parser() -> _Options:
    options = _Options(prog="%%cuda", add_help=False)
    options.add_argument("--rows", type=int, default=64)
    options.add_argument("--cols", type=int, default=4096)
    options.add_argument("--block-size", type=int)
    options.add_argument("--name", default="kernel")
    add_launch_words(options)
    return options


def cuda(line: str, cell: str) -> None:
    """%%cuda [--rows R --cols C --block-size B --name NAME]: check and x-ray the kernel in this cell.

    It is one `__global__` kernel (const float* x, float* y, int rows, int cols), which gets a block a
    row, or the launch of the book's kernel that it is named like. It is checked in the emulator, and
    on the GPU too when there is one. Any other kernel is x-rayed as it is launched in words, such as
    `%%cuda --grid 4 --block 256 --arg x:f32:1024 --arg 1024`. Errors are printed, not raised.
    """
    try:
        given = _parser().parse_args(shlex.split(line))
        report = _report_launch if is_any_kernel(given) else _report
        report(Source(f"{given.name}.cu", cell), given)
    except (SoftmaxLibError, ValueError) as error:
        print(error)


def _report(source: Source, given: argparse.Namespace) -> None:
    from IPython.display import display

    resolve(source)
    found: XRay | None = None
    try:
        found = xray(source, given.rows, given.cols, given.block_size)
    except NotAvailable as error:  # a GPU may run what the emulator cannot
        print(error)
    for verdict in _verdicts(source, given.block_size, found):
        print(verdict)
    if found is not None:
        print("\n".join(_hazards(found)))
        display(margin_of(found, source))


def _report_launch(source: Source, given: argparse.Namespace) -> None:
    """What an x-ray of the launch finds, and whether a GPU leaves the same in the arrays."""
    from IPython.display import display

    words, arrays = read_launch(given, source)
    before = {name: array.copy() for name, array in arrays.items()}
    found = xray_launch(**words)
    print("\n".join(_hazards(found)))
    if has_gpu() and not found.hazards:
        print("\n".join(_differences(words, before, arrays)))
    display(margin_of(found, source))


def _hazards(found: XRay) -> list[str]:
    sentences = [hazard.words for hazard in found.hazards]
    return [textwrap.fill(one, WIDTH) for one in sentences] or ["no hazard found"]


def _verdicts(source: Source, block_size: int | None, found: XRay | None) -> dict[str, None]:
    """What `check` says in the emulator, and on the GPU if it says something else there.

    A kernel with hazards stays away from the GPU: a fault there ends every later cell.
    """
    devices = [] if found is None else ["cpu"]
    if has_gpu() and (found is None or not found.hazards):
        devices.append("cuda")
    return dict.fromkeys(_verdict(source, block_size, device) for device in devices)


def _verdict(source: Source, block_size: int | None, device: str) -> str:
    try:
        result = check(source, device=device, block_size=block_size, lengths=CHECKED_LENGTHS)
    except KernelFault:
        return "check: a launch did not come to its end"
    return result.verdict


def _differences(words: dict, before: dict, after: dict) -> list[str]:
    """The arrays that a GPU leaves otherwise than the emulator did: none, but for rounding."""
    import numpy as np
    import torch

    from softmax_lib import gpu

    names = {id(array): name for name, array in after.items()}
    there = {name: torch.from_numpy(array).cuda() for name, array in before.items()}
    moved = [there[names[id(arg)]] if id(arg) in names else arg for arg in words["args"]]
    symbols = {name: there[name] for name in words["symbols"]}
    gpu.launch(**words | {"args": moved, "symbols": symbols})
    return [
        f"on the GPU {name} is another"
        for name, array in after.items()
        if not np.allclose(there[name].cpu().numpy(), array, rtol=1e-3, atol=1e-5, equal_nan=True)
    ]


def register(shell: Any) -> None:
    """Register %%cuda with this IPython."""
    shell.register_magic_function(cuda, "cell", "cuda")
