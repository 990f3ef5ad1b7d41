"""`explore`: a slider over a kernel's block sizes, with a button that launches it where that can be done."""

from __future__ import annotations

from dataclasses import dataclass

import ipywidgets as W
from markupsafe import Markup

from softmax_lib.engine.source import WARP
from softmax_lib.engine.whole_numbers import whole
from softmax_lib.engine.words import count, percent, time_in_words
from softmax_lib.gpu.presence import gpu_name
from softmax_lib.records.measurement import Case, Measurement
from softmax_lib.records.record import Record
from softmax_lib.records.shelf import readable
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, places
from softmax_lib.suites.measure import measure
from softmax_lib.widgets.boxes import Shown
from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import View
from softmax_lib.worklog.checking import check
from softmax_lib.worklog.errors import SoftmaxLibError
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.registry import find_kernel

GPU, BLOCK_SIZE = "GPU", "block size"
_BASE, _HIGHEST = 104, 100
_NO_BREAK = "\N{NO-BREAK SPACE}"
_VIEW = "<p><strong>{{ numbers }}</strong></p>{{ chart }}<p>{{ where }}</p>"


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
        sizes = sorted({size for sweep in sweeps.values() for size in sweep.offered(bool(here))})
        own = kernel.choose_block_size(cols)
    except SoftmaxLibError as error:
        note = View("", "").with_note(str(error))
        return Shown([W.HTML(note.html)], "explorer", note.fallback())
    button = W.Button(description="Measure here" if here else "Check here")
    button.add_class("worklog-live")  # the static site, where nothing answers, hides it
    shown = explorer(
        {GPU: list(sweeps), BLOCK_SIZE: sizes},
        lambda gpu, size: _show(sweeps[gpu], size),
        start=(here if here in sweeps else next(iter(sweeps)), own if own in sizes else sizes[0]),
        extra=[button],
    )

    def answer(_: W.Button) -> None:
        button.disabled = True
        try:
            shown.say(_measure(shown, sweeps, here) if here else _check(kernel, shown.choice[1]))
        except SoftmaxLibError as error:
            shown.say(str(error))
        finally:
            button.disabled = False

    button.on_click(answer)
    return shown.add_class("worklog-two-columns")


@dataclass
class BlockSizes:
    """A kernel on (rows, cols) float32: what a record has at each block size, and what is live."""

    kernel: Kernel
    rows: int
    cols: int
    record: Record
    live: dict[int, Measurement]

    @property
    def known(self) -> dict[int, Measurement]:
        """What there is, by block size: live, or else recorded."""
        timings = self.record.select(
            provider=self.kernel.name, rows=self.rows, cols=self.cols, dtype="float32", l2="cold"
        )
        sizes = {one.case.block_size: one for one in timings if one.case.block_size} | self.live
        return dict(sorted(sizes.items()))

    def at(self, block_size: int) -> Measurement:
        """What there is at `block_size`. Raises `BadInput` where that is nothing, and why."""
        self.kernel.settle_block_size(block_size, self.cols)
        if block_size in self.live:
            return self.live[block_size]
        return self.record.find(Case(self.kernel.name, self.rows, self.cols, block_size=block_size))

    def offered(self, launchable: bool) -> list[int]:
        """Block sizes to offer: those known, and with a GPU all others whose threads can hold a row.

        Raises `BadInput`, saying what is recorded, when nothing is known and nothing can be launched.
        """
        known = self.known
        if not known and not launchable:
            self.at(self.kernel.choose_block_size(self.cols))  # raises
        legal = self.kernel.legal_block_sizes(self.cols)
        return [size for size in legal if launchable or size in known]


def _sweeps(kernel: Kernel, rows: int, cols: int) -> dict[str, BlockSizes]:
    """By GPU: those with a record of this shape, or else the book's own."""
    live: dict = {}  # one measurement shows over every record
    every = {g: BlockSizes(kernel, rows, cols, record, live) for g, record in readable().items()}
    with_record = {gpu: sizes for gpu, sizes in every.items() if sizes.known}
    return with_record or dict(list(every.items())[:1])


# ---- the button


def _measure(shown: Explorer, sweeps: dict[str, BlockSizes], here: str) -> str:
    gpu, size = shown.choice
    sizes = sweeps[gpu]
    sizes.live[size] = measure(sizes.kernel.name, sizes.rows, sizes.cols, block_size=size)
    for choice in shown.leaves:
        try:
            shown.replace(choice, _show(sweeps[choice[0]], choice[1]))
        except SoftmaxLibError:
            continue  # not measured yet: it says so already
    return f"Measured on {here} at {size} threads per block."


def _check(kernel: Kernel, size: int) -> str:
    return f"{check(kernel, device='cpu', block_size=size)}. Times stay as recorded."


# ---- one block size: its time as a chart and in words


def _show(sizes: BlockSizes, block_size: int) -> View:
    """Raises `BadInput` where nothing is known of it."""
    timing = sizes.at(block_size)
    numbers = (
        f"{block_size} threads per block: {_time(timing.median_us)}, "
        f"{timing.gb_per_s:.0f}{_NO_BREAK}GB/s, {percent(timing.copy_share)} of the speed of a copy."
    )
    blocks = count(sizes.kernel.steps[0].blocks(sizes.rows, sizes.cols, block_size), "block")
    grid = f"The grid has {blocks} of {count(block_size // WARP, 'warp')}."
    where = f"{grid} {_provenance(timing, sizes)}"
    chart = Markup(draw_times(sizes.known, block_size).svg())
    html = render(_VIEW, numbers=numbers, chart=chart, where=where)
    return View(str(html), f"{numbers} {where}")


def draw_times(times: dict[int, Measurement], chosen: int) -> Drawing:
    """A bar per block size, as high as its time; a dashed line at a copy's; the chosen one stands out."""
    copy_us = times[chosen].copy_us
    told = ", ".join(f"{size}: {_time(timing.median_us)}" for size, timing in times.items())
    words = f"Time by block size; {told}. A copy takes {_time(copy_us)}."
    drawing = Drawing(_BASE + 44, words)
    scale = _HIGHEST / max(copy_us, *(timing.median_us for timing in times.values()))
    for (size, timing), (left, width) in zip(times.items(), places(len(times)), strict=True):
        high, here = timing.median_us * scale, size == chosen
        tone = "orange" if here else "green" if timing.is_live else "blue"
        drawing.boxes([(left, _BASE - high, width, high)], tone, solid=here)
        drawing.text(left + width / 2, _BASE + 14, str(size), anchor="middle", bold=here)
    level = _BASE - copy_us * scale
    drawing.line([(0, level), (WIDTH, level)], dashed=True)
    caption = f"threads per block; dashed: a copy, {_time(copy_us)}"
    drawing.text(WIDTH / 2, _BASE + 36, caption, anchor="middle")
    return drawing


def _time(time_us: float) -> str:
    return time_in_words(time_us).replace(" ", _NO_BREAK)


def _provenance(timing: Measurement, sizes: BlockSizes) -> str:
    if timing.is_live:
        others = f" The other bars were recorded on {sizes.record.where}."
        return f"Measured here, live.{others if len(sizes.known) > len(sizes.live) else ''}"
    stale = " The kernel has changed since." if timing.stale else ""
    return f"{timing.source[0].upper()}{timing.source[1:]}.{stale}"
