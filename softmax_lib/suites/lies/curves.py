"""The pictures of the page Benchmark lies that are no bars: by the size of a matrix, by the call, by the length of rows."""

from __future__ import annotations

from statistics import mean, median
from typing import Any

from softmax_lib.suites.kept import matching, source_of
from softmax_lib.suites.lies.record import PROTOCOL, LieTime, peak_of, times_of
from softmax_lib.suites.look import (
    BLUE,
    GREY,
    INK,
    VERMILION,
    Figure,
    finish,
    legend,
    powers_of_two,
    start,
)
from softmax_lib.worklog.errors import BadInput

_MIB = 2**20


def of_lie(run: dict[str, Any], name: str) -> list[LieTime]:
    """The times of one lie. Raises `BadInput` where it was not measured."""
    if not (found := matching(times_of(run), lie=name)):
        raise BadInput(f"{name} was not measured.")
    return found


def named(found: list[LieTime], **wanted: Any) -> LieTime:
    """The one whose fields are as `wanted`. Raises `BadInput` where there is none."""
    some = matching(found, **wanted)
    if not some:
        raise BadInput(f"{', '.join(map(str, wanted.values()))} was not measured.")
    return some[0]


def warm_cache(found: list[LieTime], run: dict[str, Any]) -> Figure:
    """GB/s by the size of the matrix, one pair of matrices beside many; dashed what memory moves at most."""
    figure = start("GB/s by the size of the matrix", 3.8)
    axes = figure.subplots()
    told = []
    lines: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("one pair", "one pair, again and again", {"color": VERMILION, "marker": "o"}),
        (PROTOCOL, "as many as L2 does not hold", {"color": BLUE, "marker": "s"}),
    )
    for method, words, look in lines:
        some = sorted(matching(found, method=method), key=lambda one: one.rows)
        points = [(one.matrix_bytes // _MIB, one.gb_per_s) for one in some]
        axes.plot(*_split(points), label=words, **look)
        told.append(f"{words} " + ", ".join(f"{size} MiB {speed:,.0f}" for size, speed in points))
    peak = peak_of(run)
    if peak is not None:
        axes.axhline(peak, color=GREY, linestyle="--")
    powers_of_two(axes, "x", sorted({one.matrix_bytes // _MIB for one in found}))
    axes.set(xlabel="MiB of the matrix", ylabel="GB/s", ylim=(0, None))
    legend(figure)
    held = f"L2 holds {run['gpu']['l2_bytes'] / _MIB:.0f} MiB"
    dashed = "" if peak is None else f"dashed: {peak:,.0f} GB/s, the memory's most"
    return finish(figure, f"GB/s by the size of the matrix: {'; '.join(told)}", dashed, held, source_of(run))  # fmt: skip


def mean_of_all(found: list[LieTime], run: dict[str, Any]) -> Figure:
    """The single calls of both passes in their order; lines are means, dashes medians."""
    figure = start("Ten calls, fifteen times over", 3.8)
    axes = figure.subplots()
    told = []
    for method, color, marker, shift in (
        ("theirs, first", VERMILION, "o", -0.12),
        ("ours, second", BLUE, "s", 0.12),
    ):
        us = named(found, method=method).us
        at = [call % CALLS + 1 + shift for call in range(len(us))]
        axes.plot(at, us, color=color, marker=marker, markersize=4, linestyle="", label=method)
        axes.axhline(mean(us), color=color, linewidth=1.4)
        told.append(f"{method}: mean {mean(us):.1f}, median {median(us):.1f}, most {max(us):.1f}")
    axes.axhline(median(us), color=INK, linestyle="--", linewidth=1.2, zorder=3)
    axes.set(xlabel="call", ylabel="µs", ylim=(0, None), xticks=range(1, CALLS + 1))
    legend(figure)
    return finish(figure, f"Microseconds of single calls, {'; '.join(told)}", "lines: the means; dashed: the median of the second", source_of(run))  # fmt: skip


CALLS = 10
"""Of each pass of the lie `mean of all`."""


def one_shape(found: list[LieTime], run: dict[str, Any]) -> Figure:
    """How many times as fast as torch `fusion` is, by the length of rows."""
    figure = start("fusion beside torch, by the length of rows", 3.6)
    axes = figure.subplots()
    theirs = {one.cols: one.median_us for one in matching(found, who="torch")}
    gains = sorted(
        (cols, us / named(found, who="fusion", cols=cols).median_us) for cols, us in theirs.items()
    )
    if not gains:
        raise BadInput("torch was not measured by the length of rows.")
    axes.plot(*_split(gains), color=BLUE, marker="D")
    axes.axhline(1, color=GREY, linestyle="--")
    best = max(gains, key=lambda point: point[1])
    axes.plot(*best, color=VERMILION, marker="o", markersize=13, markerfacecolor="none", markeredgewidth=2)  # fmt: skip
    powers_of_two(axes, "x", [cols for cols, _ in gains][::2])
    axes.set(xlabel="columns", ylabel="times as fast", ylim=(0, None))
    told = ", ".join(f"{cols} columns {gain:.2f}" for cols, gain in gains)
    return finish(figure, f"How many times as fast as torch: {told}", "ring: the shape of the advertisement; dashed: as fast as torch", source_of(run))  # fmt: skip


def _split(points: list[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [at for at, _ in points], [height for _, height in points]
