"""`explore`: a slider over a kernel's block sizes, with a button that launches it where that can be done."""

from __future__ import annotations

import ipywidgets as W
import torch

from softmax_lib.errors import SoftmaxLibError
from softmax_lib.live.block_sizes import BlockSizes, choices
from softmax_lib.measurements import DEFAULT_GPU, available, measure, recorded
from softmax_lib.reference import check
from softmax_lib.registry import Kernel, find_kernel
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.stepping import Shown
from softmax_lib.widgets.views import View

GPU, BLOCK_SIZE = "GPU", "block size"


def explore(name: str, rows: int = 1024, cols: int = 32768) -> Shown:
    """Move through the block sizes of a kernel on a (rows, cols) float32 matrix.

    Shows time, bandwidth and share of a copy's speed as recorded, and what a warp touches. On a GPU
    the button "Measure here" launches the kernel and puts the time in place of the recorded one;
    elsewhere "Check here" runs it in the emulator against float64, and times stay as recorded.
    Without a record for the shape it is one sentence. Raises `UnknownKernel`.
    """
    kernel = find_kernel(name)
    try:
        sweeps = _sweeps(kernel, rows, cols)
        sizes = choices(next(iter(sweeps.values())), torch.cuda.is_available())
        start = kernel.choose_block_size(cols)
    except SoftmaxLibError as error:
        note = View("", "").with_note(str(error))
        return Shown([W.HTML(note.html)], "explorer", note.fallback())
    here = _gpu_here()
    first = here if here in sweeps else next(iter(sweeps))
    shown = explorer(
        {GPU: list(sweeps), BLOCK_SIZE: sizes},
        lambda gpu, size: sweeps[gpu].view(size),
        start=(first, start if start in sizes else sizes[0]),
    )
    _add_button(shown, kernel, sweeps)
    return shown


def _sweeps(kernel: Kernel, rows: int, cols: int) -> dict[str, BlockSizes]:
    """By GPU: those with a record of this shape, or else the book's own."""
    live: dict = {}  # one measurement shows over every record
    names = [recorded(gpu).gpu for gpu in (DEFAULT_GPU, *available())]
    every = {gpu: BlockSizes(kernel, rows, cols, gpu, live) for gpu in dict.fromkeys(names)}
    with_record = {gpu: sizes for gpu, sizes in every.items() if sizes.known}
    return with_record or dict(list(every.items())[:1])


def _gpu_here() -> str:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else ""


def _add_button(shown: Explorer, kernel: Kernel, sweeps: dict[str, BlockSizes]) -> None:
    """Put a button under the sliders; the static site, where nothing answers, hides it by its class."""
    has_gpu = torch.cuda.is_available()
    button = W.Button(description="Measure here" if has_gpu else "Check here")
    button.add_class("worklog-live")
    act = _measure if has_gpu else _check

    def clicked(_: W.Button) -> None:
        button.disabled = True
        try:
            act(shown, kernel, sweeps)
        except SoftmaxLibError as error:
            shown.say(str(error))
        finally:
            button.disabled = False

    button.on_click(clicked)
    sliders = len(shown.sliders)
    shown.children = (*shown.children[:sliders], button, *shown.children[sliders:])
    shown.on_choice(lambda choice: None)  # a move takes the last sentence away


def _measure(shown: Explorer, kernel: Kernel, sweeps: dict[str, BlockSizes]) -> None:
    gpu, size = shown.choice
    sizes = sweeps[gpu]
    sizes.live[size] = measure(kernel.name, sizes.rows, sizes.cols, block_size=size)
    for choice in shown.leaves:
        try:
            shown.replace(choice, sweeps[choice[0]].view(choice[1]))
        except SoftmaxLibError:
            continue  # impossible, or not measured yet: it says so already
    shown.say(f"Measured on {_gpu_here()} at {size} threads a block.")


def _check(shown: Explorer, kernel: Kernel, sweeps: dict[str, BlockSizes]) -> None:
    _, size = shown.choice
    shown.say(f"{check(kernel, device='cpu', block_size=size)}. Times stay as recorded.")
