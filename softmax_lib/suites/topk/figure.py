"""Softmax and the k largest of each row: what fusing them gains, by the length of rows and by k."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from softmax_lib.records.cited import FUSED_TOPK
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.look import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    SKY,
    VERMILION,
    Figure,
    drawn,
    finish,
    legend,
    logarithmic,
    powers_of_two,
    round_time,
    start,
)
from softmax_lib.suites.topk.record import TopkTimes, topk_sizes, topk_source, topk_times
from softmax_lib.worklog.errors import BadInput

_LABELS = {
    "topk_unfused": "unfused", "topk_unfused_online": "unfused, online", "topk_safe": "fused, safe",
    "topk": "fused, online", "topk_warp": "a list per warp", "softmax_topk()": "softmax_topk()",
}  # fmt: skip
_LOOKS: dict[str, dict[str, Any]] = {
    "topk_unfused": {"color": VERMILION, "marker": "o"},
    "topk_unfused_online": {"color": ORANGE, "marker": "s"},
    "topk_safe": {"color": SKY, "marker": "^"},
    "topk": {"color": BLUE, "marker": "v"},
    "topk_warp": {"color": GREEN, "marker": "P"},
    "softmax_topk()": {"color": INK, "marker": "D"},
    "early exit": {"color": ORANGE, "marker": "s"},
    "torch": {"color": GREY, "marker": "o", "markerfacecolor": "white", "linestyle": "--"},
    "flashinfer.top_k": {
        "color": SKY,
        "marker": "^",
        "markerfacecolor": "white",
        "linestyle": "--",
    },
}
_TICKS = (0.5, 1, 2, 3, 5, 10, 20, 30)
_FORMS = ("topk_unfused_online", "topk_safe", "topk", "topk_warp", "softmax_topk()")


def _of_all(one: TopkTimes) -> dict[str, float]:
    """Microseconds of all that a picture may show."""
    return {**one.kernels, "softmax_topk()": one.ours_us, "torch": one.torch_us}


def _with_kernels(
    gpu: str, what: str, wanted: dict[str, Any], order: Callable[[TopkTimes], int]
) -> list[TopkTimes]:
    """The cells that are as `wanted` and have chapter 11's kernels, in order. Raises `BadInput` where none has."""
    found = [one for one in topk_times(gpu, **wanted) if one.kernels]
    if not found:
        raise BadInput(f"The kernels of chapter 11 were never timed on {what}.")
    return sorted(found, key=order)


@drawn
def fused_topk(rows: int = 4000, k: int = 5, *, gpu: str = DEFAULT_GPU) -> Figure:
    """The unfused kernels' time over each other form's, against the length of `rows` rows.

    A dashed line is softmax alone, without any top-k: the time of the safe one over the online one's. A dotted
    line is what the paper gained on a V100 with rows of about 25,000. Raises `BadInput` for what was never
    measured.
    """
    wanted = {"rows": rows, "k": k, "data": "normal"}
    found = _with_kernels(gpu, f"{rows} rows with k = {k}", wanted, lambda one: one.cols)
    figure = start(f"Times as fast as unfused: {rows} rows, k = {k}", 4.0)
    axes = figure.subplots()
    cols, told = [one.cols for one in found], []
    for name in _FORMS:
        gains = [one.kernels["topk_unfused"] / _of_all(one)[name] for one in found]
        axes.plot(cols, gains, label=_LABELS[name], **_LOOKS[name])
        told.append(f"{_LABELS[name]} " + ", ".join(f"{gain:.2f}" for gain in gains))
    if all({"safe softmax", "online softmax"} <= set(one.kernels) for one in found):
        alone = [one.kernels["safe softmax"] / one.kernels["online softmax"] for one in found]
        axes.plot(cols, alone, label="softmax alone, online", color=GREY, linestyle="--")
        told.append("softmax alone, online " + ", ".join(f"{gain:.2f}" for gain in alone))
    axes.axhline(1, color=GREY, linewidth=1)
    if rows in FUSED_TOPK.batches and k in FUSED_TOPK.gains:
        gain = FUSED_TOPK.gains[k]
        axes.axhline(gain, color=GREY, linestyle=":", label=f"the paper: {gain:g}, V100")
        told.append(f"the paper {gain:g} at {FUSED_TOPK.cols} on a {FUSED_TOPK.gpu}")
    first, last = (round(math.log2(end(cols))) for end in (min, max))
    powers_of_two(axes, "x", [2**power for power in range(first, last + 1)])
    logarithmic(axes, "y")
    low, high = axes.get_ylim()
    axes.set_yticks([tick for tick in _TICKS if low < tick < high])
    axes.set(xlabel="columns", ylabel="times as fast")
    legend(figure)
    lengths = ", ".join(map(str, cols))
    alt = f"Unfused over each form on {rows} rows of {lengths}, k = {k}: {'; '.join(told)}"
    return finish(figure, alt, topk_source(gpu))


@drawn
def topk_by_k(rows: int = 4000, cols: int = 25200, *, gpu: str = DEFAULT_GPU) -> Figure:
    """Time against k on one matrix: chapter 11's kernels, `softmax_topk()`, the best of torch; and half of a copy.

    Raises `BadInput` for what was never measured.
    """
    wanted = {"rows": rows, "cols": cols, "dtype": "float32"}
    found = _with_kernels(gpu, f"{rows} × {cols}", wanted, lambda one: one.k)
    figure = start(f"Time by k, {rows} × {cols} floats", 4.0)
    axes = figure.subplots()
    ks = [one.k for one in found]
    lines = {"torch, its best form": [_of_all(one)["torch"] for one in found]}
    looks = {"torch, its best form": _LOOKS["torch"]}
    if all("flashinfer.top_k" in one.peers for one in found):
        lines["flashinfer.top_k"] = [one.peers["flashinfer.top_k"] for one in found]
        looks["flashinfer.top_k"] = _LOOKS["flashinfer.top_k"]
    exits = {
        one.k: one.us
        for one in topk_sizes(gpu, rows=rows, cols=cols, kernel="topk_early_exit", block_size=256)
    }
    if set(exits) >= set(ks):
        lines["fused, early exit"] = [exits[k] for k in ks]
        looks["fused, early exit"] = _LOOKS["early exit"]
    for name in ("topk_unfused", "topk", "topk_warp", "softmax_topk()"):
        lines[_LABELS[name]] = [_of_all(one)[name] for one in found]
        looks[_LABELS[name]] = _LOOKS[name]
    for label, times in lines.items():
        axes.plot(ks, times, label=label, **looks[label])
    reading_us = min(one.copy_us for one in found) / 2
    axes.axhline(reading_us, color=GREY, linestyle=":", label="half of a copy")
    logarithmic(axes, "y", round_time)
    axes.set_xticks(ks)
    axes.set(xlabel="k", xlim=(0, max(ks) + 1))
    legend(figure)
    told = "; ".join(
        f"{name} " + ", ".join(f"{us:.0f}" for us in times) for name, times in lines.items()
    )
    alt = f"Microseconds on {rows} × {cols} floats for k = {', '.join(map(str, ks))}: {told}; half of a copy {reading_us:.0f}"
    return finish(figure, alt, topk_source(gpu))
