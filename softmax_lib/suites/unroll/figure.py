"""Chapter 09's search: time by how far the loop is unrolled and by loads in flight, and what a multiprocessor has asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from softmax_lib.engine.words import count
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import matching, source_of
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
    fields,
    finish,
    is_narrow,
    legend,
    logarithmic,
    powers_of_two,
    round_time,
    start,
)
from softmax_lib.suites.unroll.record import UnrollTime, times_of, unroll_run
from softmax_lib.worklog.errors import BadInput

_LOOKS = {
    64: (SKY, "v"), 128: (GREEN, "s"), 256: (ORANGE, "^"), 512: (BLUE, "D"), 1024: (VERMILION, "o"),
}  # fmt: skip
_TICKS_US = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300)


@drawn
def unroll_map(
    rows: int = 1024,
    cols: int = 32768,
    threads: int = 1024,
    *,
    kernel: str = "unroll",
    gpu: str = DEFAULT_GPU,
    run: dict[str, Any] | None = None,
) -> Figure:
    """A plane of settings, how far the loop is unrolled by loads in flight, in blocks of `threads`.

    In each field the microseconds, the darker the longer, and below them what a thread takes of registers, or
    spills, in bytes, and how many blocks fit a multiprocessor; the best has a frame. Read from the newest run
    kept on `gpu`, or from `run`, as `bench.unrolling` returns it. Raises `BadInput` for what was not measured.
    """
    run = unroll_run(gpu) if run is None else run
    found = _searched(run, kernel, rows, cols, block_size=threads)
    best = min(found, key=lambda one: one.us)
    unrolls, flights = (
        sorted({getattr(one, name) for one in found}) for name in ("unroll", "in_flight")
    )
    places = {(flights.index(one.in_flight), unrolls.index(one.unroll)): one for one in found}
    figure = start(f"{kernel}, {threads} threads, {rows} × {cols} floats", 4.4)
    axes = figure.subplots()
    low, high = best.us, max(one.us for one in found)
    for (y, x), one in places.items():
        fields(axes, [(x, y)], BLUE, 0.05 + 0.45 * (one.us - low) / max(high - low, 1e-9))
        words = re.sub(" (registers|spilled)", r"\n\1", _words(one)) if is_narrow() else _words(one)
        axes.text(x, y, words, ha="center", va="center", fontsize=9.5, linespacing=1.3)
        if one == best:
            axes.plot(*_frame(x, y), color=VERMILION, linewidth=2.5)
    axes.grid(visible=False)
    axes.margins(0)
    axes.set_xticks(range(len(unrolls)), unrolls)
    axes.set_yticks(range(len(flights)), flights)
    axes.set(xlabel="UNROLL: turns written out", ylabel="IN_FLIGHT: vectors asked for")
    told = "; ".join(
        f"UNROLL {one.unroll}, IN_FLIGHT {one.in_flight}: {_words(one)}" for one in found
    ).replace("\n", ", ")
    alt = f"Microseconds of {kernel} on {rows} × {cols} floats, {threads} threads per block: {told}"
    return finish(figure, alt, f"framed: the best, {best.us:.1f} µs; a copy takes {best.copy_us:.1f} µs", source_of(run))  # fmt: skip


def _words(one: UnrollTime) -> str:
    memory = f"{one.spill_bytes} B spilled" if one.spill_bytes else f"{one.registers} registers"
    fit = count(one.blocks, "block")
    return f"{one.us:.{1 if one.us < 1000 else 0}f} µs\n{memory}\n{fit}"


def _frame(x: int, y: int) -> tuple[Sequence[float], Sequence[float]]:
    near, far = -0.48, 0.48
    return (
        [x + near, x + far, x + far, x + near, x + near],
        [y + near, y + near, y + far, y + far, y + near],
    )


@drawn
def time_by_bytes_asked(
    rows: int = 128,
    cols: int = 131072,
    *,
    gpu: str = DEFAULT_GPU,
    run: dict[str, Any] | None = None,
) -> Figure:
    """Time of every setting of chapter 09's kernel against what a multiprocessor has asked for at a time.

    That is what a thread asks for before it waits, by the machine code, times the threads of the blocks that
    a multiprocessor has at once: those that fit, and of fewer its share. Hollow marks are loops that are
    unrolled. Raises `BadInput` for what was not measured.
    """
    run = unroll_run(gpu) if run is None else run
    found = _searched(run, "unroll", rows, cols)
    figure = start(f"Time by bytes asked for, {rows} × {cols} floats", 4.2)
    axes = figure.subplots()
    share = math.ceil(rows / run["gpu"]["multiprocessors"])
    points: dict[int, list[tuple[float, float]]] = {}
    for size in sorted({one.block_size for one in found}):
        color, marker = _LOOKS.get(size, (INK, "X"))
        for one in (one for one in found if one.block_size == size):
            at = one.asked_bytes * size * min(one.blocks, share)
            points.setdefault(size, []).append((at, one.us))
            face = color if one.unroll == 1 else "none"
            axes.plot(at, one.us, color=color, marker=marker, markerfacecolor=face, linestyle="")
        axes.plot([], [], color=color, marker=marker, linestyle="", label=f"{size} threads")
    axes.axhline(found[0].copy_us, color=GREY, linestyle=":", label="a copy")
    every = [at for of_size in points.values() for at, _ in of_size]
    low, high = math.floor(math.log2(min(every))), math.ceil(math.log2(max(every)))
    powers_of_two(axes, "x", [2**power for power in range(low, high + 1)])
    logarithmic(axes, "y", round_time)
    axes.set(xlabel="bytes asked for on each multiprocessor", ylabel="time")
    low_us, high_us = axes.get_ylim()
    axes.set_yticks([tick for tick in _TICKS_US if low_us < tick < high_us])
    legend(figure)
    told = "; ".join(
        f"{size} threads "
        + ", ".join(f"{at / 1024:.3g} KiB {us:.1f}" for at, us in sorted(of_size))
        for size, of_size in points.items()
    )
    alt = f"Microseconds by bytes asked for on each multiprocessor, {rows} × {cols} floats: {told}; a copy {found[0].copy_us:.1f}"
    return finish(figure, alt, "filled: a loop that is not unrolled", source_of(run))


def _searched(
    run: dict[str, Any], kernel: str, rows: int, cols: int, **wanted: int
) -> list[UnrollTime]:
    found = matching(times_of(run), kernel=kernel, rows=rows, cols=cols, **wanted)
    if not found:
        size = f" in blocks of {wanted['block_size']} threads" if wanted else ""
        raise BadInput(f"{kernel} was not searched on {rows} × {cols}{size}.")
    return found
