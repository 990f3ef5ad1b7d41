"""What `softmax-lib bench --suite peers` measured: `softmax()` beside its peers."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from statistics import geometric_mean, mean
from typing import Any, Literal

from softmax_lib.records.measurement import LABELS
from softmax_lib.records.reading import require_types
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import Runs

LEVEL = 0.01
"""Who is ahead by more than this in every run is ahead; else we are level."""

_ROW: dict[str, Any] = {
    "rows": int, "cols": int, "dtype": str, "direction": Literal["forward", "backward"],
    "ours_us": float, "copy_us": float, "peers": dict[str, float],
}  # fmt: skip
_MATRIX = ("rows", "cols", "dtype", "direction")


@dataclass(frozen=True)
class Contest:
    """One matrix in all runs: `gains` are the best peer's time over ours, `shares` a copy's over ours.

    A gradient moves three matrices where a copy moves two; its share is of three halves of a copy.
    `peer` is the best one's name and `peer_share` its share, both of the first run; None where nobody
    took the matrix. `times_us` has that run's times by label, a copy's and our own among them.
    """

    rows: int
    cols: int
    dtype: str
    direction: str
    gains: tuple[float, ...]
    shares: tuple[float, ...]
    peer: str | None
    peer_share: float | None
    times_us: dict[str, float]

    def __str__(self) -> str:
        gradient = ", its gradient" if self.direction == "backward" else ""
        return f"{self.rows} × {self.cols} {self.dtype}{gradient}"

    @property
    def gain(self) -> float:
        """The mean of `gains`; not a number where there are none."""
        return mean(self.gains) if self.gains else nan

    @property
    def verdict(self) -> str:
        """We are "ahead" by more than `LEVEL` in every run, "behind" by more in every run, "level", or "alone"."""
        if not self.gains:
            return "alone"
        if min(self.gains) > 1 + LEVEL:
            return "ahead"
        return "behind" if max(self.gains) < 1 - LEVEL else "level"


def _check(run: dict[str, Any]) -> None:
    for row in run["rows"]:
        require_types(row, _ROW)


contest_runs = Runs("peers", _check, {}).every


def contests(gpu: str = DEFAULT_GPU) -> list[Contest]:
    """Every matrix that was measured on a GPU, in each run that has it. Raises `BadInput` where none was kept."""
    of_one: dict[tuple, list[dict[str, Any]]] = {}
    for run in contest_runs(gpu):
        for row in run["rows"]:
            of_one.setdefault(tuple(row[name] for name in _MATRIX), []).append(row)
    return [contest_of(rows) for rows in of_one.values()]


def contest_of(rows: list[dict[str, Any]]) -> Contest:
    """One matrix from its row in each run."""
    first = rows[0]
    peer = min(first["peers"], key=first["peers"].__getitem__, default=None)
    moved = 1.5 if first["direction"] == "backward" else 1.0
    return Contest(
        **{name: first[name] for name in _MATRIX},
        gains=tuple(min(row["peers"].values()) / row["ours_us"] for row in rows if row["peers"]),
        shares=tuple(moved * row["copy_us"] / row["ours_us"] for row in rows),
        peer=peer,
        peer_share=None if peer is None else moved * first["copy_us"] / first["peers"][peer],
        times_us={"a copy": first["copy_us"], "softmax()": first["ours_us"]}
        | {LABELS.get(name, name): us for name, us in first["peers"].items()},
    )


def mean_gain(found: list[Contest]) -> float:
    """By how much we are faster than the best peer of each matrix, in geometric mean over these."""
    gains = [one.gain for one in found if one.gains]
    return geometric_mean(gains) if gains else nan
