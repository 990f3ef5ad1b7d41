"""What `softmax-lib bench --suite shown` measured: kernels as chapters show them, beside those that take any row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softmax_lib.records.reading import read_fields
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import Runs, matching, source_of

FULL = {
    "shuffle_plain": "shuffle",
    "float4_aligned": "float4",
    "fusion_aligned": "fusion",
    "unroll_aligned": "unroll",
    "warp_plain": "warp",
    "topk_warp_plain": "topk_warp",
}
"""By the kernel that a chapter shows whole, the one that takes any row."""


@dataclass(frozen=True)
class ShownTime:
    """Microseconds of a kernel that a chapter shows, of its full form, and of a copy, in one run."""

    kernel: str
    rows: int
    cols: int
    us: float
    full_us: float
    copy_us: float
    source: str


def _read(run: dict[str, Any]) -> list[ShownTime]:
    return [read_fields(ShownTime, {**row, "source": source_of(run)}) for row in run["rows"]]


_runs = Runs("shown", _read)


def shown_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[ShownTime]:
    """All times of that run whose fields are as `wanted`, such as `kernel="float4_aligned"`."""
    return matching(_runs.found(gpu), **wanted)
