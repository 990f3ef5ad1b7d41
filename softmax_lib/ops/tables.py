"""Which design takes which rows: a table for each kind of GPU, in the order in which its lines are tried."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from softmax_lib.errors import NotAvailable
from softmax_lib.ops.designs import CHUNK_BYTES, LINE_BYTES, Design, Strided, Task
from softmax_lib.source import WARP

FOLDER = Path(__file__).with_name("tables")
"""The tables that come along: sm_90.json is for compute capability 9.0 and all above that have none."""


@dataclass(frozen=True)
class Line:
    """A design, and the tasks it is for: rows of at most `row_bytes`, at most `rows` of them, with `edges`."""

    design: Design
    row_bytes: float
    rows: float
    edges: bool | None

    def takes(self, task: Task) -> bool:
        return (
            task.row_bytes <= self.row_bytes
            and task.rows <= self.rows
            and self.edges in (None, task.edges)
        )


@dataclass(frozen=True)
class Table:
    """Lines by direction and bytes of a number, and the GPU that they were measured on, if they were."""

    name: str
    measured_on: str | None
    lines: dict[tuple[bool, int], tuple[Line, ...]]

    def designs(self, task: Task) -> Iterator[Design]:
        """Designs for `task`, the one to be used first; the last one takes any rows."""
        for line in self.lines[task.backward, task.size]:
            if line.takes(task):
                fitting = line.design.fit(task)
                if fitting:
                    yield fitting
        yield Design("block", 1, 512, streamed=True)


def strided_design(task: Task, inner: int) -> Strided:
    """For rows along another dimension than the last, `inner` numbers apart."""
    count = 1 if task.edges else CHUNK_BYTES // task.size
    lanes = min(_power_of_two(-(-inner // count)), LINE_BYTES // CHUNK_BYTES if count > 1 else WARP)
    team = max(WARP // lanes, min(_power_of_two(-(-task.cols // 8)), 512 // lanes))
    most = 16 if task.size == 4 and not task.backward else 8  # more does not fit into registers
    held = _power_of_two(-(-task.cols // team))
    return Strided(count, lanes, team, held if held <= most else 0)


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


@cache
def table_for(arch: int) -> Table:
    """The table of the newest kind of GPU that is no newer than sm_`arch`. Raises `NotAvailable` below 7.5."""
    known = sorted(int(path.stem.removeprefix("sm_")) for path in FOLDER.glob("sm_*.json"))
    older = [one for one in known if one <= arch]
    if not older:
        raise NotAvailable(
            f"This GPU has compute capability {arch / 10}; the kernels need 7.5 or more."
        )
    return _read(FOLDER / f"sm_{older[-1]}.json")


def _read(path: Path) -> Table:
    content = json.loads(path.read_text(encoding="utf-8"))
    lines = {
        (direction == "backward", size): tuple(
            _line(line) for line in content[f"{direction} {size}"]
        )
        for direction in ("forward", "backward")
        for size in (4, 2)
    }
    return Table(path.stem, content["measured_on"], lines)


def _line(written: dict[str, Any]) -> Line:
    written = dict(written)
    limits = {name: written.pop(name, float("inf")) for name in ("row_bytes", "rows")}
    return Line(edges=written.pop("edges", None), design=Design(**{"team": 1, **written}), **limits)
