"""A kernel at each of its block sizes: how long it takes, as a chart and in words, and what a warp touches."""

from __future__ import annotations

import html
from dataclasses import dataclass, field

from softmax_lib.drawings.drawing import WIDTH, Drawing, places
from softmax_lib.drawings.sectors import draw_request, in_words
from softmax_lib.errors import SoftmaxLibError
from softmax_lib.measurements import recorded
from softmax_lib.records.record import Measurement
from softmax_lib.registry import Kernel
from softmax_lib.source import WARP
from softmax_lib.widgets.views import View
from softmax_lib.xrays.requests import Request, warp_requests

_BASE, _HIGHEST = 118, 96
_NO_BREAK = "\N{NO-BREAK SPACE}"
_COLS_TRACED = 1024
"""Of a row that one thread walks along: its requests look alike from first to last."""


@dataclass
class BlockSizes:
    """A kernel on (rows, cols) float32: what was recorded on a GPU at each block size, and what is live."""

    kernel: Kernel
    rows: int
    cols: int
    gpu: str
    live: dict[int, Measurement] = field(default_factory=dict)

    @property
    def known(self) -> dict[int, Measurement]:
        """What there is, by block size: live, or else recorded."""
        rows = recorded(self.gpu).select(
            provider=self.kernel.name, rows=self.rows, cols=self.cols, dtype="float32", l2="cold"
        )
        found = {row.block_size: row for row in rows if row.block_size} | self.live
        return {size: found[size] for size in sorted(found)}

    def at(self, block_size: int) -> Measurement:
        """What there is at `block_size`. Raises `BadInput` where that is nothing, and why."""
        self.kernel.settle_block_size(block_size, self.cols)
        if block_size in self.live:
            return self.live[block_size]
        return recorded(self.gpu).find(
            self.kernel.name, self.rows, self.cols, "float32", block_size, "cold"
        )

    def view(self, block_size: int) -> View:
        """Numbers, chart and picture for `block_size`. Raises `BadInput` as `at` does."""
        row = self.at(block_size)
        numbers, where = _numbers(row), f"{_grid(self, block_size)} {_provenance(row, self)}"
        chart = draw_times(self.known, block_size).svg()
        touched = _touched(self.kernel, self.rows, self.cols, block_size)
        paragraphs = f"<p><strong>{numbers}</strong></p>{chart}<p>{html.escape(where)}</p>"
        return View(paragraphs + touched.html, f"{numbers} {where} {touched.text}")


def draw_times(times: dict[int, Measurement], chosen: int) -> Drawing:
    """A bar a block size, as high as its time; a dashed line at a copy's; the chosen one stands out."""
    copy_us = times[chosen].copy_us
    told = ", ".join(f"{size}: {time_in_words(row.median_us)}" for size, row in times.items())
    words = f"Time by block size; {told}. A copy takes {time_in_words(copy_us)}."
    drawing = Drawing(_BASE + 44, words)
    scale = _HIGHEST / max(copy_us, *(row.median_us for row in times.values()))
    for (size, row), (left, width) in zip(times.items(), places(len(times)), strict=True):
        high = row.median_us * scale
        tone = "orange" if size == chosen else "green" if row.is_live else "blue"
        drawing.boxes([(left, _BASE - high, width, high)], tone, solid=size == chosen)
        if size == chosen:
            time = time_in_words(row.median_us)
            middle = min(max(left + width / 2, 28), WIDTH - 28)
            drawing.text(middle, _BASE - high - 6, time, bold=True, size=13)
        drawing.text(left + width / 2, _BASE + 14, str(size), size=12, bold=size == chosen)
    level = _BASE - copy_us * scale
    drawing.line([(0, level), (WIDTH, level)], dashed=True)
    drawing.text(
        WIDTH / 2, _BASE + 36, f"threads a block; dashed: a copy, {time_in_words(copy_us)}", size=12
    )
    return drawing


def time_in_words(time_us: float) -> str:
    """Three digits and a unit: "65.1 µs", "10.4 ms"."""
    value, unit = (time_us, "µs") if time_us < 1000 else (time_us / 1000, "ms")
    return f"{value:.{max(0, 3 - len(str(int(value))))}f}{_NO_BREAK}{unit}"


def _numbers(row: Measurement) -> str:
    return (
        f"{row.block_size} threads a block: {time_in_words(row.median_us)}, "
        f"{row.gb_per_s:.0f}{_NO_BREAK}GB/s, {row.copy_share:.0%} of the speed of a copy."
    )


def _grid(sizes: BlockSizes, block_size: int) -> str:
    blocks = sizes.kernel.steps[0].blocks(sizes.rows, sizes.cols, block_size)
    warps = block_size // WARP
    return f"The grid has {_count(blocks, 'block')} of {_count(warps, 'warp')}."


def _provenance(row: Measurement, sizes: BlockSizes) -> str:
    if row.is_live:
        others = f" The other bars were recorded on {recorded(sizes.gpu).where}."
        return f"Measured here, live.{others if len(sizes.known) > len(sizes.live) else ''}"
    stale = " The kernel has changed since." if row.stale else ""
    return f"{row.source[0].upper()}{row.source[1:]}.{stale}"


def _touched(kernel: Kernel, rows: int, cols: int, block_size: int) -> View:
    """A warp's first request, and where its next one lies; a sentence where nothing can be traced."""
    walks = kernel.steps[0].grid == "thread a row"
    traced_cols = min(cols, _COLS_TRACED) if walks else cols
    try:
        requests = warp_requests(kernel, rows, traced_cols, block_size)
    except SoftmaxLibError as error:
        return View(f"<p>{html.escape(str(error))}</p>", str(error))
    words = f"A warp's first request. {in_words(requests[0])}{_next(requests)}"
    if traced_cols < cols:
        words += f" Traced on rows of {traced_cols} floats."
    return View(f"{draw_request(requests[0]).svg()}<p>{html.escape(words)}</p>", words)


def _next(requests: list[Request]) -> str:
    if len(requests) == 1:
        return ""
    first, second = (request.addresses[0] for request in requests[:2])
    return f" The next one lies {second - first} bytes further on."


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def choices(sizes: BlockSizes, launchable: bool) -> list[int]:
    """Block sizes to offer: those known, those impossible, which say why, and with a GPU all others.

    Raises `BadInput`, saying what is recorded, when nothing is known and nothing can be launched.
    """
    kernel, known = sizes.kernel, sizes.known
    if not known and not launchable:
        sizes.at(kernel.choose_block_size(sizes.cols))  # raises
    return [
        size
        for size in kernel.block_sizes
        if launchable or size in known or sizes.cols > kernel.max_cols(size)
    ]
