"""The roofline: what memory and arithmetic allow, and where each rung stands below."""

from __future__ import annotations

from matplotlib.axes import Axes

from softmax_lib.errors import BadInput
from softmax_lib.figures.picture import (
    GREY,
    INK,
    Picture,
    drawn,
    finish,
    label,
    legend,
    logarithmic,
    mark,
    note,
    provenance,
    start,
)
from softmax_lib.measurements import DEFAULT_GPU, file_stem, recorded
from softmax_lib.records.cited import FLOAT32_PEAKS
from softmax_lib.records.record import Measurement, Record
from softmax_lib.registry import kernels

FLOPS_AN_ELEMENT = 5
"""Compare, subtract, exponential, add, divide: what softmax needs, whatever else a kernel repeats."""

MATRIX_PRODUCT = 1024
"""Rows and columns of the square float32 product that softmax is compared with."""

_LEFT, _RIGHT = 0.1, 1000.0


def matrix_product_flop_per_byte(size: int = MATRIX_PRODUCT) -> float:
    """FLOP a byte of a square float32 product whose three matrices move once."""
    return 2 * size**3 / (3 * 4 * size**2)


@drawn
def roofline(
    rows: int = 1024,
    cols: int = 32768,
    *,
    highlight: str | None = None,
    gpu: str = DEFAULT_GPU,
) -> Picture:
    """Each rung by its FLOP per byte and its FLOP a second, under the roof of this GPU.

    The slope is a copy as measured, the flat part the maker's figure, where it is known. With
    `highlight` one rung or foil is ringed and named. Raises `BadInput` for a shape or kernel never
    recorded.
    """
    record = recorded(gpu)
    times = record.times(rows, cols)
    wanted = [k.name for k in kernels.values() if not k.foil or k.name == highlight]
    steps = [times[name] for name in wanted if name in times]
    if not steps or highlight not in (None, *(row.provider for row in steps)):
        raise BadInput(
            f"{highlight or 'No rung'} was not recorded on ({rows}, {cols}) on {record.gpu}."
        )
    copy_gb_per_s = steps[0].copy_gb_per_s
    moved, what = _bytes_an_element(record, steps)
    points = {row: (FLOPS_AN_ELEMENT / moved[row.provider], _gflops(row)) for row in steps}
    figure = start(f"Roofline, {rows} × {cols} floats", 4.8)
    axes = figure.subplots()
    cited = _roof(axes, copy_gb_per_s, file_stem(record.gpu))
    told = []
    for row, (flop_per_byte, gflops) in points.items():
        share = f"{gflops / (flop_per_byte * copy_gb_per_s):.0%} of the roof"
        _point(axes, row, points[row], highlight, share)
        told.append(
            f"{label(row)} {flop_per_byte:.2f} FLOP per byte, {gflops:.0f} GFLOP/s, {share}"
        )
    logarithmic(axes, "x")
    logarithmic(axes, "y")
    axes.margins(y=0.12)  # room for the words under the lowest point
    axes.set(xlim=(_LEFT, _RIGHT), xlabel=f"FLOP per byte {what}", ylabel="GFLOP/s")
    legend(axes, 3)
    product = f"{MATRIX_PRODUCT} × {MATRIX_PRODUCT} matrix product at {matrix_product_flop_per_byte():.0f}"
    alt = f"Roofline, by FLOP per byte {what}: {'; '.join(told)}; a {product} FLOP per byte"
    slope = f"slope: a copy in the same run, {copy_gb_per_s:.0f} GB/s"
    return finish(figure, alt, f"{provenance(steps)}; {slope}", cited)


def _bytes_an_element(record: Record, steps: list[Measurement]) -> tuple[dict[str, float], str]:
    """Bytes that each rung moves for an element, and in words where they were counted.

    At DRAM, by ncu, where all were profiled, and at least one read and one write: of what a single
    launch has written, some is still in L2 when counting ends. Otherwise what the kernels ask for.
    """
    rows, cols = steps[0].rows, steps[0].cols
    least = 2 * 4 * rows * cols
    at_dram = {
        p["kernel"]: max(least, p["dram_read_bytes"] + p["dram_write_bytes"]) / (rows * cols)
        for p in record.counters
        if (p["rows"], p["cols"]) == (rows, cols)
    }
    if all(row.provider in at_dram for row in steps):
        return at_dram, "at DRAM"
    return {
        row.provider: 4.0 * sum(kernels[row.provider].traffic(cols)) for row in steps
    }, "asked for"


def _roof(axes: Axes, copy_gb_per_s: float, stem: str) -> str:
    """Draw slope and flat part; where the flat part comes from."""
    peak = FLOAT32_PEAKS.get(stem)
    ridge = peak.flops / 1e9 / copy_gb_per_s if peak else _RIGHT
    axes.plot(
        [_LEFT, ridge, _RIGHT], [copy_gb_per_s * at for at in (_LEFT, ridge, ridge)], color=INK
    )
    product = matrix_product_flop_per_byte()
    axes.axvline(product, color=GREY, linestyle=":")
    words = f"matrix product\n{MATRIX_PRODUCT} × {MATRIX_PRODUCT}"
    axes.annotate(words, (product, 0.3), (-6, 0), xycoords=("data", "axes fraction"),
                  textcoords="offset points", ha="right", fontsize=10, color=GREY)  # fmt: skip
    if peak:
        return f"flat: {peak.flops / 1e12:g} TFLOP/s, from {peak.source}, not measured"
    return "no flat part: the peak of this GPU's arithmetic is not among those cited"


def _point(
    axes: Axes, row: Measurement, at: tuple[float, float], highlight: str | None, share: str
) -> None:
    faint, bold = highlight not in (None, row.provider), row.provider == highlight
    style = {**mark(row.provider), "linestyle": "", "markersize": 8}
    axes.plot(*at, **style, alpha=0.35 if faint else 1, zorder=3 if bold else 2, label=label(row))
    if bold:
        axes.plot(*at, "o", markersize=19, markerfacecolor="none", color=INK, zorder=4)
        note(axes, f"{label(row)}: {share}", at, (15, -9))


def _gflops(row: Measurement) -> float:
    return FLOPS_AN_ELEMENT * row.rows * row.cols / row.median_us / 1e3
