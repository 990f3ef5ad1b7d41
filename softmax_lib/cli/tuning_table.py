"""What `softmax-lib tune` found, as a table in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from softmax_lib.suites.tuning import Trial


def print_trials(trials: Sequence[Trial]) -> None:
    """A line per matrix: the design that softmax() takes now, its time, and what that gained."""
    table = Table(title="softmax() on this GPU; times in microseconds")
    table.add_column("matrix", no_wrap=True)
    table.add_column("design")
    for heading in ("time", "of a copy", "gain"):
        table.add_column(heading, justify="right", no_wrap=True)
    for trial in trials:
        table.add_row(*_cells(trial))
    console = Console()
    console.print(table)
    console.print(
        "A design: threads of a warp, or blocks x threads, for each row; chunks of 16 bytes that a "
        "thread holds in registers + in shared memory; how it loads and stores."
    )


def _cells(trial: Trial) -> tuple[str, ...]:
    us, is_timed = trial.after_us, trial.after_us < inf
    is_forward = trial.cell.direction == "forward"
    gained = trial.after != trial.before and trial.before_us < inf
    return (
        str(trial.cell),
        str(trial.after),
        f"{us:.2f}" if is_timed else "no room",
        f"{trial.copy_us / us:.0%}" if is_timed and is_forward else "",
        f"{trial.before_us / us:.3f}" if gained else "",
    )
