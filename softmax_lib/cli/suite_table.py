"""The suites of `softmax-lib bench` as tables in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from softmax_lib.engine.words import count
from softmax_lib.records.reading import read_fields
from softmax_lib.suites.lies.record import LieTime
from softmax_lib.suites.symptoms.record import times_of


def print_suite(found: dict[str, Any]) -> None:
    """A line per cell: our time, its share of a copy's speed, the best peer and our gain over it."""
    console = Console()
    title = f"softmax() on {found['gpu']['name']}, {found['date']}; times in microseconds"
    table = _table(title, "matrix", "ours", "of copy", "best peer", "its time", "gain")
    for direction, rows in groupby(found["rows"], key=lambda row: row["direction"]):
        table.add_row(f"[b]{direction}[/b]")
        for row in rows:
            table.add_row(f"{row['rows']}x{row['cols']} {row['dtype']}", *_cell(row))
        table.add_section()
    console.print(table)
    for direction, gain in found["gain"].items():
        told = "times as fast as the best peer of each cell, in geometric mean"
        console.print(f"{direction}: {gain:.3f} {told}")
    _print_remarks(console, found)


def _cell(row: dict[str, Any]) -> tuple[str, ...]:
    share = f"{row['copy_us'] / row['ours_us']:.0%}" if row["direction"] == "forward" else ""
    ours = f"{row['ours_us']:.2f}"
    return ours, share, *_best(row)


def _best(row: dict[str, Any]) -> tuple[str, ...]:
    """The best peer, its time, and our gain over it."""
    if not row["peers"]:
        return ("none",)
    name, best = min(row["peers"].items(), key=lambda one: one[1])
    return name, f"{best:.2f}", f"{best / row['ours_us']:.3f}"


def print_topk(found: dict[str, Any]) -> None:
    """For each kind of data a line per cell: our time, its share of a copy's speed of reading, the best peer, our gain."""
    console = Console()
    title = f"softmax_topk() on {found['gpu']['name']}, {found['date']}; times in microseconds"
    table = _table(title, "matrix", "k", "ours", "read", "best peer", "its time", "gain")
    for data, rows in groupby(found["rows"], key=lambda row: row["data"]):
        table.add_row(f"[b]{data}[/b]")
        for row in rows:
            read = f"{row['copy_us'] / 2 / row['ours_us']:.0%}"
            name = f"{row['rows']}x{row['cols']} {row['dtype']}"
            table.add_row(name, str(row["k"]), f"{row['ours_us']:.2f}", read, *_best(row))
        table.add_section()
    console.print(table)
    console.print("read: our share of the speed at which a copy reads")
    _print_remarks(console, found)


def print_unroll(found: dict[str, Any]) -> None:
    """For each matrix a line: the best setting, its time and share of a copy's speed, and what it is compared with."""
    console = Console()
    title = f"unroll on {found['gpu']['name']}, {found['date']}; times in microseconds"
    table = _table(
        title, "matrix", "threads", "unrolled", "in flight", "its time", "of copy", "float4"
    )
    for row in found["rows"]:
        ours = [time for time in row["times"] if time["kernel"] == "unroll"]
        best = min(ours, key=lambda time: time["us"])
        setting = (str(best[name]) for name in ("block_size", "unroll", "in_flight"))
        share = f"{row['copy_us'] / best['us']:.0%}"
        float4 = f"{row['others']['float4']:.2f}"
        table.add_row(f"{row['rows']}x{row['cols']}", *setting, f"{best['us']:.2f}", share, float4)
    console.print(table)
    _print_remarks(console, found)


