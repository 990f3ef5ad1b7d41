"""The machine code that comes along, run here, against what ncu counted of it on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from softmax_lib.engine.compiled.counters import COUNTERS, add_up
from softmax_lib.engine.compiled.running import run
from softmax_lib.engine.xrays.machine_path import ARCH
from softmax_lib.records.agreement import ARBITER_SHARE, verdict_of
from softmax_lib.records.counted import COUNTED_ON, CountedLaunch, counted_run
from softmax_lib.worklog.reference import noise
from softmax_lib.worklog.registry import kernels

ARBITERS = tuple(name for name in COUNTERS if name.endswith(("wavefronts", "conflicts")))
"""Counters of the data stage, through which the arbiter may pass a request a second time."""


@dataclass(frozen=True)
class CodeComparison:
    """One kernel on one matrix: our counts, by the names in `COUNTERS`, and what was recorded."""

    launch: CountedLaunch
    ours: dict[str, int]

    @property
    def differences(self) -> dict[str, tuple[int, int, int]]:
        """Our count, and both recordings, of each counter that is not the same in all three."""
        found = {name: (self.ours[name], *self.launch.both(name)) for name in COUNTERS}
        return {name: counts for name, counts in found.items() if len({*counts}) > 1}

    @property
    def unexplained(self) -> dict[str, tuple[int, int, int]]:
        """Those of them that are more than the arbiter's noise."""
        return {
            name: counts for name, counts in self.differences.items() if not self._is_noise(name)
        }

    @property
    def verdict(self) -> str:
        """ "equal", "equal but for the arbiter", or the counters that differ."""
        return verdict_of(self.differences, self.unexplained)

    def _is_noise(self, name: str) -> bool:
        """A few wavefronts more than ours, which count as conflicts too."""
        if name not in ARBITERS:
            return False
        most = ARBITER_SHARE * self.ours[name.replace("conflicts", "wavefronts")]
        return all(0 <= one - self.ours[name] <= most for one in self.launch.both(name))


def compare_code(gpu: str = COUNTED_ON) -> Iterator[CodeComparison]:
    """Run each launch of a record and compare. Raises `BadInput` without a record of that GPU."""
    for launch in counted_run(gpu).launches:
        yield compare_launch(launch)


def compare_launch(launch: CountedLaunch) -> CodeComparison:
    """Run one of them."""
    x = noise(launch.rows, launch.cols)
    y = np.full_like(x, np.nan)
    found = add_up(run(*kernels[launch.kernel].launches(x, y, launch.block_size), arch=ARCH))
    return CodeComparison(launch, {name: found[name] for name in COUNTERS})
