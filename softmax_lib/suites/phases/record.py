"""What `softmax-lib bench --suite phases` measured: when `fusion` and a copy read and write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softmax_lib.records.reading import require_types
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import Runs, source_of


@dataclass(frozen=True)
class Block:
    """Nanoseconds in which a block began, had all it asked for, had met, and had handed in its last store."""

    multiprocessor: int
    began: int
    came: int
    met: int
    ended: int


@dataclass(frozen=True)
class Phases:
    """A kernel on the worklog's matrix, which took `plain_us`, and `noted_us` while its warps noted the time.

    `read_bytes` and `written_bytes` are those of each microsecond; `blocks` are those of some multiprocessors.
    """

    kernel: str
    plain_us: float
    noted_us: float
    read_bytes: tuple[int, ...]
    written_bytes: tuple[int, ...]
    blocks: tuple[Block, ...]
    source: str


def _phases(row: dict[str, Any], source: str) -> Phases:
    require_types(row, {"kernel": str, "plain_us": float, "noted_us": float})
    read, written = (tuple(map(int, row[name])) for name in ("read_bytes", "written_bytes"))
    blocks = tuple(Block(*map(int, block)) for block in row["blocks"])
    return Phases(row["kernel"], row["plain_us"], row["noted_us"], read, written, blocks, source)


_runs = Runs(
    "phases", lambda run: {row["kernel"]: _phases(row, source_of(run)) for row in run["rows"]}
)


def phases(gpu: str = DEFAULT_GPU) -> dict[str, Phases]:
    """`fusion` and `copy` in the newest run. Raises `BadInput` where none was kept."""
    return _runs.found(gpu)
