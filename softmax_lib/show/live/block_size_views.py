"""One block size of a kernel: its time as a chart and in words."""

from __future__ import annotations

from markupsafe import Markup

from softmax_lib.engine.source import WARP
from softmax_lib.engine.words import count, percent, time_in_words
from softmax_lib.records.measurement import Measurement
from softmax_lib.show.drawings.drawing import WIDTH, Drawing, places
from softmax_lib.show.live.block_sizes import BlockSizes
from softmax_lib.widgets.markup import render
from softmax_lib.widgets.views import View

_BASE, _HIGHEST = 104, 100
_NO_BREAK = "\N{NO-BREAK SPACE}"
_VIEW = "<p><strong>{{ numbers }}</strong></p>{{ chart }}<p>{{ where }}</p>"


def show_block_size(sizes: BlockSizes, block_size: int) -> View:
    """Numbers and chart for `block_size`. Raises `BadInput` where nothing is known of it."""
    timing = sizes.at(block_size)
    numbers, where = _numbers(timing), f"{_grid(sizes, block_size)} {_provenance(timing, sizes)}"
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
        high = timing.median_us * scale
        tone = "orange" if size == chosen else "green" if timing.is_live else "blue"
        drawing.boxes([(left, _BASE - high, width, high)], tone, solid=size == chosen)
        drawing.text(left + width / 2, _BASE + 14, str(size), anchor="middle", bold=size == chosen)
    level = _BASE - copy_us * scale
    drawing.line([(0, level), (WIDTH, level)], dashed=True)
    caption = f"threads per block; dashed: a copy, {_time(copy_us)}"
    drawing.text(WIDTH / 2, _BASE + 36, caption, anchor="middle")
    return drawing


def _time(time_us: float) -> str:
    return time_in_words(time_us).replace(" ", _NO_BREAK)


def _numbers(timing: Measurement) -> str:
    return (
        f"{timing.case.block_size} threads per block: {_time(timing.median_us)}, "
        f"{timing.gb_per_s:.0f}{_NO_BREAK}GB/s, {percent(timing.copy_share)} of the speed of a copy."
    )


def _grid(sizes: BlockSizes, block_size: int) -> str:
    blocks = sizes.kernel.steps[0].blocks(sizes.rows, sizes.cols, block_size)
    return f"The grid has {count(blocks, 'block')} of {count(block_size // WARP, 'warp')}."


def _provenance(timing: Measurement, sizes: BlockSizes) -> str:
    if timing.is_live:
        others = f" The other bars were recorded on {sizes.record.where}."
        return f"Measured here, live.{others if len(sizes.known) > len(sizes.live) else ''}"
    stale = " The kernel has changed since." if timing.stale else ""
    return f"{timing.source[0].upper()}{timing.source[1:]}.{stale}"
