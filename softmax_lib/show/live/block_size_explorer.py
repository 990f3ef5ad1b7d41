"""`explore`: a slider over a kernel's block sizes, with a button that launches it where that can be done."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as W

from softmax_lib.engine.whole_numbers import whole
from softmax_lib.gpu.presence import gpu_name
from softmax_lib.records.shelf import readable
from softmax_lib.show.live.block_size_views import show_block_size
from softmax_lib.show.live.block_sizes import BlockSizes
from softmax_lib.suites.measure import measure
from softmax_lib.widgets.boxes import Shown
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.views import View
from softmax_lib.worklog.checking import check
from softmax_lib.worklog.errors import SoftmaxLibError
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.registry import find_kernel

GPU, BLOCK_SIZE = "GPU", "block size"


def explore(name: str, rows: int = 1024, cols: int = 32768) -> Shown:
    """Move through the block sizes of a kernel on a (rows, cols) float32 matrix.

    Shows time, bandwidth and share of a copy's speed as recorded. On a GPU
    the button "Measure here" launches the kernel and puts the time in place of the recorded one;
    elsewhere "Check here" runs it in the emulator against float64, and times stay as recorded.
    Without a record for the shape it is one sentence. Raises `UnknownKernel`
    or `WrongType`.
    """
    rows, cols = whole("rows", rows), whole("cols", cols)
    kernel, here = find_kernel(name), gpu_name()
    try:
        sweeps = _sweeps(kernel, rows, cols)
        offered = {size for sweep in sweeps.values() for size in sweep.offered(bool(here))}
        sizes = sorted(offered)
        own = kernel.choose_block_size(cols)
    except SoftmaxLibError as error:
        note = View("", "").with_note(str(error))
        return Shown([W.HTML(note.html)], "explorer", note.fallback())
    button = W.Button(description="Measure here" if here else "Check here")
    button.add_class("worklog-live")  # the static site, where nothing answers, hides it
    shown = explorer(
        {GPU: list(sweeps), BLOCK_SIZE: sizes},
        lambda gpu, size: show_block_size(sweeps[gpu], size),
        start=(here if here in sweeps else next(iter(sweeps)), own if own in sizes else sizes[0]),
        extra=[button],
    )
    shown.add_class("worklog-two-columns")
    act = (lambda: _measure(shown, sweeps, here)) if here else (lambda: _check(shown, kernel))
    button.on_click(lambda _: _answer(button, shown, act))
    return shown


def _sweeps(kernel: Kernel, rows: int, cols: int) -> dict[str, BlockSizes]:
    """By GPU: those with a record of this shape, or else the book's own."""
    live: dict = {}  # one measurement shows over every record
    every = {g: BlockSizes(kernel, rows, cols, record, live) for g, record in readable().items()}
    with_record = {gpu: sizes for gpu, sizes in every.items() if sizes.known}
    return with_record or dict(list(every.items())[:1])


def _answer(button: W.Button, shown: Explorer, act: Callable[[], str]) -> None:
    """Do what the button is for, and say how it went."""
    button.disabled = True
    try:
        shown.say(act())
    except SoftmaxLibError as error:
        shown.say(str(error))
    finally:
        button.disabled = False


def _measure(shown: Explorer, sweeps: dict[str, BlockSizes], here: str) -> str:
    gpu, size = shown.choice
    sizes = sweeps[gpu]
    sizes.live[size] = measure(sizes.kernel.name, sizes.rows, sizes.cols, block_size=size)
    for choice in shown.leaves:
        try:
            shown.replace(choice, show_block_size(sweeps[choice[0]], choice[1]))
        except SoftmaxLibError:
            continue  # not measured yet: it says so already
    return f"Measured on {here} at {size} threads per block."


def _check(shown: Explorer, kernel: Kernel) -> str:
    _, size = shown.choice
    return f"{check(kernel, device='cpu', block_size=size)}. Times stay as recorded."
