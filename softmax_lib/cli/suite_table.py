"""The suites of `softmax-lib bench` as tables in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from rich import box
from rich.console import Console

from softmax_lib.cli.answer import table
from softmax_lib.engine.words import count
from softmax_lib.records.reading import read_fields
from softmax_lib.suites.lies.record import LieTime
from softmax_lib.suites.symptoms.record import times_of

Line = tuple[str, ...]
END: Line = ()
"""After it a new section begins."""
_LOOKS: dict[str, Any] = {"box": box.SIMPLE_HEAD, "title_justify": "left", "pad_edge": False}


class Layout(NamedTuple):
    """A suite's table: its title, made of the run's fields, its columns, its lines, and sentences below it."""

    title: str
    columns: str
    lines: Callable[[dict[str, Any]], Iterable[Line]]
    below: Callable[[dict[str, Any]], Iterable[str]] = lambda found: ()
    a_table_each_row: bool = False
    """The title and the lines are then made of a row of the run."""


def print_run(suite: str, found: dict[str, Any]) -> None:
    """What a suite found: its table, and who was skipped and what disturbed it."""
    console, layout = Console(), LAYOUTS[suite]
    for one in found["rows"] if layout.a_table_each_row else [found]:
        headings = layout.columns.split(", ")
        words = {headings[0], "best peer", "contender"}
        title = layout.title.format(**one)
        console.print(table(headings, layout.lines(one), words, title=title, **_LOOKS))
    for told in layout.below(found):
        console.print(told)
    for line in _skipped(found.get("skipped", {}).items()):
        console.print(f"Skipped: {line}", markup=False, soft_wrap=True)
    for note in found["notes"]:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)


def _skipped(reasons: Iterable[tuple[str, str]]) -> Iterable[str]:
    """One line for each that was skipped: its first reason, and on how many cells it has one."""
    of_one: dict[str, list[str]] = {}
    for what, reason in reasons:
        of_one.setdefault(what.partition(" on ")[0], []).append(reason)
    for name, (first, *more) in of_one.items():
        yield f"{name}: {first}{f' (and {len(more)} more)' * bool(more)}"


def _bold(heading: str) -> Line:
    return (f"[b]{heading}[/b]",)


def _matrix(row: dict[str, Any]) -> str:
    return f"{row['rows']}x{row['cols']}"


def _beside_copy(us: float, copy_us: float) -> Line:
    """A time, and its share of a copy's speed."""
    return f"{us:.2f}", f"{copy_us / us:.0%}"


