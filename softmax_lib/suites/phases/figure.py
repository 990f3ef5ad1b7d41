"""When a kernel reads and when it writes: bytes per microsecond, beside a copy's."""

from __future__ import annotations

from statistics import mean
from typing import Any

from matplotlib.axes import Axes

from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.look import BLUE, VERMILION, Figure, drawn, finish, legend, start
from softmax_lib.suites.phases.record import Phases, phases

_TITLES = {"fusion": "fusion", "copy": "a copy"}


@drawn
def reads_and_writes(gpu: str = DEFAULT_GPU) -> Figure:
    """TB/s that `fusion` and a copy read and write in each microsecond of a launch, as their warps noted it.

    Raises `BadInput` where that was not measured.
    """
    found = phases(gpu)
    figure = start("What is read and written, microsecond by microsecond", 4.4)
    panels = figure.subplots(len(_TITLES), 1, sharex=True, sharey=True)
    for axes, (name, title) in zip(panels, _TITLES.items(), strict=True):
        _panel(axes, found[name])
        axes.set(ylabel="TB/s")
        axes.annotate(title, (0.99, 0.92), xycoords="axes fraction", ha="right", fontweight="bold")
    legend(figure)
    panels[-1].set(xlabel="µs since the first block began")
    told = "; ".join(f"{_TITLES[name]}: {_in_words(found[name])}" for name in _TITLES)
    costs = ", ".join(
        f"{one.noted_us / one.plain_us - 1:.0%} of {name}" for name, one in found.items()
    )
    how = f"bytes count once a warp has all of them; to note the time took {costs} more"
    return finish(figure, told, found["fusion"].source, how)


def _panel(axes: Axes, one: Phases) -> None:
    at = range(len(one.read_bytes) + 1)
    shown = (("read", one.read_bytes, BLUE, "-"), ("written", one.written_bytes, VERMILION, "--"))
    for label, moved, color, dashes in shown:
        values = [count / 1e6 for count in moved]
        look: dict[str, Any] = {"edgecolor": color, "linestyle": dashes, "linewidth": 1.6}
        axes.stairs(values, at, fill=True, facecolor=(color, 0.15), label=label, **look)


def _in_words(one: Phases) -> str:
    """Means of five microseconds each."""
    read, written = (
        [mean(moved[i : i + 5]) / 1e6 for i in range(0, len(moved), 5)]
        for moved in (one.read_bytes, one.written_bytes)
    )
    told = ", ".join(f"{into:.1f} and {out:.1f}" for into, out in zip(read, written, strict=True))
    return f"in each 5 µs, TB/s read and written {told}"
