"""What `softmax-lib bench --suite shown` measured: kernels as chapters show them, beside those that take any row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softmax_lib.records.reading import read_fields, require_types
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import kept_runs, matching, source_of

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


def shown_run(gpu: str = DEFAULT_GPU) -> dict[str, Any]:
    """The newest run on a GPU, as `bench.shown.run_shown` returned it. Raises `BadInput` as `kept_runs` does."""
    return kept_runs("shown", gpu, _read)[-1]


def shown_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[ShownTime]:
    """All times of that run whose fields are as `wanted`, such as `kernel="float4_aligned"`."""
    return matching(_read(shown_run(gpu)), **wanted)


def _read(run: dict[str, Any]) -> list[ShownTime]:
    require_types(run, {"digests": dict[str, str]})
    return [read_fields(ShownTime, {**row, "source": source_of(run)}) for row in run["rows"]]
