"""What `softmax-lib bench --suite topk` measured: `softmax_topk()` beside its peers, and chapter 11's kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softmax_lib.records.reading import read_fields
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import Runs, matching


@dataclass(frozen=True)
class TopkTimes:
    """The `k` first of each row of one matrix: microseconds of `softmax_topk()`, of a copy, of each peer and kernel."""

    rows: int
    cols: int
    dtype: str
    k: int
    data: str
    ours_us: float
    copy_us: float
    peers: dict[str, float]
    kernels: dict[str, float]

    @property
    def torch_us(self) -> float:
        """The time of the best of torch's forms, `topk(softmax(x))` and `topk(x)` with `logsumexp(x)`."""
        return min(us for name, us in self.peers.items() if name.startswith("topk"))

    @property
    def gain(self) -> float:
        """The best peer's time over ours."""
        return min(self.peers.values()) / self.ours_us


@dataclass(frozen=True)
class SizeTime:
    """A kernel of chapter 11 at one block size, in microseconds, and a copy in the same run."""

    kernel: str
    block_size: int
    rows: int
    cols: int
    k: int
    copy_us: float
    us: float


def _read(run: dict[str, Any]) -> tuple[list[TopkTimes], list[SizeTime]]:
    rows = [read_fields(TopkTimes, row) for row in run["rows"]]
    return rows, [read_fields(SizeTime, line) for line in run["sweep"]]


_runs = Runs("topk", _read)
topk_source = _runs.source


def topk_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[TopkTimes]:
    """All cells of that run whose fields are as `wanted`: `topk_times(rows=4000, k=5)`. Raises `BadInput`."""
    return matching(_runs.found(gpu)[0], **wanted)


def topk_sizes(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[SizeTime]:
    """The kernels of chapter 11 at several block sizes, as `wanted`. Raises `BadInput`."""
    return matching(_runs.found(gpu)[1], **wanted)
