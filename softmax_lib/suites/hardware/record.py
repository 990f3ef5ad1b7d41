"""What `softmax-lib bench --suite hardware` measured: the kinds of memory, warps that wait, blocks that find a place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softmax_lib.engine.words import count, plural
from softmax_lib.records.reading import read_fields
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import Runs, source_of
from softmax_lib.worklog.errors import BadInput


@dataclass(frozen=True)
class Level:
    """One kind of memory: cycles and nanoseconds until a value is there, and 10^9 bytes a second that all read.

    Registers have no bandwidth here.
    """

    level: str
    cycles: float
    ns: float
    gb_per_s: float | None


@dataclass(frozen=True)
class Waits:
    """Warps of one block that load from DRAM and compute by turns: cycles of all turns, and some of them.

    A turn is (warp, asked, came): cycles at which its load was asked for, and at which it had come.
    """

    warps: int
    cycles: int
    turns: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Places:
    """A launch whose blocks each stay for `stay_ns`: `held[moment]` has the blocks on each multiprocessor.

    The moments are a stay apart, the first one half a stay after the first block began. A thread has `registers`,
    and a block `shared_bytes` of shared memory.
    """

    blocks: int
    threads: int
    registers: int
    shared_bytes: int
    stay_ns: int
    took_ns: int
    held: tuple[tuple[int, ...], ...]

    @property
    def most(self) -> int:
        """Blocks that a multiprocessor held at once, at most."""
        return max(map(max, self.held))

    @property
    def rounds(self) -> float:
        """How many stays all blocks took together."""
        return self.took_ns / self.stay_ns


@dataclass(frozen=True)
class Hardware:
    """A GPU as it was measured.

    `latency` has the cycles of one load by the KiB of the array that it is one of; `limits` are the most that a
    multiprocessor holds, by the driver's names.
    """

    levels: dict[str, Level]
    latency: dict[int, float]
    waits: dict[int, Waits]
    places: tuple[Places, ...]
    limits: dict[str, int]
    gpu: dict[str, Any]
    digests: dict[str, str]
    source: str

    @property
    def multiprocessors(self) -> int:
        return int(self.gpu["multiprocessors"])

    def placed(self, blocks: int, threads: int) -> Places:
        """The first launch of so many blocks of so many threads. Raises `BadInput` where there was none."""
        for one in self.places:
            if (one.blocks, one.threads) == (blocks, threads):
                return one
        launch = f"{count(blocks, 'block')} of {count(threads, 'thread')}"
        were = plural(blocks, "was", "were")
        raise BadInput(f"{launch} {were} not placed on {self.gpu['name']}.")


def _read(run: dict[str, Any]) -> Hardware:
    levels = [read_fields(Level, {"gb_per_s": None, **row}) for row in run["rows"]]
    return Hardware(
        {level.level: level for level in levels},
        {int(one["kib"]): float(one["cycles"]) for one in run["latency"]},
        {row["warps"]: _waits(row) for row in run["waits"]},
        tuple(map(_places, run["places"])),
        run["limits"],
        run["gpu"],
        run["digests"],
        source_of(run),
    )


def _waits(row: dict[str, Any]) -> Waits:
    turns = tuple((int(warp), int(asked), int(came)) for warp, asked, came in row["turns"])
    return Waits(int(row["warps"]), int(row["cycles"]), turns)


def _places(row: dict[str, Any]) -> Places:
    numbers = ("blocks", "threads", "registers", "shared_bytes", "stay_ns", "took_ns")
    held = tuple(tuple(map(int, moment)) for moment in row["held"])
    return Places(**{name: int(row[name]) for name in numbers}, held=held)


_runs = Runs(
    "hardware", _read,
    {"latency": list, "waits": list, "places": list, "limits": dict, "digests": dict[str, str]},
    {"multiprocessors": int, "l2_bytes": int, "memory_bytes": int},
)  # fmt: skip


def hardware(gpu: str = DEFAULT_GPU) -> Hardware:
    """The newest run on a GPU. Raises `BadInput` where none was kept, and for one that is damaged."""
    return _runs.found(gpu)
