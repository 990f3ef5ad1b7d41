"""Matrices as suites of `softmax-lib bench` timed them and kept it: what is known of each time, and how to find some."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from statistics import mean, median
from typing import Any, Literal, TypeVar

from softmax_lib.records.measurement import ITEM_BYTES, BesideCopy, gb_per_s
from softmax_lib.records.reading import read_fields
from softmax_lib.records.shelf import DEFAULT_GPU
from softmax_lib.suites.kept import Runs, matching, rows_of

Time = TypeVar("Time")


@dataclass(frozen=True)
class WarpTime(BesideCopy):
    """A kernel on one float32 matrix, in microseconds; `copy_us` is a copy in the same run.

    `part` is what the matrix was measured for: every setting on short rows, or who is fastest by rows and columns.
    `lanes` and `turns` are 0 of other kernels than chapter 10's, and so is `block_size` of who is not of this book.
    """

    part: Literal["short", "plane"]
    who: str
    block_size: int
    lanes: int
    turns: int

    @property
    def name(self) -> str:
        """Who it is: "fusion", and chapter 10's kernel with its lanes, "warp, 8 lanes"."""
        return f"{self.who}, {self.lanes} lanes" if self.lanes else self.who

    @property
    def blocks(self) -> int:
        """How many blocks chapter 10's kernel launched; 0 of other kernels."""
        return -(-self.rows * self.lanes // (self.block_size * self.turns)) if self.lanes else 0


@dataclass(frozen=True)
class ClusterTime(BesideCopy):
    """A kernel on one float32 matrix, in microseconds; `copy_us` is a copy in the same run.

    `part` is what the matrix was measured for: long rows, or few of them. `cluster`, blocks per row, is 0 of other kernels
    than chapter 14's, and so is `block_size` of who is not of this book.
    """

    part: Literal["long", "few"]
    who: str
    block_size: int
    cluster: int


@dataclass(frozen=True)
class UnrollTime(BesideCopy):
    """Chapter 09's kernel at one setting on one matrix, in microseconds; a copy, and others by name, in the same run.

    `registers`, and `spill_bytes` of memory in place of registers, are a thread's; `asked_bytes` is what it
    asks for before it waits, on average over the loops that read; `blocks` fit a multiprocessor at once.
    """

    kernel: str
    block_size: int
    unroll: int
    in_flight: int
    others: dict[str, float]
    registers: int
    spill_bytes: int
    asked_bytes: float
    instructions: float
    blocks: int


@dataclass(frozen=True)
class TileTime(BesideCopy):
    """A Triton kernel at one setting, or another softmax, on one float32 matrix, in microseconds.

    `part` is what the matrix was measured for: every number of warps and stages; the length of rows; lengths around 1024.
    `copy_us` is a copy in the same run. `registers`, and `spill_bytes` of memory in place of registers, are a
    thread's, `shared_bytes` a program's, and `programs` fit a multiprocessor at once; these and the setting
    are 0 of others than Triton's kernels.
    """

    part: Literal["settings", "lengths", "sixteen"]
    who: str
    tile: int
    num_warps: int
    num_stages: int
    registers: int
    spill_bytes: int
    shared_bytes: int
    programs: int


@dataclass(frozen=True)
class TopkTimes:
    """The `k` first of each row of one matrix: microseconds of `softmax_topk()`, of a copy, of each peer and kernel."""

    rows: int
    cols: int
    dtype: str
    k: int
    data: str
    ours_us: float
    copy_us: float
    peers: dict[str, float]
    kernels: dict[str, float]

    @property
    def torch_us(self) -> float:
        """The time of the best of torch's forms, `topk(softmax(x))` and `topk(x)` with `logsumexp(x)`."""
        return min(us for name, us in self.peers.items() if name.startswith("topk"))

    @property
    def gain(self) -> float:
        """The best peer's time over ours."""
        return min(self.peers.values()) / self.ours_us


@dataclass(frozen=True)
class SizeTime:
    """A kernel of chapter 11 at one block size, in microseconds, and a copy in the same run."""

    kernel: str
    block_size: int
    rows: int
    cols: int
    k: int
    copy_us: float
    us: float


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


@dataclass(frozen=True)
class PrecisionTime(BesideCopy):
    """Chapter 13's kernel, a control of it or another softmax on one float32 matrix, in microseconds; a copy in the same run."""

    who: str


CONTENDERS = ("softmax_lib", "all-reduces", "gathered", "liger")
"""Who gives all results of a sharded row: ours, torch with all-reduces as Megatron-LM has them, and of the gathered row, Liger's loss."""
UNTOLD = "all-reduces left out"
"""What torch takes for that with nothing exchanged, which gives no softmax of the row."""
RANKS = (1, 2, 4, 8)
"""The numbers of GPUs on which sharded rows are timed."""


@dataclass(frozen=True)
class ShardedTime:
    """Microseconds of one operator on rows that are cut over `ranks` GPUs, by contender: `us`; a copy and a read of one shard.

    `cols` are a shard's. `bits` says whether shards had the bits of the whole row on one GPU.
    """

    ranks: int
    operator: Literal["softmax", "topk", "log_probabilities", "cross_entropy"]
    rows: int
    cols: int
    dtype: str
    us: dict[str, float]
    copy_us: float
    read_us: float
    bits: Literal["same", "other", "not compared"]


@dataclass(frozen=True, kw_only=True)
class Samples:
    """What samples of one float32 matrix tell, each in microseconds of one call, in the order in which they were taken."""

    rows: int
    cols: int
    us: list[float]

    @property
    def median_us(self) -> float:
        """The time that this book gives."""
        return median(self.us)

    @property
    def mean_us(self) -> float:
        """The time that outliers take part in."""
        return mean(self.us)

    @property
    def matrix_bytes(self) -> int:
        return self.rows * self.cols * ITEM_BYTES["float32"]

    @property
    def gb_per_s(self) -> float:
        """Bandwidth that one read and one write of the matrix would make in the median, in 10^9 bytes a second."""
        return gb_per_s(self.matrix_bytes, self.median_us)


# ---- runs, as JSON has them


def lines_of(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each time of a run, and what its row says."""
    yield from ({**row, **line} for row in run["rows"] for line in row["times"])


def times_of(kind: type[Time], run: dict[str, Any]) -> list[Time]:
    """One of this dataclass from each time of a run."""
    return [read_fields(kind, line) for line in lines_of(run)]


def _with_code(kind: type[Time], setting: tuple[str, ...], run: dict[str, Any]) -> list[Time]:
    """Every time of a run, with the machine code that belongs to its setting; of who has none that is 0."""
    codes = {tuple(code[name] for name in setting): code for code in run["codes"]}
    none = dict.fromkeys(("registers", "spill_bytes", "shared_bytes", "programs"), 0)

    def code_of(line: dict[str, Any]) -> dict[str, Any]:
        return codes[tuple(line[name] for name in setting)] if line.get("tile", True) else none

    return [read_fields(kind, {**code_of(line), **line}) for line in lines_of(run)]


def _topk(run: dict[str, Any]) -> tuple[list[TopkTimes], list[SizeTime]]:
    return rows_of(TopkTimes, run), [read_fields(SizeTime, line) for line in run["sweep"]]


WARP = Runs("warp", partial(times_of, WarpTime))
CLUSTER = Runs("cluster", partial(times_of, ClusterTime))
UNROLL = Runs(
    "unroll",
    partial(_with_code, UnrollTime, ("kernel", "block_size", "unroll", "in_flight")),
    of_gpu={"multiprocessors": int},
)
TILES = Runs(
    "triton", partial(_with_code, TileTime, ("who", "cols", "tile", "num_warps", "num_stages"))
)
TOPK = Runs("topk", _topk)
SHOWN = Runs("shown", partial(rows_of, ShownTime))
SHARDED = Runs("sharded", partial(times_of, ShardedTime), {})
PRECISION = Runs(
    "precision",
    partial(times_of, PrecisionTime),
    types={"digests": dict[str, str], "powers": list},
)


def _fastest_first(runs: Runs[list[Time]], gpu: str, wanted: dict[str, Any]) -> list[Time]:
    return sorted(matching(runs.found(gpu), **wanted), key=lambda one: one.us)  # type: ignore[attr-defined]


def warp_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[WarpTime]:
    """Chapter 10's kernel on short rows, and others beside it: the times whose fields are as `wanted`, the fastest first.

    `warp_times(cols=128, lanes=8)`. Raises `BadInput` where no such run was kept.
    """
    return _fastest_first(WARP, gpu, wanted)


def cluster_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[ClusterTime]:
    """Chapter 14's kernels on long rows, and others beside them: the times whose fields are as `wanted`, the fastest first.

    `cluster_times(cols=131072, cluster=8)`. Raises `BadInput` where no such run was kept.
    """
    return _fastest_first(CLUSTER, gpu, wanted)


def unroll_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[UnrollTime]:
    """Chapter 09's kernel at its settings: the times whose fields are as `wanted`, the fastest first.

    `unroll_times(rows=128, unroll=1)`. Raises `BadInput` where no such run was kept.
    """
    return _fastest_first(UNROLL, gpu, wanted)


def tile_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[TileTime]:
    """Chapter 12's Triton kernels, and others beside them: the times whose fields are as `wanted`, the fastest first.

    `tile_times(cols=1024, who="simple")`. Raises `BadInput` where no such run was kept.
    """
    return _fastest_first(TILES, gpu, wanted)


def tile_source(gpu: str = DEFAULT_GPU) -> str:
    """Where, when and with what: "one run on NVIDIA H200, 2026-11-24, triton 3.6.0". Raises `BadInput`."""
    software = TILES.newest(gpu)["software"]
    used = [f"{name} {software[name]}" for name in ("torch", "triton") if name in software]
    return ", ".join([TILES.source(gpu), *used])


def topk_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[TopkTimes]:
    """`softmax_topk()` beside its peers: the cells whose fields are as `wanted`, `topk_times(rows=4000, k=5)`.

    Raises `BadInput` where no such run was kept.
    """
    return matching(TOPK.found(gpu)[0], **wanted)


def topk_sizes(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[SizeTime]:
    """The kernels of chapter 11 at several block sizes, as `wanted`. Raises `BadInput`."""
    return matching(TOPK.found(gpu)[1], **wanted)


def shown_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[ShownTime]:
    """Kernels as chapters show them, beside those that take any row, as `wanted`: `shown_times(kernel="float4_aligned")`.

    Raises `BadInput` where no such run was kept.
    """
    return matching(SHOWN.found(gpu), **wanted)


def precision_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[PrecisionTime]:
    """Chapter 13's kernel, its controls and others beside them, as `wanted`: `precision_times(rows=1024, who="order_free")`.

    Raises `BadInput` where no such run was kept.
    """
    return matching(PRECISION.found(gpu), **wanted)


def sharded_times(gpu: str = DEFAULT_GPU, **wanted: Any) -> list[ShardedTime]:
    """Rows that are cut over several GPUs, as `wanted`: `sharded_times(operator="softmax", ranks=2)`.

    Raises `BadInput` where no such run was kept.
    """
    return matching(SHARDED.found(gpu), **wanted)
