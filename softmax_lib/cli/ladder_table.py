"""The ladder as a table in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from softmax_lib.cli.ladder import Ladder


def print_ladder(ladder: Ladder) -> None:
    """A line per rung, where the times come from, and why one has none."""
    sources = dict.fromkeys(
        f"{rung.source or 'not measured at this shape'}{' (*)' if rung.stale else ''}"
        for rung in ladder.kernels
    )
    table = Table(
        title=f"softmax of ({ladder.rows}, {ladder.cols}) float32, run on {ladder.device}",
        caption=f"times {'; '.join(sources)}",
    )
    for heading in (
        "kernel",
        "block",
        "reads + writes",
        "worst error",
        "time",
        "GB/s",
        "of a copy",
    ):
        table.add_column(heading, justify="left" if heading == "kernel" else "right")
    for rung in ladder.kernels:
        times = ["-", "-", "-"]
        if rung.time_us is not None:
            mark = "*" if rung.stale else ""
            shown = (f"{rung.time_us:.1f} us", f"{rung.gb_per_s:.0f}", f"{rung.copy_share:.0%}")
            times = [f"{time}{mark}" for time in shown]
        block, traffic = str(rung.block_size), f"{rung.reads} + {rung.writes}"
        table.add_row(rung.name, block, traffic, f"{rung.max_abs_error:.1e}", *times)
    console = Console(markup=False)
    console.print(table)
    for name, reason in ladder.skipped.items():
        console.print(f"Skipped {name}: {reason}", soft_wrap=True)