def print_warps(found: dict[str, Any]) -> None:
    """For each matrix of short rows a line: the best setting, its time and share of a copy's speed, and `shuffle`."""
    console = Console()
    title = f"warp on {found['gpu']['name']}, {found['date']}; times in microseconds"
    table = _table(title, "matrix", "lanes", "threads", "its time", "of copy", "shuffle")
    for row in found["rows"]:
        if row["part"] == "short":
            us = lambda time: time["us"]  # noqa: E731
            best = min((time for time in row["times"] if time["who"] == "warp"), key=us)
            shuffle = min((time for time in row["times"] if time["who"] == "shuffle"), key=us)
            table.add_row(
                f"{row['rows']}x{row['cols']}", str(best["lanes"]), str(best["block_size"]),
                f"{best['us']:.2f}", f"{row['copy_us'] / best['us']:.0%}", f"{shuffle['us']:.2f}",
            )  # fmt: skip
    console.print(table)
    _print_remarks(console, found)


def print_tiles(found: dict[str, Any]) -> None:
    """For each matrix a line: the best setting of a Triton kernel, its time and share of a copy's speed, and torch's time."""
    console = Console()
    title = f"Triton on {found['gpu']['name']}, {found['date']}; times in microseconds"
    table = _table(title, "matrix", "contender", "warps", "stages", "its time", "of copy", "torch")
    for row in found["rows"]:
        best = min((time for time in row["times"] if time["tile"]), key=lambda time: time["us"])
        torchs = [f"{time['us']:.2f}" for time in row["times"] if time["who"] == "torch"]
        setting = (best["who"], str(best["num_warps"]), str(best["num_stages"]))
        share = f"{row['copy_us'] / best['us']:.0%}"
        table.add_row(f"{row['rows']}x{row['cols']}", *setting, f"{best['us']:.2f}", share, *torchs)
    console.print(table)
    _print_remarks(console, found)


def print_lies(found: dict[str, Any]) -> None:
    """For each lie a line per time: whose, by which method, of which matrix; its median, its mean, its bandwidth."""
    console = Console()
    title = f"Lies told on {found['gpu']['name']}, {found['date']}; times in microseconds"
    table = _table(title, "contender", "method", "matrix", "data", "median", "mean", "GB/s")
    for row in found["rows"]:
        table.add_row(f"[b]{row['lie']}[/b]")
        for line in row["times"]:
            one = read_fields(LieTime, {**row, **line})
            table.add_row(
                one.who, one.method, f"{one.rows}x{one.cols}", one.data,
                f"{one.median_us:.2f}", f"{one.mean_us:.2f}", f"{one.gb_per_s:,.0f}",
            )  # fmt: skip
        table.add_section()
    console.print(table)
    _print_remarks(console, found)


def print_hardware(found: dict[str, Any]) -> None:
    """A line per kind of memory, how long warps took together, and how many blocks a multiprocessor held."""
    console = Console()
    title = f"{found['gpu']['name']}, {found['date']}"
    table = _table(title, "memory", "cycles", "nanoseconds", "GB/s")
    for row in found["rows"]:
        speed = f"{row['gb_per_s']:,.0f}" if "gb_per_s" in row else ""
        table.add_row(row["level"], f"{row['cycles']:.1f}", f"{row['ns']:.1f}", speed)
    console.print(table)
    for row in found["waits"]:
        console.print(
            f"{count(row['warps'], 'warp')} waiting and computing by turns: {row['cycles']:,} cycles"
        )
    for row in found["places"]:
        told = f"{row['registers']} registers per thread, {row['shared_bytes']:,} bytes of shared memory"
        most, rounds = max(map(max, row["held"])), row["took_ns"] / row["stay_ns"]
        console.print(
            f"{count(row['blocks'], 'block')} of {row['threads']}, {told}: up to {most} each, {rounds:.2f} rounds"
        )
    _print_remarks(console, found)


def print_phases(found: dict[str, Any]) -> None:
    """For each kernel its time without and with the clock, and GB/s read and written in each microsecond."""
    console = Console()
    for row in found["rows"]:
        times = f"{row['plain_us']:.2f} us, noting the time {row['noted_us']:.2f} us"
        table = _table(f"{row['kernel']}: {times}", "microsecond", "GB/s read", "GB/s written")
        moved = zip(row["read_bytes"], row["written_bytes"], strict=True)
        for at, (read, written) in enumerate(moved):
            table.add_row(str(at), f"{read / 1e3:,.0f}", f"{written / 1e3:,.0f}")
        console.print(table)
    _print_remarks(console, found)