def _fastest(times: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return min(times, key=lambda time: time["us"])


def _peers(found: dict[str, Any]) -> Iterator[Line]:
    """A line per cell: our time, its share of a copy's speed, the best peer and our gain over it."""
    for direction, rows in groupby(found["rows"], key=lambda row: row["direction"]):
        yield _bold(direction)
        for row in rows:
            ours, share = _beside_copy(row["ours_us"], row["copy_us"])
            share = share if direction == "forward" else ""
            yield f"{_matrix(row)} {row['dtype']}", ours, share, *_best(row)
        yield END


def _gains(found: dict[str, Any]) -> Iterator[str]:
    for direction, gain in found["gain"].items():
        told = "times as fast as the best peer of each cell, in geometric mean"
        yield f"{direction}: {gain:.3f} {told}"


def _best(row: dict[str, Any]) -> Line:
    """The best peer, its time, and our gain over it."""
    if not row["peers"]:
        return ("none",)
    name, best = min(row["peers"].items(), key=lambda one: one[1])
    return name, f"{best:.2f}", f"{best / row['ours_us']:.3f}"


def _topk(found: dict[str, Any]) -> Iterator[Line]:
    """For each kind of data a line per cell: our time, its share of a copy's speed of reading, the best peer, our gain."""
    for data, rows in groupby(found["rows"], key=lambda row: row["data"]):
        yield _bold(data)
        for row in rows:
            times = _beside_copy(row["ours_us"], row["copy_us"] / 2)
            yield f"{_matrix(row)} {row['dtype']}", str(row["k"]), *times, *_best(row)
        yield END


def _unroll(found: dict[str, Any]) -> Iterator[Line]:
    """For each matrix the best setting, its time and share of a copy's speed, and what it is compared with."""
    for row in found["rows"]:
        best = _fastest(time for time in row["times"] if time["kernel"] == "unroll")
        setting = (str(best[name]) for name in ("block_size", "unroll", "in_flight"))
        times = _beside_copy(best["us"], row["copy_us"])
        yield _matrix(row), *setting, *times, f"{row['others']['float4']:.2f}"


def _warp(found: dict[str, Any]) -> Iterator[Line]:
    """For each matrix of short rows the best setting, its time and share of a copy's speed, and `shuffle`."""
    for row in found["rows"]:
        if row["part"] == "short":
            best, shuffle = (
                _fastest(time for time in row["times"] if time["who"] == who)
                for who in ("warp", "shuffle")
            )
            setting = (str(best[name]) for name in ("lanes", "block_size"))
            times = _beside_copy(best["us"], row["copy_us"])
            yield _matrix(row), *setting, *times, f"{shuffle['us']:.2f}"


def _triton(found: dict[str, Any]) -> Iterator[Line]:
    """For each matrix the best setting of a Triton kernel, its time and share of a copy's speed, and torch's time."""
    for row in found["rows"]:
        best = _fastest(time for time in row["times"] if time["tile"])
        torchs = [f"{time['us']:.2f}" for time in row["times"] if time["who"] == "torch"]
        setting = (str(best[name]) for name in ("who", "num_warps", "num_stages"))
        yield _matrix(row), *setting, *_beside_copy(best["us"], row["copy_us"]), *torchs


def _lies(found: dict[str, Any]) -> Iterator[Line]:
    """For each lie a line per time: whose, by which method, of which matrix; its median, its mean, its bandwidth."""
    for row in found["rows"]:
        yield _bold(row["lie"])
        for line in row["times"]:
            one = read_fields(LieTime, {**row, **line})
            times = f"{one.median_us:.2f}", f"{one.mean_us:.2f}", f"{one.gb_per_s:,.0f}"
            yield one.who, one.method, _matrix(line), one.data, *times
        yield END


def _hardware(found: dict[str, Any]) -> Iterator[Line]:
    """A line per kind of memory."""
    for row in found["rows"]:
        speed = f"{row['gb_per_s']:,.0f}" if "gb_per_s" in row else ""
        yield row["level"], f"{row['cycles']:.1f}", f"{row['ns']:.1f}", speed


def _waits_and_places(found: dict[str, Any]) -> Iterator[str]:
    """How long warps took together, and how many blocks a multiprocessor held."""
    for row in found["waits"]:
        warps = count(row["warps"], "warp")
        yield f"{warps} waiting and computing by turns: {row['cycles']:,} cycles"
    for row in found["places"]:
        told = f"{row['registers']} registers per thread, {row['shared_bytes']:,} bytes of shared memory"
        most, rounds = max(map(max, row["held"])), row["took_ns"] / row["stay_ns"]
        blocks = f"{count(row['blocks'], 'block')} of {row['threads']}"
        yield f"{blocks}, {told}: up to {most} each, {rounds:.2f} rounds"


def _phases(row: dict[str, Any]) -> Iterator[Line]:
    """GB/s read and written in each microsecond."""
    moved = zip(row["read_bytes"], row["written_bytes"], strict=True)
    for at, (read, written) in enumerate(moved):
        yield str(at), f"{read / 1e3:,.0f}", f"{written / 1e3:,.0f}"


def _shown(found: dict[str, Any]) -> Iterator[Line]:
    """A kernel as its chapter shows it, its time and share of a copy's speed, and its full form's."""
    for row in found["rows"]:
        times = _beside_copy(row["us"], row["copy_us"])
        yield _matrix(row), row["kernel"], *times, f"{row['full_us']:.2f}"


def _rmsnorm(found: dict[str, Any]) -> Iterator[Line]:
    """For each matrix and kernel its time and share of a copy's speed."""
    for row in found["rows"]:
        times = _beside_copy(row["us"], row["copy_us"])
        yield _matrix(row), row["dtype"], row["name"], *times


def _symptoms(found: dict[str, Any]) -> Iterator[Line]:
    """For each symptom a line per side: who, on which matrix, how it was timed; its median, its bandwidth."""
    for symptom, times in groupby(times_of(found), key=lambda one: one.symptom):
        yield _bold(symptom)
        for one in times:
            side = one.side
            timed = str(side.block_size or ""), side.how
            us = f"{one.median_us:.2f}", f"{one.gb_per_s:,.0f}"
            yield side.who, one.role, _matrix(vars(side)), *timed, *us
        yield END


def _model(found: dict[str, Any]) -> Iterator[Line]:
    """For each text a line per contender: tokens per second, and how many times torch's."""
    for row in found["rows"]:
        text = f"{row['batch']} x {row['length']} {row['dtype']}"
        for name, speed in row["tokens_per_s"].items():
            gain = row["gain"].get(name)
            yield text, name, f"{speed:,}", "" if gain is None else f"{gain:.3f}"
            text = ""
        yield END


_HERE = "on {gpu[name]}, {date}"
_ON = f"{_HERE}; times in microseconds"
_READ = "read: our share of the speed at which a copy reads"
LAYOUTS = {
    "peers": Layout(f"softmax() {_ON}", "matrix, ours, of copy, best peer, its time, gain", _peers, _gains),
    "model": Layout(
        f"A transformer of {{model[layers]}} layers and {{model[vocabulary]}} words {_HERE}",
        "batch x length, contender, tokens per second, gain", _model,
    ),
    "topk": Layout(
        f"softmax_topk() {_ON}", "matrix, k, ours, read, best peer, its time, gain", _topk, lambda found: [_READ],
    ),
    "unroll": Layout(f"unroll {_ON}", "matrix, threads, unrolled, in flight, its time, of copy, float4", _unroll),
    "warp": Layout(f"warp {_ON}", "matrix, lanes, threads, its time, of copy, shuffle", _warp),
    "triton": Layout(f"Triton {_ON}", "matrix, contender, warps, stages, its time, of copy, torch", _triton),
    "lies": Layout(f"Lies told {_ON}", "contender, method, matrix, data, median, mean, GB/s", _lies),
    "hardware": Layout("{gpu[name]}, {date}", "memory, cycles, nanoseconds, GB/s", _hardware, _waits_and_places),
    "phases": Layout(
        "{kernel}: {plain_us:.2f} us, noting the time {noted_us:.2f} us", "microsecond, GB/s read, GB/s written",
        _phases, a_table_each_row=True,
    ),
    "shown": Layout(f"Kernels of chapters {_ON}", "matrix, kernel, its time, of copy, for any row", _shown),
    "rmsnorm": Layout(f"RMSNorm {_ON}", "matrix, dtype, kernel, its time, of copy", _rmsnorm),
    "symptoms": Layout(f"Symptoms {_ON}", "contender, role, matrix, threads, timed, median, GB/s", _symptoms),
}  # fmt: skip
"""By the names that `--suite` takes."""
