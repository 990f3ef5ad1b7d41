"""When a kernel reads and when it writes: bytes per microsecond, beside a copy's."""

from __future__ import annotations

from statistics import mean
from typing import Any

from matplotlib.axes import Axes

from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites import look
from softmax_lib.suites.phases.record import Phases, phases

_TITLES = {"fusion": "fusion", "copy": "a copy"}


@look.drawn
def reads_and_writes(gpu: str = DEFAULT_GPU) -> look.Figure:
    """TB/s that `fusion` and a copy read and write in each microsecond of a launch, as their warps noted it.

    Raises `BadInput` where that was not measured.
    """
    found = phases(gpu)
    title = "What is read and written, microsecond by microsecond"
    figure, panels = look.start(title, 4.4, len(_TITLES), sharey=True)
    for axes, (name, words) in zip(panels, _TITLES.items(), strict=True):
        _panel(axes, found[name])
        axes.set(ylabel="TB/s")
        axes.annotate(words, (0.99, 0.92), xycoords="axes fraction", ha="right", fontweight="bold")
    panels[-1].set(xlabel="µs since the first block began")
    told = "; ".join(f"{_TITLES[name]}: {_in_words(found[name])}" for name in _TITLES)
    costs = ", ".join(
        f"{one.noted_us / one.plain_us - 1:.0%} of {name}" for name, one in found.items()
    )
    how = f"bytes count once a warp has all of them; to note the time took {costs} more"
    return look.finish(figure, told, found["fusion"].source, how)


def _panel(axes: Axes, one: Phases) -> None:
    at = range(len(one.read_bytes) + 1)
    parts = (
        ("read", one.read_bytes, look.BLUE, "-"),
        ("written", one.written_bytes, look.VERMILION, "--"),
    )
    for label, moved, color, dashes in parts:
        values = [count / 1e6 for count in moved]
        style: dict[str, Any] = {"edgecolor": color, "linestyle": dashes, "linewidth": 1.6}
        axes.stairs(values, at, fill=True, facecolor=(color, 0.15), label=label, **style)


def _in_words(one: Phases) -> str:
    """Means of five microseconds each."""
    read, written = (
        [mean(moved[i : i + 5]) / 1e6 for i in range(0, len(moved), 5)]
        for moved in (one.read_bytes, one.written_bytes)
    )
    told = ", ".join(f"{into:.1f} and {out:.1f}" for into, out in zip(read, written, strict=True))
    return f"in each 5 µs, TB/s read and written {told}"
