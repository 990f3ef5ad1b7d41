"""The roofline of the RMSNorm page: what each of its kernels computes in a second, below what memory and arithmetic allow."""

from __future__ import annotations

from softmax_lib.records.cited import FLOAT32_PEAKS
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites import look
from softmax_lib.suites.rmsnorm.record import rmsnorm_times

FLOP = 4
"""Of an element: a square, a sum, and two products."""

_OURS = {
    "naive": (look.VERMILION, "o"), "shuffle": (look.ORANGE, "s"), "float4": (look.SKY, "^"), "fused": (look.BLUE, "D"),
    "fused_bf16": (look.BLUE, "D"),
}  # fmt: skip
_OTHERS = {
    "torch": (look.INK, "v"),
    "torch.compile": (look.GREY, "P"),
    "Liger": (look.GREEN, "X"),
    "QuACK": (look.PURPLE, "p"),
}
"""Colour and marker; those of others are hollow."""


@look.drawn
def rmsnorm_roof(
    cols: int = 4096, dtype: str = "float32", *, gpu: str = DEFAULT_GPU
) -> look.Figure:
    """Every kernel and peer of the RMSNorm page on rows of `cols`: its FLOP a second, over the FLOP per byte of the operator.

    Raises `BadInput` where nothing was measured.
    """
    found = rmsnorm_times(gpu, cols=cols, dtype=dtype)
    first = found[0]
    figure, axes = look.start("RMSNorm below its roof", 3.4)
    bytes_per_s, flops = first.bytes / first.copy_us * 1e6, FLOAT32_PEAKS[gpu].flops
    corner = flops / bytes_per_s
    roof = [(x, min(x * bytes_per_s, flops) / 1e12) for x in (0.1, corner, 10 * corner)]
    axes.plot(*zip(*roof, strict=True), color=look.INK, label="_roof")
    points, looks = {}, {}
    for one in found:
        flop = FLOP * one.rows * one.cols
        points[one.name] = [(flop / one.bytes, flop / one.us / 1e6)]
        color, marker = {**_OURS, **_OTHERS}[one.name]
        looks[one.name] = {"color": color, "marker": marker, "linestyle": ""}
        looks[one.name]["markerfacecolor"] = color if one.name in _OURS else "white"
    told = look.plot(axes, points, looks, "{1:.2f} TFLOP/s")
    look.logarithmic(axes, "x")
    look.logarithmic(axes, "y")
    axes.set(xlabel="FLOP per byte", ylabel="TFLOP/s")
    shape = f"{first.rows:,} × {cols:,}, {dtype}"
    return look.finish(
        figure, f"{shape}: {told}", f"the roof is a copy's speed; {shape}", first.source
    )
