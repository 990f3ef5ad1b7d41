"""Softmax and the k largest of each row: what fusing them gains, by the length of rows and by k."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from softmax_lib.records.cited import FUSED_TOPK
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.show.figures import look
from softmax_lib.suites.kept import required
from softmax_lib.suites.times import TOPK, TopkTimes, topk_sizes, topk_times

_LABELS = {
    "topk_unfused": "unfused", "topk_unfused_online": "unfused, online", "topk_safe": "fused, safe",
    "topk": "fused, online", "topk_warp": "a list per warp", "softmax_topk()": "softmax_topk()",
}  # fmt: skip
_HOLLOW = {"markerfacecolor": "white", "linestyle": "--"}
_LOOKS: dict[str, dict[str, Any]] = {
    "unfused": {"color": look.VERMILION, "marker": "o"},
    "unfused, online": {"color": look.ORANGE, "marker": "s"},
    "fused, safe": {"color": look.SKY, "marker": "^"},
    "fused, online": {"color": look.BLUE, "marker": "v"},
    "fused, early exit": {"color": look.ORANGE, "marker": "s"},
    "a list per warp": {"color": look.GREEN, "marker": "P"},
    "softmax_topk()": {"color": look.INK, "marker": "D"},
    "torch, its best form": {"color": look.GREY, "marker": "o", **_HOLLOW},
    "flashinfer.top_k": {"color": look.SKY, "marker": "^", **_HOLLOW},
    "softmax alone, online": {"color": look.GREY, "linestyle": "--"},
}
_TICKS = (0.5, 1, 2, 3, 5, 10, 20, 30)


def _of_all(one: TopkTimes) -> dict[str, float]:
    """Microseconds of all that a picture may show."""
    return {**one.kernels, "softmax_topk()": one.ours_us}


def _with_kernels(
    gpu: str, what: str, wanted: dict[str, Any], order: Callable[[TopkTimes], int]
) -> list[TopkTimes]:
    """The cells that are as `wanted` and have chapter 11's kernels, in order. Raises `BadInput` where none has."""
    found = [one for one in topk_times(gpu, **wanted) if one.kernels]
    return sorted(
        required(found, f"The kernels of chapter 11 were never timed on {what}."), key=order
    )


@look.drawn
def fused_topk(rows: int = 4000, k: int = 5, *, gpu: str = DEFAULT_GPU) -> look.Figure:
    """The unfused kernels' time over each other form's, against the length of `rows` rows.

    A dashed line is softmax alone, without any top-k: the time of the safe one over the online one's. A dotted
    line is what the paper gained on a V100 with rows of about 25,000. Raises `BadInput` for what was never
    measured.
    """
    wanted = {"rows": rows, "k": k, "data": "normal"}
    found = _with_kernels(gpu, f"{rows} rows with k = {k}", wanted, lambda one: one.cols)
    figure, axes = look.start(f"Times as fast as unfused: {rows} rows, k = {k}", 4.0)
    gains = {
        label: [(one.cols, one.kernels["topk_unfused"] / _of_all(one)[name]) for one in found]
        for name, label in _LABELS.items()
        if name != "topk_unfused"
    }
    if all({"safe softmax", "online softmax"} <= set(one.kernels) for one in found):
        gains["softmax alone, online"] = [
            (one.cols, one.kernels["safe softmax"] / one.kernels["online softmax"]) for one in found
        ]
    told = look.plot(axes, gains, _LOOKS, "{1:.2f}")
    axes.axhline(1, color=look.GREY, linewidth=1)
    if rows in FUSED_TOPK.batches and k in FUSED_TOPK.gains:
        gain = FUSED_TOPK.gains[k]
        axes.axhline(gain, color=look.GREY, linestyle=":", label=f"the paper: {gain:g}, V100")
        told += f"; the paper {gain:g} at {FUSED_TOPK.cols} on a {FUSED_TOPK.gpu}"
    cols = [one.cols for one in found]
    first, last = (round(math.log2(end(cols))) for end in (min, max))
    look.powers_of_two(axes, [2**power for power in range(first, last + 1)])
    look.logarithmic(axes, "y", ticks=_TICKS)
    axes.set(xlabel="columns", ylabel="times as fast")
    lengths = ", ".join(map(str, cols))
    alt = f"Unfused over each form on {rows} rows of {lengths}, k = {k}: {told}"
    return look.finish(figure, alt, TOPK.source(gpu))


@look.drawn
def topk_by_k(rows: int = 4000, cols: int = 25200, *, gpu: str = DEFAULT_GPU) -> look.Figure:
    """Time against k on one matrix: chapter 11's kernels, `softmax_topk()`, the best of torch; and half of a copy.

    Raises `BadInput` for what was never measured.
    """
    wanted = {"rows": rows, "cols": cols, "dtype": "float32"}
    found = _with_kernels(gpu, f"{rows} × {cols}", wanted, lambda one: one.k)
    figure, axes = look.start(f"Time by k, {rows} × {cols} floats", 4.0)
    ks = [one.k for one in found]
    times = {"torch, its best form": [one.torch_us for one in found]}
    if all("flashinfer.top_k" in one.peers for one in found):
        times["flashinfer.top_k"] = [one.peers["flashinfer.top_k"] for one in found]
    exits = {
        one.k: one.us
        for one in topk_sizes(gpu, rows=rows, cols=cols, kernel="topk_early_exit", block_size=256)
    }
    if set(exits) >= set(ks):
        times["fused, early exit"] = [exits[k] for k in ks]
    for name in ("topk_unfused", "topk", "topk_warp", "softmax_topk()"):
        times[_LABELS[name]] = [_of_all(one)[name] for one in found]
    lines = {label: list(zip(ks, of, strict=True)) for label, of in times.items()}
    told = look.plot(axes, lines, _LOOKS, "{1:.0f}")
    reading_us = min(one.copy_us for one in found) / 2
    axes.axhline(reading_us, color=look.GREY, linestyle=":", label="half of a copy")
    look.logarithmic(axes, "y", look.round_time)
    axes.set_xticks(ks)
    axes.set(xlabel="k", xlim=(0, max(ks) + 1))
    what = f"Microseconds on {rows} × {cols} floats for k = {', '.join(map(str, ks))}"
    return look.finish(figure, f"{what}: {told}; half of a copy {reading_us:.0f}", TOPK.source(gpu))
