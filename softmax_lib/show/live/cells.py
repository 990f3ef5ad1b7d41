"""The cell magics %%cuda and %%triton: a kernel in a cell, checked and x-rayed, or compiled, when the cell runs.

`%load_ext softmax_lib` registers them. What they show is the same on every machine: verdicts and
counts, no times and no error digits.
"""

from __future__ import annotations

import argparse
import io
import math
import re
import shlex
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from softmax_lib.engine.source import Source
from softmax_lib.engine.words import PAGE_WIDTH, count, percent, plural
from softmax_lib.engine.xrays.machine_path import ARCH
from softmax_lib.engine.xrays.result import XRay
from softmax_lib.gpu.presence import has_gpu
from softmax_lib.show.drawings.margins import margin_of
from softmax_lib.worklog import tiles
from softmax_lib.worklog.checking import CheckResult, check
from softmax_lib.worklog.errors import BadInput, KernelFault, NotAvailable, SoftmaxLibError
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.launch_words import (
    add_launch_words,
    is_any_kernel,
    read_define,
    read_launch,
)
from softmax_lib.worklog.operators import OperatorWords
from softmax_lib.worklog.reads import reads, row_reads
from softmax_lib.worklog.registry import notes_on, resolve
from softmax_lib.worklog.xray import xray, xray_launch

CHECKED_LENGTHS = (1, 31, 127, 1000, 4096)
"""Row lengths that `check` tries: one, short of a warp, odd, ragged, and the usual one."""

MOST_LINES, MOST_CHARACTERS = 100, 1000
"""Of what a kernel prints: lines, and characters of each, that a cell shows."""


class Options(argparse.ArgumentParser):
    """The words behind a cell magic, of which what is wrong is an error of this package."""

    def error(self, message: str) -> Any:
        raise BadInput(f"{self.prog}: {message}.")


def read_line(line: str) -> argparse.Namespace:
    """What the words behind %%cuda say. Raises `BadInput` or `ValueError`."""
    options = Options(prog="%%cuda", add_help=False)
    options.add_argument("--rows", type=int, default=64)
    options.add_argument("--cols", type=int, default=4096)
    options.add_argument("--block-size", type=int)
    options.add_argument("--name", type=_name, default="kernel")
    options.add_argument("--brief", action="store_true")
    options.add_argument("--operator", metavar="NAME")
    add_launch_words(options)
    return options.parse_args(shlex.split(line))


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_]{1,100}", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no name; it takes up to 100 letters, digits and underscores"
        )
    return text


def softmax_in(source: Source, given: argparse.Namespace) -> Kernel:
    """The kernel of a cell that is launched as a softmax, with its macros as the line sets them. Raises `BadInput`."""
    return resolve(source).setting(**dict(map(read_define, given.defines)))


def cuda(line: str, cell: str) -> None:
    """%%cuda [--rows R --cols C --block-size B --define NAME=N --name NAME --operator WORDS --brief]: check and x-ray the kernel in this cell.

    It is one `__global__` kernel (const float* x, float* y, int rows, int cols), which gets a block a
    row, or the launch of the book's kernel that it is named like, with `--define UNROLL=8` for a macro of
    that. It is checked in the emulator, and on the GPU too when there is one. Any other kernel is x-rayed as
    it is launched in words, such as `%%cuda --grid 4 --block 256 --arg x:f32:1024 --arg 1024`; its arrays are
    then the notebook's, by their names. With `--operator` it computes what the notebook's dictionary of that name says
    in the words of `check`, its reference among them. A `--name` is then the notebook's name for the source. `--brief` sums the counts up, in place of the text with what each
    line asks for. Errors are printed, not raised.
    """
    from IPython import get_ipython

    try:
        given = read_line(line)
        report = _report_launch if is_any_kernel(given) else _report
        source = Source(f"{given.name}.cu", cell)
        if given.name.isidentifier() and given.name != "kernel":
            get_ipython().push({given.name: source})
        report(source, given)
    except (SoftmaxLibError, ValueError) as error:
        told = str(error)
        print(told) if "\n" in told else _tell(told)


def _tell(*sentences: str) -> None:
    for sentence in sentences:
        print(textwrap.fill(sentence, PAGE_WIDTH))


def _operator_words(name: str | None) -> dict[str, Any]:
    """The notebook's dictionary of this name, nothing for none. Raises `BadInput`."""
    from IPython import get_ipython

    words = get_ipython().user_ns.get(name) if name else {}
    if not isinstance(words, dict):
        raise BadInput(
            f"--operator {name}: this notebook has no dictionary of that name, such as "
            f"{name} = dict(reference=..., inputs={{...}})."
        )
    known = {"reference", "grid", "block_size", *OperatorWords.__annotations__}
    for word in words.keys() - known:
        raise BadInput(f"--operator {name}: check knows no word {word!r:.40}.")
    return words


def _report(source: Source, given: argparse.Namespace) -> None:
    words, found = dict(_operator_words(given.operator)), None
    kernel = None if words else softmax_in(source, given)
    own_size = words.pop("block_size", None)
    block_size = given.block_size or own_size
    check_it = partial(check, kernel or source, block_size=block_size, **words)
    try:
        with _short_output():
            found = xray(kernel or source, given.rows, given.cols, block_size, **words)
    except NotAvailable as error:  # a GPU may run what the emulator cannot
        print(error)
    hazards = [one.words for one in found.hazards] if found else []
    notes = _notes(kernel, found, given.brief)
    _tell(*(() if hazards else notes))
    verdicts, has_faulted = _verdicts(check_it, found)
    _tell(*((*verdicts, *hazards) if has_faulted else (*hazards, *verdicts)))
    _tell(*(notes if hazards else ()))
    if found and not has_faulted:
        _show_counts(kernel, found, source, given.brief)


