"""The page Benchmark lies: for each lie, what was advertised beside what catches it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from softmax_lib.records.measurement import LABELS, TIE
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import matching, source_of
from softmax_lib.suites.lies import curves as lie_curves
from softmax_lib.suites.lies.curves import named, of_lie
from softmax_lib.suites.lies.record import ADVERTISED, PROTOCOL, LieTime, find_lie, lie_run, peak_of
from softmax_lib.suites.look import (
    BLUE,
    GREY,
    VERMILION,
    Figure,
    drawn,
    finish,
    note,
    start,
)
from softmax_lib.worklog.errors import BadInput


@drawn
def lie(name: str, *, gpu: str = DEFAULT_GPU, run: dict[str, Any] | None = None) -> Figure:
    """What a lie of `records.lies.LIES` advertises, beside what catches it.

    Read from the newest run kept on `gpu`, or from `run`, as `bench.lies` returns it. Raises `BadInput` for
    another name, and for what was not measured.
    """
    found = find_lie(name)
    run = lie_run(gpu) if run is None else run
    return _DRAW[found](of_lie(run, found), run)


def _no_synchronisation(found: list[LieTime], run: dict[str, Any]) -> Figure:
    labels = {ADVERTISED: "as advertised", "synchronised": "one line more", PROTOCOL: "protocol"}
    bars = [(words, named(found, method=name).gb_per_s) for name, words in labels.items()]
    peak = peak_of(run)
    most = None if peak is None else (peak, f"{peak:,.0f} GB/s, the memory's most")
    return _bars("GB/s that the times would mean", bars, "{:,.0f} GB/s", run, most)


def _zeroed_flush(found: list[LieTime], run: dict[str, Any]) -> Figure:
    order = (
        "waits",
        "reads zeros",
        "reads noise",
        "writes zeros",
        "writes noise",
        "writes, then reads",
        PROTOCOL,
    )
    bars = [(name, named(found, method=name).median_us) for name in order]
    return _bars("A call by what comes before it", bars, "{:.1f} µs", run)


def _slow_rival(found: list[LieTime], run: dict[str, Any]) -> Figure:
    every = sorted(found, key=lambda one: -one.median_us)
    bars = [(LABELS.get(one.who, one.who), one.median_us) for one in every]
    return _bars("One softmax by many hands", bars, "{:.1f} µs", run)


def _easy_data(found: list[LieTime], run: dict[str, Any]) -> Figure:
    bars = [
        (f"{who}, {one.data}", one.median_us / named(found, who=who, data="normal").median_us)
        for who in dict.fromkeys(one.who for one in found)
        for one in matching(found, who=who)
        if one.data != "normal"
    ]
    if not bars:
        raise BadInput("No other data than normal noise were measured.")
    title = "Times, divided by that of normal noise"
    return _bars(title, bars, "{:.3f}", run, (1.0, "as on normal noise"))


def _bars(
    title: str,
    bars: Sequence[tuple[str, float]],
    words: str,
    run: dict[str, Any],
    limit: tuple[float, str] | None = None,
) -> Figure:
    """A bar for each number, with its words; dashed a limit, beyond which bars have another colour, and what it is."""
    figure = start(title, 1 + 0.38 * len(bars))
    axes = figure.subplots()
    for at, (_, number) in enumerate(bars):
        beyond = limit is not None and number > TIE * limit[0]
        axes.barh(at, number, 0.55, color=VERMILION if beyond else BLUE)
        note(axes, words.format(number), (number, at), (5, 0))
    if limit is not None:
        axes.axvline(limit[0], color=GREY, linestyle="--", zorder=0.9)
    axes.set_yticks(range(len(bars)), [label for label, _ in bars])
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    told = "; ".join(f"{label}: {words.format(number)}" for label, number in bars)
    dashed = "" if limit is None else f"dashed: {limit[1]}"
    return finish(figure, f"{title}: {told}", dashed, source_of(run))


_DRAW: dict[str, Callable[[list[LieTime], dict[str, Any]], Figure]] = {
    "no synchronisation": _no_synchronisation,
    "warm cache": lie_curves.warm_cache,
    "zeroed flush": _zeroed_flush,
    "mean of all": lie_curves.mean_of_all,
    "slow rival": _slow_rival,
    "one shape": lie_curves.one_shape,
    "easy data": _easy_data,
}
