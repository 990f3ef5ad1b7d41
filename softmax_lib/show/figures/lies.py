"""The page Benchmark lies: for each lie, what was advertised beside what catches it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import mean, median
from typing import Any

from softmax_lib.records.measurement import LABELS, TIE
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.show.figures import look
from softmax_lib.suites.kept import matching, required, source_of
from softmax_lib.suites.lies.record import ADVERTISED, PROTOCOL, LieTime, find_lie, lie_run
from softmax_lib.suites.times import times_of
from softmax_lib.worklog.errors import BadInput

CALLS = 10
"""Of each pass of the lie `mean of all`."""
_MIB = 2**20


@look.drawn
def lie(name: str, *, gpu: str = DEFAULT_GPU, run: dict[str, Any] | None = None) -> look.Figure:
    """What one of `LIES` advertises, beside what catches it.

    Read from the newest run kept on `gpu`, or from `run`, as `lies.measure.run_suite` returns it. Raises `BadInput` for
    another name, and for what was not measured.
    """
    wanted = find_lie(name)
    run = lie_run(gpu) if run is None else run
    found = required(matching(times_of(LieTime, run), lie=wanted), f"{wanted} was not measured.")
    return _DRAW[wanted](found, run)


def _named(found: list[LieTime], **wanted: Any) -> LieTime:
    """The one whose fields are as `wanted`. Raises `BadInput` where there is none."""
    missing = f"{', '.join(map(str, wanted.values()))} was not measured."
    return required(matching(found, **wanted), missing)[0]


def _no_synchronisation(found: list[LieTime], run: dict[str, Any]) -> look.Figure:
    labels = {ADVERTISED: "as advertised", "synchronised": "one line more", PROTOCOL: "protocol"}
    bars = {words: _named(found, method=name).gb_per_s for name, words in labels.items()}
    peak = run["peak_gb_per_s"]
    most = None if peak is None else (peak, f"{peak:,.0f} GB/s, the memory's most")
    return _bars("GB/s that the times would mean", bars, "{:,.0f} GB/s", run, most)


def _warm_cache(found: list[LieTime], run: dict[str, Any]) -> look.Figure:
    """GB/s by the size of the matrix, one pair of matrices beside many; dashed what memory moves at most."""
    title = "GB/s by the size of the matrix"
    figure, axes = look.start(title, 3.8)
    methods = {"one pair, again and again": "one pair", "as many as L2 does not hold": PROTOCOL}
    lines = {
        words: [
            (one.matrix_bytes // _MIB, one.gb_per_s)
            for one in sorted(matching(found, method=method), key=lambda one: one.rows)
        ]
        for words, method in methods.items()
    }
    looks = ({"color": look.VERMILION, "marker": "o"}, {"color": look.BLUE, "marker": "s"})
    told = look.plot(axes, lines, dict(zip(lines, looks, strict=True)), "{} MiB {:,.0f}")
    peak = run["peak_gb_per_s"]
    if peak is not None:
        axes.axhline(peak, color=look.GREY, linestyle="--")
    look.powers_of_two(axes, sorted({one.matrix_bytes // _MIB for one in found}))
    axes.set(xlabel="MiB of the matrix", ylabel="GB/s", ylim=(0, None))
    held = f"L2 holds {run['gpu']['l2_bytes'] / _MIB:.0f} MiB"
    dashed = "" if peak is None else f"dashed: {peak:,.0f} GB/s, the memory's most"
    return look.finish(figure, f"{title}: {told}", dashed, held, source_of(run))


def _zeroed_flush(found: list[LieTime], run: dict[str, Any]) -> look.Figure:
    order = (
        "waits", "reads zeros", "reads noise", "writes zeros", "writes noise", "writes, then reads", PROTOCOL,
    )  # fmt: skip
    bars = {name: _named(found, method=name).median_us for name in order}
    return _bars("A call by what comes before it", bars, "{:.1f} µs", run)


def _mean_of_all(found: list[LieTime], run: dict[str, Any]) -> look.Figure:
    """The single calls of both passes in their order; lines are means, dashes medians."""
    figure, axes = look.start("Ten calls, fifteen times over", 3.8)
    told = []
    for method, color, marker, shift in (
        ("theirs, first", look.VERMILION, "o", -0.12),
        ("ours, second", look.BLUE, "s", 0.12),
    ):
        us = _named(found, method=method).us
        at = [call % CALLS + 1 + shift for call in range(len(us))]
        axes.plot(at, us, color=color, marker=marker, markersize=4, linestyle="", label=method)
        axes.axhline(mean(us), color=color, linewidth=1.4)
        told.append(f"{method}: mean {mean(us):.1f}, median {median(us):.1f}, most {max(us):.1f}")
    axes.axhline(median(us), color=look.INK, linestyle="--", linewidth=1.2, zorder=3)
    axes.set(xlabel="call", ylabel="µs", ylim=(0, None), xticks=range(1, CALLS + 1))
    alt = f"Microseconds of single calls, {'; '.join(told)}"
    lines = "lines: the means; dashed: the median of the second"
    return look.finish(figure, alt, lines, source_of(run))


def _slow_rival(found: list[LieTime], run: dict[str, Any]) -> look.Figure:
    every = sorted(found, key=lambda one: -one.median_us)
    bars = {LABELS.get(one.who, one.who): one.median_us for one in every}
    return _bars("One softmax by many hands", bars, "{:.1f} µs", run)


def _one_shape(found: list[LieTime], run: dict[str, Any]) -> look.Figure:
    """How many times as fast as torch `fusion` is, by the length of rows."""
    figure, axes = look.start("fusion beside torch, by the length of rows", 3.6)
    theirs = {one.cols: one.median_us for one in matching(found, who="torch")}
    gains = sorted(
        (cols, us / _named(found, who="fusion", cols=cols).median_us) for cols, us in theirs.items()
    )
    required(gains, "torch was not measured by the length of rows.")
    axes.plot(*zip(*gains, strict=True), color=look.BLUE, marker="D")
    axes.axhline(1, color=look.GREY, linestyle="--")
    best = max(gains, key=lambda point: point[1])
    ring = {"markersize": 13, "markerfacecolor": "none", "markeredgewidth": 2}
    axes.plot(*best, color=look.VERMILION, marker="o", **ring)
    look.powers_of_two(axes, [cols for cols, _ in gains][::2])
    axes.set(xlabel="columns", ylabel="times as fast", ylim=(0, None))
    told = ", ".join(f"{cols} columns {gain:.2f}" for cols, gain in gains)
    marks = "ring: the shape of the advertisement; dashed: as fast as torch"
    return look.finish(figure, f"How many times as fast as torch: {told}", marks, source_of(run))


def _easy_data(found: list[LieTime], run: dict[str, Any]) -> look.Figure:
    bars = {
        f"{who}, {one.data}": one.median_us / _named(found, who=who, data="normal").median_us
        for who in dict.fromkeys(one.who for one in found)
        for one in matching(found, who=who)
        if one.data != "normal"
    }
    if not bars:
        raise BadInput("No other data than normal noise were measured.")
    title = "Times, divided by that of normal noise"
    return _bars(title, bars, "{:.3f}", run, (1.0, "as on normal noise"))


def _bars(
    title: str,
    bars: Mapping[str, float],
    words: str,
    run: dict[str, Any],
    limit: tuple[float, str] | None = None,
) -> look.Figure:
    """A bar for each number, with its words; dashed a limit, beyond which bars have another colour, and what it is."""
    figure, axes = look.start(title, 1 + 0.38 * len(bars))
    for at, number in enumerate(bars.values()):
        beyond = limit is not None and number > TIE * limit[0]
        axes.barh(at, number, 0.55, color=look.VERMILION if beyond else look.BLUE)
        look.note(axes, words.format(number), (number, at), (5, 0))
    if limit is not None:
        axes.axvline(limit[0], color=look.GREY, linestyle="--", zorder=0.9)
    look.list_on_y(axes, list(bars))
    axes.grid(visible=False, axis="y")
    told = "; ".join(f"{label}: {words.format(number)}" for label, number in bars.items())
    dashed = "" if limit is None else f"dashed: {limit[1]}"
    return look.finish(figure, f"{title}: {told}", dashed, source_of(run))


_DRAW: dict[str, Callable[[list[LieTime], dict[str, Any]], look.Figure]] = {
    "no synchronisation": _no_synchronisation,
    "warm cache": _warm_cache,
    "zeroed flush": _zeroed_flush,
    "mean of all": _mean_of_all,
    "slow rival": _slow_rival,
    "one shape": _one_shape,
    "easy data": _easy_data,
}
