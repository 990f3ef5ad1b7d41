"""What `softmax-lib bench --suite lies` measured: benchmarks with one thing wrong, each beside what catches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from softmax_lib.records.measurement import Data
from softmax_lib.records.reading import is_possible
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import Runs, matching
from softmax_lib.suites.times import Samples, times_of
from softmax_lib.worklog.errors import BadInput

Lie = Literal[
    "no synchronisation", "warm cache", "zeroed flush", "mean of all", "slow rival", "one shape", "easy data"
]  # fmt: skip
LIES: tuple[Lie, ...] = get_args(Lie)
"""In the order of the page."""
ADVERTISED = "as advertised"
"""The method that a lie is told by."""
PROTOCOL = "protocol"
"""The method of this book."""


def find_lie(name: str) -> Lie:
    """The lie of this name. Raises `BadInput` where there is none."""
    for lie in LIES:
        if lie == name:
            return lie
    raise BadInput(f"There is no lie called {name!r:.40}; there are {', '.join(LIES)}.")


@dataclass(frozen=True)
class Told:
    """Whose time, by which method, of which matrix."""

    who: str
    method: str
    rows: int
    cols: int
    data: Data = "normal"


@dataclass(frozen=True, kw_only=True)
class LieTime(Samples, Told):
    """Samples of one float32 matrix by one method, each in microseconds of one call, in the order in which they were taken."""

    lie: Lie


def _read(run: dict[str, Any]) -> list[LieTime]:
    peak = run["peak_gb_per_s"]
    if peak is not None and not is_possible(peak, 1):
        raise BadInput(f"peak_gb_per_s is {peak!r:.40}, which cannot be")
    return times_of(LieTime, run)


_runs = Runs(
    "lies", _read, {"advertisements": dict[str, str], "digests": dict[str, str]}, {"l2_bytes": int}
)
lie_run = _runs.newest


def lie_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[LieTime]:
    """All times of that run whose fields are as `wanted`: `lie_times(lie="warm cache", method="one pair")`.

    Raises `BadInput` where no such run was kept.
    """
    return matching(_runs.found(gpu), **wanted)


def lie_peak(gpu: str = DEFAULT_GPU) -> float | None:
    """What the memory of that run's GPU moves at most, in 10^9 bytes a second; None where its driver did not say.

    Raises `BadInput` where no such run was kept.
    """
    return lie_run(gpu)["peak_gb_per_s"]
