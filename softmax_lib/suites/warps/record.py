"""What `softmax-lib bench --suite warp` measured: chapter 10's kernel on short rows, and others beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from softmax_lib.records.measurement import BesideCopy
from softmax_lib.records.reading import read_fields
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import Runs, matching

Part = Literal["short", "plane"]
"""What a matrix was measured for: every setting on short rows; who is fastest by rows and columns."""


@dataclass(frozen=True)
class WarpTime(BesideCopy):
    """A kernel on one float32 matrix, in microseconds; `copy_us` is a copy in the same run.

    `lanes` and `turns` are 0 of other kernels than chapter 10's, and so is `block_size` of who is not of this book.
    """

    part: Part
    rows: int
    cols: int
    who: str
    block_size: int
    lanes: int
    turns: int
    us: float
    copy_us: float

    @property
    def name(self) -> str:
        """Who it is: "fusion", and chapter 10's kernel with its lanes, "warp, 8 lanes"."""
        return f"{self.who}, {self.lanes} lanes" if self.lanes else self.who

    @property
    def blocks(self) -> int:
        """How many blocks chapter 10's kernel launched; 0 of other kernels."""
        return -(-self.rows * self.lanes // (self.block_size * self.turns)) if self.lanes else 0


def times_of(run: dict[str, Any]) -> list[WarpTime]:
    """Every time of a run."""
    return [read_fields(WarpTime, {**row, **line}) for row in run["rows"] for line in row["times"]]


_runs = Runs("warp", times_of)
warp_run, warp_source = _runs.newest, _runs.source


def warp_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[WarpTime]:
    """All times of that run whose fields are as `wanted`, the fastest first: `warp_times(cols=128, lanes=8)`.

    Raises `BadInput` where no such run was kept.
    """
    return sorted(matching(_runs.found(gpu), **wanted), key=lambda one: one.us)
