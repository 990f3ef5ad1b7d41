"""The machine code that comes along, run here, against what ncu counted of it on a GPU, twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from softmax_lib.engine.compiled.counters import COUNTERS, add_up
from softmax_lib.engine.compiled.running import run
from softmax_lib.engine.xrays.machine_path import ARCH
from softmax_lib.records.reading import read_fields, read_json, require_types
from softmax_lib.records.shelf import FOLDER
from softmax_lib.worklog.errors import BadInput
from softmax_lib.worklog.reference import noise
from softmax_lib.worklog.registry import kernels

COUNTED_ON = "nvidia-h200"


@dataclass(frozen=True)
class CountedLaunch:
    """A kernel on one matrix: `counters` by name, those that are not there 0, and what was another number when it was
    `counted_again`. `program` is the key of its machine code."""

    kernel: str
    rows: int
    cols: int
    block_size: int
    program: str
    counters: dict[str, int]
    counted_again: dict[str, int]


@dataclass(frozen=True)
class CountedRun:
    """All launches, the GPU that ran them, the day, and what made the machine code."""

    gpu: str
    date: str
    made_by: str
    launches: tuple[CountedLaunch, ...]


def counted_run(gpu: str = COUNTED_ON) -> CountedRun:
    """The record of a GPU by its file's name. Raises `BadInput` where there is none, or where it is damaged."""
    path = FOLDER / "counters" / f"{gpu}.json"
    content = read_json(path, "record of counters")
    try:
        require_types(content, {"gpu": dict, "date": str, "made_by": str, "rows": list})
        launches = tuple(read_fields(CountedLaunch, row) for row in content["rows"])
        return CountedRun(content["gpu"]["name"], content["date"], content["made_by"], launches)
    except (LookupError, ValueError, TypeError) as error:
        raise BadInput(f"The record of counters {path} is damaged: {error}.") from error


@dataclass(frozen=True)
class CodeComparison:
    """One kernel on one matrix: our counts, by the names in `COUNTERS`, and what was recorded."""

    launch: CountedLaunch
    ours: dict[str, int]

    @property
    def differences(self) -> dict[str, tuple[int, int, int]]:
        """Our count, and both recordings, of each counter that is not the same in all three."""
        first = {name: self.launch.counters.get(name, 0) for name in self.ours}
        again = first | self.launch.counted_again
        counts = {name: (ours, first[name], again[name]) for name, ours in self.ours.items()}
        return {name: three for name, three in counts.items() if len({*three}) > 1}


def compare_code(gpu: str = COUNTED_ON) -> Iterator[CodeComparison]:
    """Run each launch of a record and compare. Raises `BadInput` without a record of that GPU."""
    return map(compare_launch, counted_run(gpu).launches)


def compare_launch(launch: CountedLaunch) -> CodeComparison:
    """Run one of them."""
    x = noise(launch.rows, launch.cols)
    launches = kernels[launch.kernel].launches(x, np.full_like(x, np.nan), launch.block_size)
    found = add_up(run(*launches, arch=ARCH))
    return CodeComparison(launch, {name: found[name] for name in COUNTERS})
