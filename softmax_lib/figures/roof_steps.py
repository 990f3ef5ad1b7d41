"""The roofline, built in steps: axes, slope, roof and one point; and what it allows at one place."""

from __future__ import annotations

from matplotlib.axes import Axes

from softmax_lib.errors import BadInput
from softmax_lib.figures.look import (
    BLUE,
    INK,
    Figure,
    drawn,
    finish,
    logarithmic,
    mark,
    note,
    provenance,
    start,
)
from softmax_lib.figures.roofs import FLOPS_AN_ELEMENT, LEFT, RIGHT, bytes_an_element, gflops
from softmax_lib.records.cited import FLOAT32_PEAKS
from softmax_lib.records.measurement import Measurement
from softmax_lib.records.record import Record
from softmax_lib.records.shelf import DEFAULT_GPU, file_stem, recorded
from softmax_lib.registry import kernels

ROOFLINE_STEPS = ("empty axes", "the slope", "the roof", "one point")
"""What each step of the picture adds."""

_BOTTOM, _TOP = 100.0, 200_000.0


@drawn
def roofline_step(
    step: str,
    name: str = "unfused",
    rows: int = 1024,
    cols: int = 32768,
    *,
    gpu: str = DEFAULT_GPU,
) -> Figure:
    """The roofline up to `step`, one of `ROOFLINE_STEPS`; its one point is the kernel `name`.

    Raises `BadInput` for another step, and for a shape or kernel never recorded.
    """
    if step not in ROOFLINE_STEPS:
        raise BadInput(f"{step} is no step of the roofline; they are {', '.join(ROOFLINE_STEPS)}.")
    drawn_steps = ROOFLINE_STEPS[1 : ROOFLINE_STEPS.index(step) + 1]
    record = recorded(gpu)
    timing = _timing(record, name, rows, cols)
    flops_per_s, cited = _peak(record)
    figure, axes = _empty_axes(f"Roofline, {step}")
    told = [
        "Roofline: FLOP per byte to the right, GFLOP/s upwards, each ten times as much at equal steps"
    ]
    if "the slope" in drawn_steps:
        top = _TOP if "the roof" not in drawn_steps else flops_per_s
        told.append(_slope(axes, timing.copy_gb_per_s, top))
    if "the roof" in drawn_steps:
        axes.plot([flops_per_s / timing.copy_gb_per_s, RIGHT], [flops_per_s] * 2, color=INK)
        told.append(cited)
    if "one point" in drawn_steps:
        told.append(_point(axes, record, timing))
    return finish(figure, "; ".join(told), provenance([timing]))


@drawn
def roofline_limit(
    flop_per_byte: float, rows: int = 1024, cols: int = 32768, *, gpu: str = DEFAULT_GPU
) -> Figure:
    """The most FLOP per second that slope and roof allow at so many FLOP per byte.

    Raises `BadInput` for a number beside the picture, and for a shape never recorded.
    """
    if not LEFT <= flop_per_byte <= RIGHT:
        raise BadInput(f"{flop_per_byte:g} is not between {LEFT:g} and {RIGHT:g} FLOP per byte.")
    record = recorded(gpu)
    timing = _timing(record, None, rows, cols)
    flops_per_s, cited = _peak(record)
    by_memory = flop_per_byte * timing.copy_gb_per_s
    limit = min(by_memory, flops_per_s)
    what = "memory" if by_memory <= flops_per_s else "arithmetic"
    figure, axes = _empty_axes(f"The limit at {flop_per_byte:g} FLOP per byte")
    slope = _slope(axes, timing.copy_gb_per_s, flops_per_s)
    axes.plot([flops_per_s / timing.copy_gb_per_s, RIGHT], [flops_per_s] * 2, color=INK)
    axes.plot([flop_per_byte] * 2, [_BOTTOM, limit], color=BLUE, linestyle="--")
    axes.plot(flop_per_byte, limit, "o", color=BLUE, markersize=9)
    words = f"at most {limit:,.0f} GFLOP/s, by {what}"
    figure.suptitle(words, x=0, ha="left", color=BLUE, fontsize=11)
    alt = f"At {flop_per_byte:g} FLOP per byte {words}"
    return finish(figure, alt, provenance([timing]), slope, cited)


def _empty_axes(title: str) -> tuple[Figure, Axes]:
    figure = start(title, 3.8)
    axes = figure.subplots()
    logarithmic(axes, "x")
    logarithmic(axes, "y", "{:,.0f}".format)
    axes.set(xlim=(LEFT, RIGHT), ylim=(_BOTTOM, _TOP), xlabel="FLOP per byte", ylabel="GFLOP/s")
    return figure, axes


def _timing(record: Record, name: str | None, rows: int, cols: int) -> Measurement:
    """The time of the kernel, or of any that has a copy beside it."""
    times = record.times(rows, cols)
    where = f"on ({rows}, {cols}) on {record.gpu}"
    ours = [timing for provider, timing in times.items() if provider in kernels]
    if not ours:
        raise BadInput(f"No rung was recorded {where}.")
    if name is None:
        return ours[0]
    if name not in times:
        raise BadInput(f"{name} was not recorded {where}.")
    return times[name]


def _peak(record: Record) -> tuple[float, str]:
    """GFLOP/s of the flat part, far above the picture where nobody is cited; and whose figure it is."""
    peak = FLOAT32_PEAKS.get(file_stem(record.gpu))
    if peak is None:
        return 10 * _TOP, "no flat part: the peak of this GPU's arithmetic is not among those cited"
    flat = f"flat: {peak.flops / 1e12:g} TFLOP/s, from {peak.source}, not measured"
    return peak.flops / 1e9, flat


def _slope(axes: Axes, copy_gb_per_s: float, top: float) -> str:
    axes.plot([LEFT, top / copy_gb_per_s], [LEFT * copy_gb_per_s, top], color=INK)
    return f"slope: a copy, {copy_gb_per_s:.0f} GB/s"


def _point(axes: Axes, record: Record, timing: Measurement) -> str:
    """One kernel, with its height over that of the line above it."""
    moved, what = bytes_an_element(record, [timing])
    at = FLOPS_AN_ELEMENT / moved[timing.case.provider], gflops(timing)
    share = at[1] / (at[0] * timing.copy_gb_per_s)
    axes.plot(*at, **{**mark(timing.case.provider), "linestyle": ""}, markersize=9)
    note(axes, f"{timing.label}: {share:.0%} of the line", at, (14, -8))
    place = f"{at[0]:.2f} FLOP per byte {what}, {at[1]:.0f} GFLOP/s"
    return f"{timing.label} {place}, {share:.0%} of the line above it"
