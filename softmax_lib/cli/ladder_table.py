"""The ladder as a table in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from softmax_lib.cli.ladder import Ladder, Rung


def print_ladder(ladder: Ladder) -> None:
    """A line per rung, where it was checked, where the times come from, and why one has none."""
    console = Console(markup=False)
    console.print(_table(ladder))
    for name, reason in ladder.skipped.items():
        console.print(f"Skipped {name}: {reason}", soft_wrap=True)


def _table(ladder: Ladder) -> Table:
    sources = dict.fromkeys(
        f"{rung.source}{' (*)' if rung.stale else ''}" for rung in ladder.kernels if rung.source
    )
    where = {"cpu": "this CPU", "cuda": "this GPU"}[ladder.device]
    table = Table(
        title=f"softmax of ({ladder.rows}, {ladder.cols}) float32, checked on {where}",
        caption=f"times {'; '.join(sources)}" if sources else "no times for this matrix",
    )
    headings = ["kernel", "block", "reads + writes", "worst error"]
    headings += ["time", "GB/s", "of a copy"] if ladder.is_timed else []
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "kernel" else "right")
    for rung in ladder.kernels:
        table.add_row(*[*_checked(rung), *_times(rung)][: len(headings)])
    return table


def _checked(rung: Rung) -> list[str]:
    traffic = "-" if rung.reads is None else f"{rung.reads} + {rung.writes}"
    error = f"{rung.max_abs_error:.1e}" if rung.ok else f"wrong: {rung.max_abs_error:.1e}"
    return [rung.name, str(rung.block_size), traffic, error]


def _times(rung: Rung) -> list[str]:
    if rung.time_us is None:
        return ["-", "-", "-"]
    mark = "*" if rung.stale else ""
    shown = (f"{rung.time_us:.1f} us", f"{rung.gb_per_s:.0f}", f"{rung.copy_share:.0%}")
    return [f"{time}{mark}" for time in shown]
