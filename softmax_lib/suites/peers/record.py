"""What `softmax-lib bench --suite peers` measured: `softmax()` beside its peers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan, nan
from statistics import geometric_mean, mean
from typing import Any, Literal

from softmax_lib.records.measurement import LABELS
from softmax_lib.records.reading import require_types
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import Runs

LEVEL = 0.01
"""Who is ahead by more than this in every run is ahead; else we are level."""

MANY = 2
"""Where so many dedicated kernels ran, which torch's and its compiler's are not, it is hard to be ahead."""

_CELL: dict[str, Any] = {
    "rows": int, "cols": int, "shape": list[int], "dim": int, "dtype": str, "direction": Literal["forward", "backward"],
    "masked": bool,
}  # fmt: skip
_ROW = {**_CELL, "ours_us": float, "copy_us": float, "peers": dict[str, float]}


@dataclass(frozen=True)
class Contest:
    """One tensor in all runs: `gains` are the best peer's time over ours, `shares` a copy's over ours.

    Along `dim` of its `shape` there are `rows` of `cols` elements; those of scores may be `masked`.

    A gradient moves three matrices where a copy moves two; its share is of three halves of a copy.
    `peer` is the best one's name and `peer_share` its share, both of the first run; None where nobody
    took the matrix, and so many `dedicated` kernels did. `times_us` has that run's times by label, a copy's
    and our own among them.
    """

    rows: int
    cols: int
    shape: tuple[int, ...]
    dim: int
    dtype: str
    direction: str
    masked: bool
    dedicated: int
    gains: tuple[float, ...]
    shares: tuple[float, ...]
    peer: str | None
    peer_share: float | None
    times_us: dict[str, float]

    def __str__(self) -> str:
        gradient = ", its gradient" if self.direction == "backward" else ""
        return f"{self.size()} {self.dtype}{gradient}"

    def size(self, number: Callable[[int], str] = str) -> str:
        """Its shape, and the dimension where that is not the last, or that scores are masked."""
        along = f" along {self.dim}" if self.dim < len(self.shape) - 1 else ""
        return " × ".join(map(number, self.shape)) + along + " masked" * self.masked

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
        require_types(_whole(row), _ROW)


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    """A row, also of a run from when there were matrices alone."""
    old = {"dim": 1, "masked": False, **row}
    return {**old, "shape": list(old.get("shape") or (row["rows"], row["cols"]))}


contest_runs = Runs("peers", _check, {}).every


def contests(gpu: str = DEFAULT_GPU) -> list[Contest]:
    """Every matrix that was measured on a GPU, in each run that has it. Raises `BadInput` where none was kept."""
    of_one: dict[tuple, list[dict[str, Any]]] = {}
    for run in contest_runs(gpu):
        for row in run["rows"]:
            of_one.setdefault(tuple(str(_whole(row)[name]) for name in _CELL), []).append(row)
    return [contest_of(rows) for rows in of_one.values()]


def contest_of(rows: list[dict[str, Any]]) -> Contest:
    """One matrix from its row in each run."""
    first = _whole(rows[0])
    peer = min(first["peers"], key=first["peers"].__getitem__, default=None)
    moved = 1.5 if first["direction"] == "backward" else 1.0
    return Contest(
        **{**{name: first[name] for name in _CELL}, "shape": tuple(first["shape"])},
        dedicated=len(first["peers"].keys() - {"torch", "torch.compile"}),
        gains=tuple(min(row["peers"].values()) / row["ours_us"] for row in rows if row["peers"]),
        shares=tuple(moved * row["copy_us"] / row["ours_us"] for row in rows),
        peer=peer,
        peer_share=None if peer is None else moved * first["copy_us"] / first["peers"][peer],
        times_us={"a copy": first["copy_us"], "softmax()": first["ours_us"]}
        | {LABELS.get(name, name): us for name, us in first["peers"].items()},
    )


def mean_gain(found: list[Contest], dedicated: int = 0) -> float:
    """By how much we are faster than the best peer of each matrix, in geometric mean over these.

    Or over those on which so many `dedicated` kernels ran, and not torch's and its compiler's alone.
    """
    gains = [one.gain for one in found if one.gains and one.dedicated >= dedicated]
    return geometric_mean(gains) if gains else nan


def where_it_is_hard(found: list[Contest]) -> str:
    """What follows that mean in a sentence: the one of where several dedicated kernels ran, if they did."""
    gain = mean_gain(found, MANY)
    return "" if isnan(gain) else f", and {gain:.2f} where {MANY} dedicated kernels or more ran"
