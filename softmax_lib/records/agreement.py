"""X-ray against Nsight Compute: the emulator's counts beside what a GPU's own counters recorded."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from softmax_lib.records.measurement import Case, Profile
from softmax_lib.records.schema import METRICS
from softmax_lib.records.shelf import DEFAULT_GPU, recorded
from softmax_lib.worklog.xray import MOST_ELEMENTS, xray

COUNTERS = tuple(name for name in METRICS if not name.startswith("dram"))
"""What both count: memory behind the caches is not emulated."""

ARBITER_SHARE = 0.03
"""How far ncu's shared wavefronts may lie above ours.

A wavefront counter sees the data stage of the L1 cache, which shared memory uses together with
global loads: now and then the arbiter passes a request through it a second time. How often differs
from run to run; seen so far: 0 at 64 rows, up to 2.4 % at 1000 where many loads are in flight.
"""


@dataclass(frozen=True)
class Comparison:
    """One kernel on one matrix: our counts and ncu's, by the names in `COUNTERS`."""

    case: Case
    ours: dict[str, int]
    ncus: dict[str, int]

    @property
    def differences(self) -> dict[str, tuple[int, int]]:
        """Ours and ncu's of each counter that is not exactly the same."""
        pairs = {name: (self.ours[name], self.ncus[name]) for name in COUNTERS}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    @property
    def unexplained(self) -> dict[str, tuple[int, int]]:
        """Those of them that are more than the arbiter's noise."""
        return {
            name: (ours, ncus)
            for name, (ours, ncus) in self.differences.items()
            if not (_is_noisy(name) and ours <= ncus <= ours * (1 + ARBITER_SHARE))
        }

    @property
    def verdict(self) -> str:
        """ "equal", "equal but for the arbiter", or the counters that differ."""
        return verdict_of(self.differences, self.unexplained)


def verdict_of(differences: Collection[str], unexplained: Collection[str]) -> str:
    """What to say of counters that differ, and of those among them that noise does not explain."""
    if unexplained:
        return "differs: " + ", ".join(unexplained)
    return "equal but for the arbiter" if differences else "equal"


def compare(rows: int, cols: int, *names: str, gpu: str = DEFAULT_GPU) -> list[Comparison]:
    """X-ray every kernel that `gpu`'s record has a profile of on a (rows, cols) matrix, or those named.

    Raises `BadInput` without a record of that GPU.
    """
    on_shape = [p for p in profiles(gpu) if p.case.shape == (rows, cols)]
    return [compare_profile(p) for p in on_shape if not names or p.case.provider in names]


def profiles(gpu: str = DEFAULT_GPU) -> list[Profile]:
    """The recorded profiles that are small enough to be x-rayed."""
    return [p for p in recorded(gpu).profiles if p.case.rows * p.case.cols <= MOST_ELEMENTS]


def compare_profile(profile: Profile, path: str | None = None) -> Comparison:
    """X-ray what was profiled, by the source or its machine code, and set the counts side by side."""
    case = profile.case
    total = xray(case.provider, case.rows, case.cols, case.block_size, path=path).total
    ours, ncus = ({name: counts[name] for name in COUNTERS} for counts in (total, profile.counters))
    return Comparison(case, ours, ncus)


def _is_noisy(counter: str) -> bool:
    return counter.startswith("shared") and counter.endswith("wavefronts")
