"""What ncu counted of every kernel on a GPU that ran the machine code which comes along, twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softmax_lib.records.reading import read_fields, read_json, require_types
from softmax_lib.records.shelf import FOLDER
from softmax_lib.worklog.errors import BadInput

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

    def both(self, name: str) -> tuple[int, int]:
        """What a counter was the first time, and the second."""
        first = self.counters.get(name, 0)
        return first, self.counted_again.get(name, first)


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
    content: dict[str, Any] = read_json(path, "record of counters")
    try:
        require_types(content, {"gpu": dict, "date": str, "made_by": str, "rows": list})
        launches = tuple(read_fields(CountedLaunch, row) for row in content["rows"])
        return CountedRun(content["gpu"]["name"], content["date"], content["made_by"], launches)
    except (LookupError, ValueError, TypeError) as error:
        raise BadInput(f"The record of counters {path} is damaged: {error}.") from error
