"""The suites of `softmax-lib bench` as tables in a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table


def print_suite(found: dict[str, Any]) -> None:
    """A line per cell: our time, its share of a copy's speed, the best peer and our gain over it."""
    table = Table(
        title=f"softmax() on {found['gpu']['name']}, {found['date']}; times in microseconds"
    )
    for heading in (
        "rows x cols",
        "dtype",
        "direction",
        "ours",
        "of a copy",
        "best peer",
        "",
        "gain",
    ):
        table.add_column(heading, justify="left" if heading in ("dtype", "direction") else "right")
    for row in found["rows"]:
        name, best = min(row["peers"].items(), key=lambda one: one[1], default=("none", None))
        share = f"{row['copy_us'] / row['ours_us']:.0%}" if row["direction"] == "forward" else ""
        gain = "" if best is None else f"{best / row['ours_us']:.3f}"
        shape = f"{row['rows']} x {row['cols']}"
        shown = "" if best is None else f"{best:.2f}"
        table.add_row(
            shape, row["dtype"], row["direction"], f"{row['ours_us']:.2f}", share, name, shown, gain
        )
    console = Console()
    console.print(table)
    for direction, gain in found["gain"].items():
        told = "times as fast as the best peer of each cell, in geometric mean"
        console.print(f"{direction}: {gain:.3f} {told}")
    _print_remarks(console, found)


def print_model(found: dict[str, Any]) -> None:
    """A line per text: tokens per second of each contender, and our gain over torch."""
    names = list(dict.fromkeys(name for row in found["rows"] for name in row["tokens_per_s"]))
    model = found["model"]
    table = Table(
        title=f"A transformer of {model['layers']} layers and {model['vocabulary']} words on "
        f"{found['gpu']['name']}, {found['date']}; tokens per second"
    )
    for heading in ("batch x length", "dtype", *names, "gain"):
        table.add_column(heading, justify="left" if heading == "dtype" else "right")
    for row in found["rows"]:
        speeds = (row["tokens_per_s"].get(name) for name in names)
        shown = ("" if speed is None else f"{speed:,}" for speed in speeds)
        table.add_row(
            f"{row['batch']} x {row['length']}", row["dtype"], *shown, f"{row['gain']:.3f}"
        )
    console = Console()
    console.print(table)
    _print_remarks(console, found)


def _print_remarks(console: Console, found: dict[str, Any]) -> None:
    for reason in found["skipped"].values():
        console.print(f"Skipped: {reason}", markup=False, soft_wrap=True)
    for note in found["notes"]:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)
