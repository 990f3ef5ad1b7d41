"""The suites of `softmax-lib bench` as tables in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.markup import escape

from softmax_lib.cli.answer import print_table
from softmax_lib.engine.words import count
from softmax_lib.records.reading import read_fields
from softmax_lib.suites.conform.record import FAULTS, VERDICTS, Asked, tally
from softmax_lib.suites.kept import rows_of
from softmax_lib.suites.lies.record import LieTime
from softmax_lib.suites.peers.record import contest_of, where_it_is_hard
from softmax_lib.suites.symptoms.record import SymptomTime, times_of
from softmax_lib.suites.times import CONTENDERS, lines_of

Line = tuple[str, ...]
END: Line = ()
"""After it a new section begins."""
_LOOKS: dict[str, Any] = {"box": box.SIMPLE_HEAD, "title_justify": "left", "pad_edge": False}


class Layout(NamedTuple):
    """A suite's table: its title, made of the run's fields, its columns, a line for each of its rows, and sentences below.

    Rows with one `section` stand under it. With `a_table_each_row` title and rows are made of a row of the run.
    """

    title: str
    columns: str
    line: Callable[[Any], Line]
    rows: Callable[[dict[str, Any]], Iterable[Any]] = lambda found: found["rows"]
    section: Callable[[Any], str] | None = None
    below: Callable[[dict[str, Any]], Iterable[str]] = lambda found: ()
    a_table_each_row: bool = False

    def lines(self, found: dict[str, Any]) -> Iterator[Line]:
        if self.section is None:
            yield from map(self.line, self.rows(found))
            return
        for heading, rows in groupby(self.rows(found), key=self.section):
            yield (f"[b]{heading}[/b]",)
            yield from map(self.line, rows)
            yield END


def print_run(suite: str, found: dict[str, Any]) -> None:
    """What a suite found: its table, and who was skipped and what disturbed it."""
    console, layout = Console(), LAYOUTS[suite]
    for one in found["rows"] if layout.a_table_each_row else [found]:
        headings = layout.columns.split(", ")
        words = {headings[0], "best peer", "contender"}
        title = layout.title.format(**one)
        print_table(console, headings, layout.lines(one), words, title=title, **_LOOKS)
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
    return _firsts(of_one)


def _firsts(of: dict[str, list[str]]) -> Iterator[str]:
    """Of each the first that is told, and how many more there are."""
    for name, (first, *more) in of.items():
        yield f"{name}: {first}{f' (and {len(more)} more)' * bool(more)}"


def _matrix(row: dict[str, Any]) -> str:
    return f"{row['rows']}x{row['cols']}"


def _beside_copy(us: float, copy_us: float) -> Line:
    """A time, and its share of a copy's speed."""
    return f"{us:.2f}", f"{copy_us / us:.0%}"


