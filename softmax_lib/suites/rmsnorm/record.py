"""Times of operators beside a copy of as many bytes: live, and of the RMSNorm page as `bench --suite rmsnorm` kept them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from softmax_lib.engine.words import percent
from softmax_lib.records.measurement import BesideCopy
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import Runs, matching, rows_of


@dataclass(frozen=True)
class OperatorTime(BesideCopy):
    """Microseconds of one call on the device, and of a copy that moves as many `bytes`, in one run."""

    name: str
    dtype: str
    bytes: int
    source: str = "live"

    @property
    def gb_per_s(self) -> float:
        """Bandwidth that its inputs, read once, and its outputs make, in 10^9 bytes a second."""
        return self.bytes / self.us / 1e3

    def __str__(self) -> str:
        share = percent(self.copy_share)
        return f"{self.name}: {self.us:.2f} µs, {self.gb_per_s:,.0f} GB/s, {share} of a copy"


class OperatorTimes(tuple[OperatorTime, ...]):
    """A kernel's time, and behind it those of what ran beside it."""

    def __str__(self) -> str:
        shape = f"({self[0].rows}, {self[0].cols}), {self[0].dtype}, {self[0].source}"
        return "\n".join([shape, *map(str, self)])

    __repr__ = __str__


_runs = Runs("rmsnorm", partial(rows_of, OperatorTime))


def rmsnorm_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[OperatorTime]:
    """All times of that run whose fields are as `wanted`, such as `name="fused", cols=4096`."""
    return matching(_runs.found(gpu), **wanted)
