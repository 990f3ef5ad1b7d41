"""The roofline of the RMSNorm page: what each of its kernels computes in a second, below what memory and arithmetic allow."""

from __future__ import annotations

from matplotlib.axes import Axes

from softmax_lib.records.cited import FLOAT32_PEAKS
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.look import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Figure,
    drawn,
    finish,
    legend,
    logarithmic,
    start,
)
from softmax_lib.suites.rmsnorm.record import OperatorTime, rmsnorm_times

FLOP = 4
"""Of an element: a square, a sum, and two products."""

_OURS = {
    "naive": (VERMILION, "o"), "shuffle": (ORANGE, "s"), "float4": (SKY, "^"), "fused": (BLUE, "D"), "fused_bf16": (BLUE, "D"),
}  # fmt: skip
_OTHERS = {
    "torch": (INK, "v"),
    "torch.compile": (GREY, "P"),
    "Liger": (GREEN, "X"),
    "QuACK": (PURPLE, "p"),
}
"""Colour and marker; those of others are hollow."""


@drawn
def rmsnorm_roof(cols: int = 4096, dtype: str = "float32", *, gpu: str = DEFAULT_GPU) -> Figure:
    """Every kernel and peer of the RMSNorm page on rows of `cols`: its FLOP a second, over the FLOP per byte of the operator.

    Raises `BadInput` where nothing was measured.
    """
    found = rmsnorm_times(gpu, cols=cols, dtype=dtype)
    figure = start("RMSNorm below its roof", 3.4)
    axes = figure.subplots()
    roof = found[0].bytes / found[0].copy_us * 1e6
    _draw_roof(axes, roof, FLOAT32_PEAKS[gpu].flops)
    told = [_draw(axes, one) for one in found]
    logarithmic(axes, "x")
    logarithmic(axes, "y")
    axes.set_xlabel("FLOP per byte")
    axes.set_ylabel("TFLOP/s")
    legend(figure)
    shape = f"{found[0].rows:,} × {cols:,}, {dtype}"
    return finish(
        figure,
        f"{shape}: {'; '.join(told)}",
        f"the roof is a copy's speed; {shape}",
        found[0].source,
    )


def _draw_roof(axes: Axes, bytes_per_s: float, flops: float) -> None:
    corner = flops / bytes_per_s
    at = [0.1, corner, 10 * corner]
    axes.plot(at, [min(x * bytes_per_s, flops) / 1e12 for x in at], color=INK, label="_roof")


def _draw(axes: Axes, one: OperatorTime) -> str:
    """A point, in words."""
    flops = FLOP * one.rows * one.cols / one.us / 1e6
    color, marker = {**_OURS, **_OTHERS}[one.name]
    axes.plot(
        FLOP * one.rows * one.cols / one.bytes, flops, color=color, marker=marker, linestyle="",
        markerfacecolor=color if one.name in _OURS else "white", label=one.name,
    )  # fmt: skip
    return f"{one.name} {flops:.2f} TFLOP/s"
