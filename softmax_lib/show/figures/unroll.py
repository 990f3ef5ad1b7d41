"""Chapter 09's search: time by how far the loop is unrolled and by loads in flight, and what a multiprocessor has asked for."""

from __future__ import annotations

import math
import re
from typing import Any

from softmax_lib.engine.words import count
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.show.figures import look
from softmax_lib.suites.kept import matching, required, source_of
from softmax_lib.suites.times import UNROLL, UnrollTime

_LOOKS = {
    64: (look.SKY, "v"), 128: (look.GREEN, "s"), 256: (look.ORANGE, "^"), 512: (look.BLUE, "D"), 1024: (look.VERMILION, "o"),
}  # fmt: skip
_TICKS_US = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300)


@look.drawn
def unroll_map(
    rows: int = 1024,
    cols: int = 32768,
    threads: int = 1024,
    *,
    kernel: str = "unroll",
    gpu: str = DEFAULT_GPU,
    run: dict[str, Any] | None = None,
) -> look.Figure:
    """A plane of settings, how far the loop is unrolled by loads in flight, in blocks of `threads`.

    In each field the microseconds, the darker the longer, and below them what a thread takes of registers, or
    spills, in bytes, and how many blocks fit a multiprocessor; the best has a frame. Read from the newest run
    kept on `gpu`, or from `run`, as `bench.unrolling` returns it. Raises `BadInput` for what was not measured.
    """
    run = UNROLL.newest(gpu) if run is None else run
    found = _searched(run, kernel, rows, cols, block_size=threads)
    best = min(found, key=lambda one: one.us)
    figure, axes = look.start(f"{kernel}, {threads} threads, {rows} × {cols} floats", 4.4)
    low, high = best.us, max(one.us for one in found)

    def draw(one: UnrollTime, x: int, y: int) -> None:
        alpha = 0.05 + 0.45 * (one.us - low) / max(high - low, 1e-9)
        look.fields(axes, [(x, y)], look.BLUE, alpha)
        words = _words(one)
        if look.is_narrow():
            words = re.sub(" (registers|spilled)", r"\n\1", words)
        axes.text(x, y, words, ha="center", va="center", fontsize=9.5, linespacing=1.3)
        if one == best:
            left, right, low_, high_ = x - 0.48, x + 0.48, y - 0.48, y + 0.48
            frame = [left, right, right, left, left], [low_, low_, high_, high_, low_]
            axes.plot(*frame, color=look.VERMILION, linewidth=2.5)

    look.map_of(axes, found, "unroll", "in_flight", draw)
    axes.set(xlabel="UNROLL: turns written out", ylabel="IN_FLIGHT: vectors asked for")
    told = "; ".join(
        f"UNROLL {one.unroll}, IN_FLIGHT {one.in_flight}: {_words(one)}" for one in found
    ).replace("\n", ", ")
    alt = f"Microseconds of {kernel} on {rows} × {cols} floats, {threads} threads per block: {told}"
    framed = f"framed: the best, {best.us:.1f} µs; a copy takes {best.copy_us:.1f} µs"
    return look.finish(figure, alt, framed, source_of(run))


def _words(one: UnrollTime) -> str:
    memory = f"{one.spill_bytes} B spilled" if one.spill_bytes else f"{one.registers} registers"
    fit = count(one.blocks, "block")
    return f"{one.us:.{1 if one.us < 1000 else 0}f} µs\n{memory}\n{fit}"


@look.drawn
def time_by_bytes_asked(
    rows: int = 128, cols: int = 131072, *, gpu: str = DEFAULT_GPU
) -> look.Figure:
    """Time of every setting of chapter 09's kernel against what a multiprocessor has asked for at a time.

    That is what a thread asks for before it waits, by the machine code, times the threads of the blocks that
    a multiprocessor has at once: those that fit, and of fewer its share. Hollow marks are loops that are
    unrolled. Raises `BadInput` for what was not measured.
    """
    run = UNROLL.newest(gpu)
    found = _searched(run, "unroll", rows, cols)
    figure, axes = look.start(f"Time by bytes asked for, {rows} × {cols} floats", 4.2)
    share = math.ceil(rows / run["gpu"]["multiprocessors"])
    points: dict[int, list[tuple[float, float]]] = {}
    for size in sorted({one.block_size for one in found}):
        color, marker = _LOOKS.get(size, (look.INK, "X"))
        for one in matching(found, block_size=size):
            at = one.asked_bytes * size * min(one.blocks, share)
            points.setdefault(size, []).append((at, one.us))
            face = color if one.unroll == 1 else "none"
            axes.plot(at, one.us, color=color, marker=marker, markerfacecolor=face, linestyle="")
        axes.plot([], [], color=color, marker=marker, linestyle="", label=f"{size} threads")
    axes.axhline(found[0].copy_us, color=look.GREY, linestyle=":", label="a copy")
    every = [at for of_size in points.values() for at, _ in of_size]
    low, high = math.floor(math.log2(min(every))), math.ceil(math.log2(max(every)))
    look.powers_of_two(axes, [2**power for power in range(low, high + 1)])
    look.logarithmic(axes, "y", look.round_time, _TICKS_US)
    axes.set(xlabel="bytes asked for on each multiprocessor", ylabel="time")
    in_kib = {
        f"{size} threads": [(at / 1024, us) for at, us in sorted(of_size)]
        for size, of_size in points.items()
    }
    told = look.tell(in_kib, "{:.3g} KiB {:.1f}")
    alt = f"Microseconds by bytes asked for on each multiprocessor, {rows} × {cols} floats: {told}; a copy {found[0].copy_us:.1f}"
    return look.finish(figure, alt, "filled: a loop that is not unrolled", source_of(run))


def _searched(
    run: dict[str, Any], kernel: str, rows: int, cols: int, **wanted: int
) -> list[UnrollTime]:
    found = matching(UNROLL.read(run), kernel=kernel, rows=rows, cols=cols, **wanted)
    size = f" in blocks of {wanted['block_size']} threads" if wanted else ""
    return required(found, f"{kernel} was not searched on {rows} × {cols}{size}.")