def print_shown(found: dict[str, Any]) -> None:
    """For each matrix a line: a kernel as its chapter shows it, its time and share of a copy's speed, and its full form's."""
    console = Console()
    title = f"Kernels of chapters on {found['gpu']['name']}, {found['date']}; times in microseconds"
    table = _table(title, "matrix", "kernel", "its time", "of copy", "for any row")
    for row in found["rows"]:
        times = f"{row['us']:.2f}", f"{row['copy_us'] / row['us']:.0%}", f"{row['full_us']:.2f}"
        table.add_row(f"{row['rows']}x{row['cols']}", row["kernel"], *times)
    console.print(table)
    _print_remarks(console, found)


def print_rmsnorm(found: dict[str, Any]) -> None:
    """For each matrix and kernel a line: its time and share of a copy's speed."""
    console = Console()
    title = f"RMSNorm on {found['gpu']['name']}, {found['date']}; times in microseconds"
    table = _table(title, "matrix", "dtype", "kernel", "its time", "of copy")
    for row in found["rows"]:
        times = f"{row['us']:.2f}", f"{row['copy_us'] / row['us']:.0%}"
        table.add_row(f"{row['rows']}x{row['cols']}", row["dtype"], row["name"], *times)
    console.print(table)
    _print_remarks(console, found)


def print_symptoms(found: dict[str, Any]) -> None:
    """For each symptom a line per side: what it is, who, on which matrix, how it was timed; its median, its bandwidth."""
    console = Console()
    title = f"Symptoms on {found['gpu']['name']}, {found['date']}; times in microseconds"
    table = _table(title, "contender", "role", "matrix", "threads", "timed", "median", "GB/s")
    for symptom, times in groupby(times_of(found), key=lambda one: one.symptom):
        table.add_row(f"[b]{symptom}[/b]")
        for one in times:
            side = one.side
            table.add_row(
                side.who, one.role, f"{side.rows}x{side.cols}", str(side.block_size or ""), side.how,
                f"{one.median_us:.2f}", f"{one.gb_per_s:,.0f}",
            )  # fmt: skip
        table.add_section()
    console.print(table)
    _print_remarks(console, found)


def print_model(found: dict[str, Any]) -> None:
    """For each text a line per contender: tokens per second, and how many times torch's."""
    console = Console()
    model = found["model"]
    title = (
        f"A transformer of {model['layers']} layers and {model['vocabulary']} words on "
        f"{found['gpu']['name']}, {found['date']}"
    )
    table = _table(title, "batch x length", "contender", "tokens per second", "gain")
    for row in found["rows"]:
        text = f"{row['batch']} x {row['length']} {row['dtype']}"
        for name, speed in row["tokens_per_s"].items():
            gain = row["gain"].get(name)
            table.add_row(text, name, f"{speed:,}", "" if gain is None else f"{gain:.3f}")
            text = ""
        table.add_section()
    console.print(table)
    _print_remarks(console, found)


def _table(title: str, first: str, *headings: str) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column(first, no_wrap=True)
    for heading in headings:
        names = heading in ("best peer", "contender")
        table.add_column(heading, justify="left" if names else "right", no_wrap=True)
    return table


def _print_remarks(console: Console, found: dict[str, Any]) -> None:
    for line in _skipped(found.get("skipped", {}).items()):
        console.print(f"Skipped: {line}", markup=False, soft_wrap=True)
    for note in found["notes"]:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)


def _skipped(reasons: Iterable[tuple[str, str]]) -> Iterable[str]:
    """One line for each that was skipped: its first reason, and on how many cells it has one."""
    first: dict[str, str] = {}
    count: dict[str, int] = {}
    for what, reason in reasons:
        name = what.partition(" on ")[0]
        first.setdefault(name, reason)
        count[name] = count.get(name, 0) + 1
    for name, reason in first.items():
        more = count[name] - 1
        yield f"{name}: {reason}{f' (and {more} more)' * bool(more)}"
