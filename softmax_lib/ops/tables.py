"""Which design takes which rows: a table for each kind of GPU, in the order in which its lines are tried.

A table is a JSON file: `measured_on`, the GPU's name or null; and for each direction and bytes of a number
("forward 4") its lines. A line has the limits of the rows that it takes (`row_bytes`, `rows`, `edges`),
`like`, the [rows, cols] that it was measured on, and the fields of its `Design`.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from softmax_lib.engine.source import WARP
from softmax_lib.gpu.presence import arch_of, gpu_name
from softmax_lib.ops.designs import CHUNK_BYTES, Design, Strided, Task, Tile
from softmax_lib.worklog.errors import NotAvailable
from softmax_lib.worklog.files import readers_folder
from softmax_lib.worklog.tiles.programs import next_power_of_two

FOLDER = Path(__file__).with_name("tables")
"""The tables that come along: sm_90.json is for compute capability 9.0 and all above that have none."""

TILED_BYTES = 512
TILED_ROWS = 32768
"""Longer rows, and fewer, are as fast one by one."""
FEW_BLOCKS, MANY_BLOCKS = 64, 256
"""Of strided kernels: fewer leave most of a GPU idle, and so many fill the largest."""
SECTOR_BYTES = 32
MOST_OF_A_CLUSTER = 8
HELD_OF_A_TILE = 32
"""Numbers of a row that a thread holds at most, where rows are put into shared memory."""

_log = logging.getLogger("softmax_lib")


@dataclass(frozen=True)
class Line:
    """A design, and the tasks it is for: rows of at most `row_bytes`, at most `rows` of them, with `edges`.

    It was chosen on a matrix `like` (rows, cols); a streamed design, which is for what is left, on none.
    """

    design: Design
    row_bytes: float
    rows: float
    edges: bool | None
    like: tuple[int, int] | None

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
        """Designs for `task`, the one to be used first; the last one takes any rows, but for scores that are not a gradient's."""
        lines = self.lines[task.backward, task.size]
        if (
            task.scores
        ):  # whether a design takes them is not to depend on how many there are, or where
            lines += tuple(replace(line, rows=math.inf, edges=None) for line in lines)
        designs = (line.design for line in lines if line.takes(task))
        for design in (*designs, Design("block", 1, 512, streamed=True)):
            fitting = design.fit(task)
            if fitting:
                yield fitting


def tile_design(task: Task) -> Tile | None:
    """For rows one behind another that begin at 16 bytes only now and then; None unless they are short and many."""
    if not task.edges or task.row_bytes > TILED_BYTES or task.rows < TILED_ROWS:
        return None
    lanes = max(1, next_power_of_two(-(-task.cols // HELD_OF_A_TILE)))
    return Tile(lanes, -(-task.cols // lanes))


def has_few_blocks(outer: int, inner: int) -> bool:
    """Whether a strided kernel would leave most of a GPU idle: the dimension is moved instead."""
    return outer * -(-inner // WARP) < FEW_BLOCKS


def strided_design(task: Task, inner: int, arch: int) -> Strided:
    """For rows along another dimension than the last, `inner` numbers apart, on sm_`arch`."""
    count = 1 if task.edges else CHUNK_BYTES // task.size
    columns, outer = -(-inner // count), task.rows // inner
    held, has_clusters = 8 if task.backward else 16, arch >= 90
    wide = 256 if task.backward or task.size == 2 else 128
    threads = wide if has_clusters else 512
    at_most = threads * (MOST_OF_A_CLUSTER if has_clusters else 1)
    team = max(4, next_power_of_two(-(-task.cols // held)))
    lanes = widest = min(next_power_of_two(columns), WARP if count == 1 else WARP // 2)
    while lanes * count * task.size > SECTOR_BYTES and (
        lanes * team > (threads if lanes > 8 else at_most)
        or outer * -(-columns // lanes) * max(1, lanes * team // threads) < MANY_BLOCKS
    ):
        lanes //= 2
    if lanes * team > at_most:
        return Strided(count, widest, 512 // widest, 0)
    team = max(team, WARP // lanes)
    cluster = max(1, lanes * team // threads)
    held = -(-task.cols // team)
    return Strided(count, lanes, team // cluster, held + held % 2, cluster)


def table_of(device: int) -> Table:
    """The table that a GPU's own times made, where they did, else the one for its kind. Raises `NotAvailable`."""
    return _table_of(gpu_name(device), arch_of(device))


def tuned_path(gpu: str) -> Path:
    """Where the table of a GPU of this name is kept, which need not be there."""
    return readers_folder("tables") / f"{re.sub('[^a-z0-9]+', '-', gpu.lower()).strip('-')}.json"


@cache
def _table_of(gpu: str, arch: int) -> Table:
    path = tuned_path(gpu)
    try:
        return _read(path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        _log.warning(
            "The table %s cannot be read (%s); `softmax-lib tune` makes it anew.", path, error
        )
    return table_for(arch)


@cache
def table_for(arch: int) -> Table:
    """The table that comes along for sm_`arch`. Raises `NotAvailable` below 7.5."""
    return _read(shipped_path(arch))


def shipped_path(arch: int) -> Path:
    """The table of the newest kind of GPU that is no newer than sm_`arch`. Raises `NotAvailable` below 7.5."""
    known = sorted(int(path.stem.removeprefix("sm_")) for path in FOLDER.glob("sm_*.json"))
    older = [one for one in known if one <= arch]
    if not older:
        raise NotAvailable(
            f"This GPU has compute capability {arch / 10}; the kernels need 7.5 or more."
        )
    return FOLDER / f"sm_{older[-1]}.json"


def _read(path: Path) -> Table:
    content = json.loads(path.read_text(encoding="utf-8"))
    lines = {
        (direction == "backward", size): tuple(map(read_line, content[f"{direction} {size}"]))
        for direction in ("forward", "backward")
        for size in (4, 2)
    }
    return Table(path.stem, content["measured_on"], lines)


def read_line(written: dict[str, Any]) -> Line:
    """A line as the JSON has it. Raises `TypeError` where it has other fields, or a field something odd."""
    written = dict(written)
    limits = {name: written.pop(name, float("inf")) for name in ("row_bytes", "rows")}
    edges, like = written.pop("edges", None), written.pop("like", None)
    design = Design(**{"team": 1, **written})
    for name, kind in get_type_hints(Design).items():
        value = getattr(design, name)
        is_word = get_origin(kind) is Literal
        if not (value in get_args(kind) if is_word else type(value) is kind):
            raise TypeError(f"{name} is {value!r}")
    if edges not in (None, True, False):
        raise TypeError(f"edges is {edges!r}")
    numbers = [design.team, design.threads, *limits.values(), *(like or ())]
    if any(type(number) not in (int, float) or number < 1 for number in numbers):
        raise TypeError(f"{numbers} are not all numbers of 1 or more")
    return Line(design, edges=edges, like=like and tuple(like), **limits)