def _notes(kernel: Kernel | None, found: XRay | None, is_brief: bool) -> tuple[str, ...]:
    """What has to be known of a launch; of how it was counted only where counts are shown."""
    own = notes_on(kernel) if kernel else ()
    if found is None or (found.hazards_sought and not found.total["bytes_moved"]):
        return own
    return own if found.has_stopped or (is_brief and found.hazards) else found.notes


def _show_counts(kernel: Kernel | None, found: XRay, source: Source, is_brief: bool) -> None:
    """That no hazard was found, and what the launch asks for; nothing of a launch that was cut off."""
    from IPython.display import display

    if found.hazards_sought and not found.hazards:
        print("no hazard found")
    if found.has_stopped or (is_brief and found.hazards):
        return
    if is_brief:
        print("\n".join(_in_brief(kernel, found)))
    else:
        display(margin_of(found, source))


def _in_brief(kernel: Kernel | None, found: XRay) -> Iterator[str]:
    """What a kernel asks of memory in all, and a softmax has in flight per thread where machine code can be had."""
    asked, moved = found.total["bytes_asked"], found.total["bytes_moved"]
    times = asked / (found.item_bytes * (found.rows or 1) * (found.cols or 1))
    barriers = found.total["barriers"] / found.blocks
    if not moved:
        yield "nothing asked of memory"
        return
    of_it = f", {times:.3g} times the matrix" if found.rows else ""
    yield f"{asked:,} bytes asked for{of_it}; of {moved:,} moved {percent(1 - asked / moved)} are wasted"
    yield f"{barriers:g} {plural(barriers, 'barrier')} per block"
    if kernel is None:
        yield f"{found.total['shuffles']:,} shuffles"
        return
    with suppress(SoftmaxLibError):
        loops = row_reads(reads(kernel, found.block_size, found.cols or 1, ARCH))
        sizes = " and ".join(dict.fromkeys(str(loop.asked_bytes) for loop in loops))
        yield f"in flight: {sizes} bytes a thread before it waits (machine code for sm_{ARCH})"


@contextmanager
def _short_output(lines: int = MOST_LINES) -> Iterator[None]:
    """Of what kernels print meanwhile, the first `lines` lines, and how many are left out."""
    with redirect_stdout(io.StringIO()) as printed:
        yield
    text = printed.getvalue().splitlines()
    if lines and text:
        print("\n".join(line[:MOST_CHARACTERS] for line in text[:lines]))
    if lines and len(text) > lines:
        print(f"... and {count(len(text) - lines, 'line')} more, which this page does not show.")


def _report_launch(source: Source, given: argparse.Namespace) -> None:
    """What an x-ray of the launch finds, and whether a GPU leaves the same in the arrays."""
    from IPython import get_ipython

    words, arrays = read_launch(given, source)
    get_ipython().push(arrays)
    before = {name: array.copy() for name, array in arrays.items()}
    with _short_output():
        found = xray_launch(**words)
    _tell(*_notes(None, found, given.brief), *(one.words for one in found.hazards))
    _show_counts(None, found, source, given.brief)
    if has_gpu() and not found.hazards:
        print("\n".join(_differences(words, before, arrays)))


def _verdicts(
    check_it: Callable[..., CheckResult], found: XRay | None
) -> tuple[dict[str, None], bool]:
    """What `check` says in the emulator, and on the GPU if it says something else there; and whether it met a fault.

    Of a kernel that an x-ray's launch has stopped it isn't asked. A kernel with hazards, or one that faulted, stays away from the GPU: a fault there ends every later cell.
    """
    said: list[str] = []
    has_faulted = False
    if found and not found.has_stopped:
        try:
            said.append(_verdict(check_it, "cpu"))
        except KernelFault as fault:
            has_faulted = True
            said.append(f"check: {fault.told}")
    if has_gpu() and not has_faulted and not (found and found.hazards):
        said.append(_verdict(check_it, "cuda"))
    return dict.fromkeys(said), has_faulted


def _verdict(check_it: Callable[..., CheckResult], device: str) -> str:
    with _short_output(lines=0):
        result = check_it(device=device, lengths=CHECKED_LENGTHS)
    wrong = next(iter(result.wrong), None)
    if wrong is None or not wrong.row_name:
        return result.verdict
    is_nan = wrong.value is None or wrong.due is None or math.isnan(wrong.value)
    y = "NaN" if is_nan else f"{wrong.value:.3g} in place of {wrong.due:.3g}"
    return f"{result.verdict}, in a row that is {wrong.row_name!r}, where y is {y}"


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


def triton(line: str, cell: str) -> None:
    """%%triton [--cols C --num-warps W]: check the softmax in this cell, and compile it for rows of C floats.

    It is checked on the GPU, or without one in Triton's interpreter; it is compiled for sm_90 on any machine.
    Errors are printed, not raised.
    """
    options = Options(prog="%%triton", add_help=False)
    options.add_argument("--cols", type=int, default=1024)
    options.add_argument("--num-warps", type=int)
    try:
        given = options.parse_args(shlex.split(line))
        kernel = tiles.find(f"{cell}\n")
        kernel = replace(kernel, name=kernel.entry)
        _tell(tiles.check(kernel).verdict)
        code = tiles.compile_tile(kernel, given.cols, num_warps=given.num_warps)
    except (SoftmaxLibError, ValueError) as error:
        print(error)
        return
    loads = " and ".join(f"{count(n, 'load')} of {size} bytes" for size, n in code.loads.items())
    print(
        f"{given.cols:,} columns, {count(code.setting.num_warps, 'warp')}: each thread has {loads}, "
        f"and {count(code.registers, 'register')}"
    )
