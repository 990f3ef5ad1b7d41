"""Chapter 14: time by the blocks of a row, with and without what they tell each other by."""

from __future__ import annotations

from typing import Any

from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.show.figures import look
from softmax_lib.suites.kept import required
from softmax_lib.suites.times import CLUSTER, cluster_times

_LOOKS: dict[str, dict[str, Any]] = {
    "cluster": {"color": look.BLUE, "marker": "o"},
    "cluster_global": {"color": look.SKY, "marker": "s", "linestyle": "--"},
    "cluster_again": {"color": look.VERMILION, "marker": "v"},
    "tma": {"color": look.GREEN, "marker": "D"},
    "tma_loads": {"color": look.GREEN, "marker": "d", "linestyle": "--", "markerfacecolor": "white"},
}  # fmt: skip
_LINES = {"a copy": ":", "unroll": "-.", "softmax()": "--"}


@look.drawn
def time_by_cluster(rows: int = 1024, cols: int = 131072, *, gpu: str = DEFAULT_GPU) -> look.Figure:
    """Time of chapter 14's kernels by blocks per row, each at its best block size; level lines are of others.

    Raises `BadInput` for what was not measured.
    """
    found = cluster_times(gpu, rows=rows, cols=cols)
    required(found, f"Chapter 14's kernels were not timed on {rows} × {cols}.")
    best: dict[tuple[str, int], float] = {}
    for one in found:  # the fastest come first
        best.setdefault((one.who, one.cluster), one.us)
    figure, axes = look.start(f"Time by blocks per row, {rows} × {cols} floats", 3.8)
    lines = {
        name: sorted((of, us) for (who, of), us in best.items() if who == name) for name in _LOOKS
    }
    told = look.plot(axes, lines, _LOOKS, "{} blocks {:.1f}")
    level = {"a copy": found[0].copy_us} | {
        who: us for (who, _), us in best.items() if who in _LINES
    }
    for name, us in level.items():
        axes.axhline(us, color=look.GREY, linestyle=_LINES[name], label=name)
        told += f"; {name} {us:.1f}"
    look.powers_of_two(axes, sorted({of for _, of in best if of}))
    axes.set(xlabel="blocks per row", ylabel="µs", ylim=(0, None))
    alt = f"Microseconds by blocks per row on {rows} × {cols} floats: {told}"
    return look.finish(figure, alt, CLUSTER.source(gpu))
