"""The suite of peers as a table in a terminal."""

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
    for reason in found["skipped"].values():
        console.print(f"Skipped: {reason}", markup=False, soft_wrap=True)
    for note in found["notes"]:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)
