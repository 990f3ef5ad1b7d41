"""What `softmax-lib tune` found, as a table in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from softmax_lib.bench.tuning import Trial


def print_trials(trials: Sequence[Trial]) -> None:
    """A line per matrix: the design that softmax() takes now, its time, and what that gained."""
    table = Table(title="softmax() on this GPU; times in microseconds")
    for heading in ("rows x cols", "dtype", "direction", "design", "time", "of a copy", "gain"):
        numeric = heading in ("rows x cols", "time", "of a copy", "gain")
        table.add_column(heading, justify="right" if numeric else "left")
    for trial in trials:
        cell = trial.cell
        is_new = trial.after != trial.before
        table.add_row(
            f"{cell.rows} x {cell.cols}",
            cell.dtype,
            cell.direction,
            str(trial.after),
            f"{trial.after_us:.2f}",
            f"{trial.copy_us / trial.after_us:.0%}" if cell.direction == "forward" else "",
            f"{trial.before_us / trial.after_us:.3f}" if is_new else "",
        )
    Console().print(table)
