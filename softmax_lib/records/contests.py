"""What `softmax-lib bench --suite peers` measured: `softmax()` beside its peers, kept in book/measurements/peers.

A file is one run, <gpu>-<number>.json, as `bench.suite.run_suite` returns it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from math import nan
from pathlib import Path
from statistics import geometric_mean, mean
from typing import Any

from softmax_lib.errors import BadInput
from softmax_lib.records.shelf import DEFAULT_GPU, file_stem, folders

LEVEL = 0.01
"""Who is ahead by more than this in every run is ahead; else we are level."""

_MATRIX = ("rows", "cols", "dtype", "direction")


@dataclass(frozen=True)
class Contest:
    """One matrix in all runs: `gains` are the best peer's time over ours, `shares` a copy's over ours.

    A gradient moves three matrices where a copy moves two; its share is of three halves of a copy.
    `peer` is the best one's name and `peer_share` its share, both of the first run; None where nobody
    took the matrix.
    """

    rows: int
    cols: int
    dtype: str
    direction: str
    gains: tuple[float, ...]
    shares: tuple[float, ...]
    peer: str | None
    peer_share: float | None

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


def contests(gpu: str = DEFAULT_GPU) -> list[Contest]:
    """Every matrix that was measured on a GPU, in each run that has it. Raises `BadInput` as `contest_runs` does."""
    of_one: dict[tuple, list[dict[str, Any]]] = {}
    for run in contest_runs(gpu):
        for row in run["rows"]:
            of_one.setdefault(tuple(row[name] for name in _MATRIX), []).append(row)
    return [_contest(rows) for rows in of_one.values()]


def contest_runs(gpu: str = DEFAULT_GPU) -> list[dict[str, Any]]:
    """The runs on a GPU, each as it was written. Raises `BadInput`."""
    for folder in folders():
        if numbers := _numbers(folder, gpu):
            return [_read(_path(folder, gpu, number)) for number in numbers]
    raise BadInput(
        f"softmax() was not measured beside its peers on a GPU called {gpu}; on such a GPU, "
        "`softmax-lib bench --keep` does it."
    )


def next_run(gpu: str) -> Path:
    """Where the next run on a GPU is to be kept, so that `contest_runs` finds it."""
    folder = folders()[0]
    return _path(folder, gpu, max(_numbers(folder, gpu), default=0) + 1)


def _numbers(folder: Path, gpu: str) -> list[int]:
    names = (path.stem.rpartition("-") for path in (folder / "peers").glob("*.json"))
    stem = file_stem(gpu)
    return sorted(int(number) for name, _, number in names if name == stem and number.isdecimal())


def _path(folder: Path, gpu: str, number: int) -> Path:
    return folder / "peers" / f"{file_stem(gpu)}-{number}.json"


@cache
def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for row in content["rows"]:
            _contest([row])
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadInput(f"{path.name} is damaged: {error!r}") from error
    return content


def _contest(rows: list[dict[str, Any]]) -> Contest:
    first = rows[0]
    peer = min(first["peers"], key=first["peers"].__getitem__, default=None)
    moved = 1.5 if first["direction"] == "backward" else 1.0
    return Contest(
        rows=first["rows"],
        cols=first["cols"],
        dtype=first["dtype"],
        direction=first["direction"],
        gains=tuple(min(row["peers"].values()) / row["ours_us"] for row in rows if row["peers"]),
        shares=tuple(moved * row["copy_us"] / row["ours_us"] for row in rows),
        peer=peer,
        peer_share=None if peer is None else moved * first["copy_us"] / first["peers"][peer],
    )


def mean_gain(found: list[Contest]) -> float:
    """By how much we are faster than the best peer of each matrix, in geometric mean over these."""
    gains = [one.gain for one in found if one.gains]
    return geometric_mean(gains) if gains else nan