def _fastest(times: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return min(times, key=lambda time: time["us"])


def _setting(row: dict[str, Any], best: dict[str, Any], names: str, *others_us: float) -> Line:
    """A matrix, its best setting, the time and share of a copy's speed of that, and times of others."""
    setting = (str(best[name]) for name in names.split())
    times = _beside_copy(best["us"], row["copy_us"])
    return _matrix(row), *setting, *times, *(f"{us:.2f}" for us in others_us)


def _peers(row: dict[str, Any]) -> Line:
    """Our time, its share of a copy's speed, the best peer and our gain over it."""
    ours, share = _beside_copy(row["ours_us"], row["copy_us"])
    share = share if row["direction"] == "forward" else ""
    return f"{contest_of([row]).size()} {row['dtype']}", ours, share, *_best(row)


def _gains(found: dict[str, Any]) -> Iterator[str]:
    for direction, gain in found["gain"].items():
        told = "times as fast as the best peer of each cell, in geometric mean"
        some = [contest_of([row]) for row in found["rows"] if row["direction"] == direction]
        yield f"{direction}: {gain:.3f} {told}{where_it_is_hard(some)}"


def _best(row: dict[str, Any]) -> Line:
    """The best peer, its time, and our gain over it."""
    if not row["peers"]:
        return ("none",)
    name, best = min(row["peers"].items(), key=lambda one: one[1])
    return name, f"{best:.2f}", f"{best / row['ours_us']:.3f}"


def _topk(row: dict[str, Any]) -> Line:
    """Our time, its share of a copy's speed of reading, the best peer, our gain."""
    times = _beside_copy(row["ours_us"], row["copy_us"] / 2)
    return f"{_matrix(row)} {row['dtype']}", str(row["k"]), *times, *_best(row)


def _unroll(row: dict[str, Any]) -> Line:
    best = _fastest(time for time in row["times"] if time["kernel"] == "unroll")
    return _setting(row, best, "block_size unroll in_flight", row["others"]["float4"])


def _best_setting(
    names: str, is_ours: Callable[[dict[str, Any]], Any], beside: str
) -> Callable[[dict[str, Any]], Line]:
    """A line of our best setting, and the fastest time of who is `beside` it, if any is."""

    def line(row: dict[str, Any]) -> Line:
        best = _fastest(filter(is_ours, row["times"]))
        others = sorted(time["us"] for time in row["times"] if time["who"] == beside)
        return _setting(row, best, names, *others[:1])

    return line


def _sharded(row: dict[str, Any]) -> Line:
    """A shard, of how many; the fastest contender that gives the whole row's result."""
    name = min(row["us"].keys() & set(CONTENDERS), key=row["us"].__getitem__)
    times = _beside_copy(row["us"][name], row["copy_us"])
    return f"{_matrix(row)} {row['dtype']}", str(row["ranks"]), name, *times


def _lies(row: dict[str, Any]) -> Line:
    """Whose, by which method, of which matrix; its median, its mean, its bandwidth."""
    one = read_fields(LieTime, row)
    times = f"{one.median_us:.2f}", f"{one.mean_us:.2f}", f"{one.gb_per_s:,.0f}"
    return one.who, one.method, _matrix(row), one.data, *times


def _hardware(row: dict[str, Any]) -> Line:
    speed = f"{row['gb_per_s']:,.0f}" if "gb_per_s" in row else ""
    return row["level"], f"{row['cycles']:.1f}", f"{row['ns']:.1f}", speed


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


def _symptoms(one: SymptomTime) -> Line:
    """Who, on which matrix, how it was timed; its median, its bandwidth."""
    side, us = one.side, (f"{one.median_us:.2f}", f"{one.gb_per_s:,.0f}")
    return side.who, one.role, _matrix(vars(side)), str(side.block_size or ""), side.how, *us


def _model(found: dict[str, Any]) -> Iterator[Line]:
    """For each text a line per contender: tokens per second, and how many times torch's."""
    for row in found["rows"]:
        text = f"{row['batch']} x {row['length']} {row['dtype']}"
        for name, speed in row["tokens_per_s"].items():
            gain = row["gain"].get(name)
            yield text, name, f"{speed:,}", "" if gain is None else f"{gain:.3f}"
            text = ""
        yield END


def _conform(found: dict[str, Any]) -> Iterator[tuple[str, Line]]:
    """For each operator a line per kind of ask: how many there are, and how many of each verdict."""
    for name, kinds in tally(rows_of(Asked, found)).items():
        for kind, of in kinds.items():
            counts = (str(of[verdict] or "") for verdict in VERDICTS)
            yield name, (kind, str(of.total()), *counts)


def _faults(found: dict[str, Any]) -> Iterator[str]:
    """What an operator got wrong, a line for each kind of ask."""
    said: dict[str, list[str]] = {}
    for row in found["rows"]:
        for name, verdict in row["found"].items():
            if verdict in FAULTS:
                told = f"{row['ask']}: {row['told'].get(name, verdict)}"
                said.setdefault(f"{name}, {row['kind']}", []).append(told)
    return (escape(line) for line in _firsts(said))


_HERE = "on {gpu[name]}, {date}"
_ON = f"{_HERE}; times in microseconds"
_READ = "read: our share of the speed at which a copy reads"
LAYOUTS = {
    "peers": Layout(
        f"softmax() {_ON}", "matrix, ours, of copy, best peer, its time, gain", _peers,
        section=lambda row: row["direction"], below=_gains,
    ),
    "model": Layout(
        f"A transformer of {{model[layers]}} layers and {{model[vocabulary]}} words {_HERE}",
        "batch x length, contender, tokens per second, gain", tuple, _model,
    ),
    "topk": Layout(
        f"softmax_topk() {_ON}", "matrix, k, ours, read, best peer, its time, gain", _topk,
        section=lambda row: row["data"], below=lambda found: [_READ],
    ),
    "unroll": Layout(f"unroll {_ON}", "matrix, threads, unrolled, in flight, its time, of copy, float4", _unroll),
    "warp": Layout(
        f"warp {_ON}", "matrix, lanes, threads, its time, of copy, shuffle",
        _best_setting("lanes block_size", lambda time: time["who"] == "warp", "shuffle"),
        lambda found: [row for row in found["rows"] if row["part"] == "short"],
    ),
    "cluster": Layout(
        f"Clusters {_ON}", "matrix, contender, blocks, threads, its time, of copy, unroll",
        _best_setting("who cluster block_size", lambda time: time["cluster"], "unroll"),
    ),
    "triton": Layout(
        f"Triton {_ON}", "matrix, contender, warps, stages, its time, of copy, torch",
        _best_setting("who num_warps num_stages", lambda time: time["tile"], "torch"),
    ),
    "lies": Layout(
        f"Lies told {_ON}", "contender, method, matrix, data, median, mean, GB/s", _lies,
        lines_of, lambda row: row["lie"],
    ),
    "hardware": Layout("{gpu[name]}, {date}", "memory, cycles, nanoseconds, GB/s", _hardware, below=_waits_and_places),
    "phases": Layout(
        "{kernel}: {plain_us:.2f} us, noting the time {noted_us:.2f} us", "microsecond, GB/s read, GB/s written",
        lambda moved: (str(moved[0]), *(f"{of / 1e3:,.0f}" for of in moved[1])),
        lambda row: enumerate(zip(row["read_bytes"], row["written_bytes"], strict=True)),
        a_table_each_row=True,
    ),
    "shown": Layout(
        f"Kernels of chapters {_ON}", "matrix, kernel, its time, of copy, for any row",
        lambda row: _setting(row, row, "kernel", row["full_us"]),
    ),
    "precision": Layout(
        f"order_free {_ON}", "matrix, contender, its time, of copy",
        lambda row: (_matrix(row), row["who"], *_beside_copy(row["us"], row["copy_us"])),
        lines_of,
    ),
    "rmsnorm": Layout(
        f"RMSNorm {_ON}", "matrix, dtype, kernel, its time, of copy", lambda row: _setting(row, row, "dtype name"),
    ),
    "symptoms": Layout(
        f"Symptoms {_ON}", "contender, role, matrix, threads, timed, median, GB/s", _symptoms, times_of,
        lambda one: one.symptom,
    ),
    "sharded": Layout(
        f"Sharded rows {_ON}; a copy of one shard beside them", "matrix, GPUs, contender, its time, of copy", _sharded,
        lambda found: sorted(lines_of(found), key=lambda row: row["operator"]), lambda row: row["operator"],
    ),
    "conform": Layout(
        f"Beside torch's softmax {_HERE}", f"asked, number, {', '.join(VERDICTS)}", lambda row: row[1], _conform,
        lambda row: row[0], _faults,
    ),
}  # fmt: skip
"""By the names that `--suite` takes."""
