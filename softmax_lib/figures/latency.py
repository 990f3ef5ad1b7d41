"""How far memory is: what a load waits for, by the size of the array that it is one of."""

from __future__ import annotations

from softmax_lib.figures.look import BLUE, Figure, drawn, finish, note, powers_of_two, start
from softmax_lib.records.hardware import hardware
from softmax_lib.records.shelf import DEFAULT_GPU

_PLACES = {"L1": 16, "L2": 2048, "DRAM": 512 * 1024}
"""KiB at which the words stand."""


@drawn
def latency_steps(gpu: str = DEFAULT_GPU) -> Figure:
    """Cycles of a load that the next one waits for, against the size of the array that a chain of loads runs through.

    Raises `BadInput` where none was measured.
    """
    found = hardware(gpu)
    cycles = found.latency
    figure = start("Cycles until one load has come", 3.6)
    axes = figure.subplots()
    axes.plot(list(cycles), list(cycles.values()), color=BLUE, marker="o", markersize=4)
    for name, kib in _PLACES.items():
        if kib in cycles:
            note(axes, name, (kib, cycles[kib]), (-8, 16))
    powers_of_two(axes, "x", list(cycles)[::4])
    labels = [_size(kib) for kib in list(cycles)[::4]]
    axes.set_xticklabels(labels)
    axes.set(xlabel="size of the array", ylabel="cycles", ylim=(0, 1.15 * max(cycles.values())))
    told = ", ".join(f"{_size(kib)} {value:.0f}" for kib, value in cycles.items())
    return finish(figure, f"Cycles of a load by the size of the array: {told}", found.source)


def _size(kib: int) -> str:
    """4 as "4 KiB", 2048 as "2 MiB"."""
    for size, unit in ((1 << 20, "GiB"), (1 << 10, "MiB")):
        if kib % size == 0:
            return f"{kib // size} {unit}"
    return f"{kib} KiB"
