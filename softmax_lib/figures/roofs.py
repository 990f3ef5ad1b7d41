"""The roofline: what memory and arithmetic allow, and where each rung stands below."""

from __future__ import annotations

import contextlib

from matplotlib.axes import Axes

from softmax_lib.errors import BadInput
from softmax_lib.figures.look import (
    GREY,
    INK,
    Figure,
    drawn,
    finish,
    legend,
    logarithmic,
    mark,
    not_yet,
    note,
    provenance,
    start,
)
from softmax_lib.records.cited import FLOAT32_PEAKS
from softmax_lib.records.measurement import Measurement
from softmax_lib.records.record import Record
from softmax_lib.records.shelf import DEFAULT_GPU, file_stem, recorded
from softmax_lib.registry import kernels

FLOPS_AN_ELEMENT = 5
"""Compare, subtract, exponential, add, divide: what softmax needs, whatever else a kernel repeats."""

MATRIX_PRODUCT = 1024
"""Rows and columns of the square float32 product that softmax is compared with."""

LEFT, RIGHT = 0.1, 1000.0


def matrix_product_flop_per_byte(size: int = MATRIX_PRODUCT) -> float:
    """FLOP per byte of a square float32 product whose three matrices move once."""
    return 2 * size**3 / (3 * 4 * size**2)


@drawn
def roofline(
    rows: int = 1024,
    cols: int = 32768,
    *,
    highlight: str | None = None,
    gpu: str = DEFAULT_GPU,
) -> Figure:
    """Each rung by its FLOP per byte and its FLOP per second, under the roof of this GPU.

    The slope is a copy as measured, the flat part the maker's figure, where it is known. With
    `highlight` one rung or foil is ringed and named. Raises `BadInput` for a shape or kernel never
    recorded.
    """
    record = recorded(gpu)
    times = record.times(rows, cols)
    wanted = [k.name for k in kernels.values() if not k.foil or k.name == highlight]
    shown = [times[name] for name in wanted if name in times]
    where = f"on ({rows}, {cols}) on {record.gpu}"
    if not shown:
        raise BadInput(f"No rung was recorded {where}.")
    if highlight not in (None, *(timing.case.provider for timing in shown)):
        raise BadInput(f"{highlight} was not recorded {where}.")
    copy_gb_per_s = shown[0].copy_gb_per_s
    moved, what = bytes_an_element(record, shown)
    figure = start(f"Roofline, {rows} × {cols} floats", 4.2)
    axes = figure.subplots()
    cited = _roof(axes, copy_gb_per_s, file_stem(record.gpu))
    told = []
    for timing in shown:
        flop_per_byte = FLOPS_AN_ELEMENT / moved[timing.case.provider]
        point = (flop_per_byte, gflops(timing))
        share = f"{point[1] / (flop_per_byte * copy_gb_per_s):.0%} of the roof"
        _point(axes, timing, point, highlight, share)
        told.append(f"{timing.label} {point[0]:.2f} FLOP per byte, {point[1]:.0f} GFLOP/s, {share}")
    logarithmic(axes, "x")
    logarithmic(axes, "y")
    axes.margins(y=0.12)  # room for the words under the lowest point
    axes.set(xlim=(LEFT, RIGHT), xlabel=f"FLOP per byte {what}", ylabel="GFLOP/s")
    legend(figure)
    product = f"{MATRIX_PRODUCT} × {MATRIX_PRODUCT} matrix product at {matrix_product_flop_per_byte():.0f}"
    alt = f"Roofline, by FLOP per byte {what}: {'; '.join(told)}; a {product} FLOP per byte"
    slope = f"slope: a copy in the same run, {copy_gb_per_s:.0f} GB/s"
    return finish(figure, alt, f"{provenance(shown)}; {slope}", cited, not_yet(record, wanted))


def bytes_an_element(record: Record, shown: list[Measurement]) -> tuple[dict[str, float], str]:
    """Bytes that each rung moves for an element, and in words where they were counted.

    At DRAM, by ncu, where all were profiled, and at least one read and one write: of what a single
    launch has written, some is still in L2 when counting ends. Otherwise what the kernels ask for.
    """
    case = shown[0].case
    elements = case.rows * case.cols
    least = 2 * case.matrix_bytes
    at_dram = {}
    with contextlib.suppress(BadInput):  # not profiled
        for name, profile in record.profiles_on(*case.shape).items():
            moved = profile.counters["dram_read_bytes"] + profile.counters["dram_write_bytes"]
            at_dram[name] = max(least, moved) / elements
    names = [timing.case.provider for timing in shown]
    if all(name in at_dram for name in names):
        return at_dram, "at DRAM"
    return {name: 4.0 * sum(kernels[name].traffic(case.cols)) for name in names}, "asked for"


def _roof(axes: Axes, copy_gb_per_s: float, stem: str) -> str:
    """Draw slope and flat part; where the flat part comes from."""
    peak = FLOAT32_PEAKS.get(stem)
    ridge = peak.flops / 1e9 / copy_gb_per_s if peak else RIGHT
    axes.plot([LEFT, ridge, RIGHT], [copy_gb_per_s * at for at in (LEFT, ridge, ridge)], color=INK)
    product = matrix_product_flop_per_byte()
    axes.axvline(product, color=GREY, linestyle=":")
    words = f"matrix product\n{MATRIX_PRODUCT} × {MATRIX_PRODUCT}"
    axes.annotate(words, (product, 0.3), (-6, 0), xycoords=("data", "axes fraction"),
                  textcoords="offset points", ha="right", fontsize=10, color=GREY)  # fmt: skip
    if peak:
        return f"flat: {peak.flops / 1e12:g} TFLOP/s, from {peak.source}, not measured"
    return "no flat part: the peak of this GPU's arithmetic is not among those cited"


def _point(
    axes: Axes, timing: Measurement, at: tuple[float, float], highlight: str | None, share: str
) -> None:
    name = timing.case.provider
    faint, bold = highlight not in (None, name), name == highlight
    style = {**mark(name), "linestyle": "", "markersize": 8}
    axes.plot(*at, **style, alpha=0.35 if faint else 1, zorder=3 if bold else 2, label=timing.label)
    if bold:
        axes.plot(*at, "o", markersize=19, markerfacecolor="none", color=INK, zorder=4)
        note(axes, f"{timing.label}: {share}", at, (15, -9))


def gflops(timing: Measurement) -> float:
    elements = timing.case.rows * timing.case.cols
    return FLOPS_AN_ELEMENT * elements / timing.median_us / 1e3
