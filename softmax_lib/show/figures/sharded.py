"""Rows that are cut over several GPUs: what they cost beside a copy of one shard, by the number of GPUs."""

from __future__ import annotations

from typing import Any

from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.show.figures import look
from softmax_lib.suites.kept import required
from softmax_lib.suites.times import CONTENDERS, RANKS, SHARDED, UNTOLD, sharded_times

_LABELS = dict(zip((*CONTENDERS, UNTOLD), ("ours", "all-reduces", "gathered, torch", "Liger", UNTOLD), strict=True))  # fmt: skip
_LOOKS: dict[str, dict[str, Any]] = {
    "ours": {"color": look.GREEN, "marker": "D"},
    "all-reduces": {"color": look.VERMILION, "marker": "o"},
    UNTOLD: {"color": look.INK, "marker": "o", "linestyle": "--", "markerfacecolor": "white"},
    "gathered, torch": {"color": look.BLUE, "marker": "s"},
    "Liger": {"color": look.PURPLE, "marker": "v"},
}  # fmt: skip


@look.drawn
def sharded_by_ranks(
    operator: str = "softmax", rows: int = 4096, cols: int = 32768, dtype: str = "float32", *, gpu: str = DEFAULT_GPU
) -> look.Figure:  # fmt: skip
    """Time over that of a copy of one shard, (rows, cols) on each GPU, against the number of GPUs: a line for each contender.

    Notes name the numbers of GPUs that were not measured. Raises `BadInput` for what was never measured.
    """
    wanted = {"operator": operator, "rows": rows, "cols": cols, "dtype": dtype}
    found = sorted(sharded_times(gpu, **wanted), key=lambda one: one.ranks)
    required(found, f"{operator} of {rows} × {cols} {dtype} a GPU was never timed.")
    figure, axes = look.start(f"{operator} of {rows:,} × {cols:,} {dtype} a GPU, over a copy", 4.0)
    lines = {
        label: [(one.ranks, one.us[name] / one.copy_us) for one in found if name in one.us]
        for name, label in _LABELS.items()
    }
    told = look.plot(axes, lines, _LOOKS, "{1:.2f}")
    axes.axhline(1, color=look.GREY, linestyle=":", label="a copy of the shard")
    look.logarithmic(axes, "y", ticks=(0.5, 1, 2, 5, 10, 20, 50))
    axes.set(xlabel="GPUs", ylabel="times a copy")
    there = [one.ranks for one in found]
    look.powers_of_two(axes, there)
    missing = [str(ranks) for ranks in RANKS if ranks not in there]
    note = f"not yet measured: {', '.join(missing)} GPUs" if missing else ""
    alt = f"Times a copy on {', '.join(map(str, there))} GPUs: {told}"
    return look.finish(figure, alt, SHARDED.source(gpu), note)
