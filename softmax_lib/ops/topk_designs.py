"""How the search for the k first of each row is shared among warps, and the kernel that this makes."""

from __future__ import annotations

from dataclasses import dataclass

from softmax_lib.engine.source import WARP
from softmax_lib.ops.designs import CHUNK_BYTES, CUDA_TYPES, SIZES
from softmax_lib.ops.outlines import Build

MOST = 128
"""The largest k."""
MOST_NARROW_COLS = 4096
"""Rows of bfloat16 up to here are searched by keys of 32 bits; in longer ones 64 bits are as fast."""
WARPS_AN_SM = 31
"""Of the 32 that a multiprocessor has registers for, so many: all rows are under way at once. Where shared memory
holds fewer (17 KB a block of 4), as before sm_90, some wait."""
TEAMS_AN_SM = 2.5
"""Blocks of 8 warps on each multiprocessor that share out long rows: more take longer to meet than they save."""


@dataclass(frozen=True)
class TopkTask:
    """The `k` first of `rows` rows of `cols` numbers; with `edges` rows begin and end anywhere."""

    rows: int
    cols: int
    dtype: str
    k: int
    edges: bool

    def __str__(self) -> str:
        """In short: "softmax_topk, 8 of 300 x 4096 float32"."""
        return f"softmax_topk, {self.k} of {self.rows} x {self.cols} {self.dtype}"

    @property
    def numbers_a_chunk(self) -> int:
        return CHUNK_BYTES // SIZES[self.dtype]

    @property
    def order(self) -> str:
        """What topk.cuh makes keys of."""
        fits = self.dtype == "bfloat16" and self.cols <= MOST_NARROW_COLS
        return "Narrow" if fits else "Wide"

    @property
    def keys_a_list(self) -> int:
        """Of its best that a block hands on to the others of its row: LIST of topk.cu."""
        return self.k if self.k <= WARP // 2 else -(-self.k // WARP) * WARP

    @property
    def is_short(self) -> bool:
        """Whether the lanes of a warp hold a row, a chunk each."""
        return self.cols <= WARP * self.numbers_a_chunk and self.k <= WARP


@dataclass(frozen=True)
class TopkDesign:
    """`teams` blocks of `warps` warps for each row, or a block of four rows; `chunks` of 16 bytes a lane and turn."""

    chunks: int
    warps: int
    teams: int

    @property
    def threads(self) -> int:
        return 128 if self.warps == 1 else WARP * self.warps

    def blocks(self, rows: int) -> int:
        """Of a launch."""
        rows_a_block = self.threads // WARP // self.warps
        return -(-rows // rows_a_block) * self.teams

    def build(self, task: TopkTask) -> Build:
        deep = next(deep for deep in (1, 2, 4) if task.k <= WARP * deep)
        held = f"{CUDA_TYPES[task.dtype]}, {task.order}, {self.chunks}, {deep}, {self.warps}"
        return Build("topk", f"softmax_topk<{held}, {self.threads}, {1024 // self.threads}>")


SHORT_THREADS = 128


def short_build(task: TopkTask) -> Build:
    """The kernel for rows that a warp holds."""
    most, edges = 8 if task.k <= 8 else WARP, str(task.edges).lower()
    held = f"{CUDA_TYPES[task.dtype]}, {task.order}, {most}, {edges}"
    return Build("topk_short", f"softmax_topk_short<{held}, {SHORT_THREADS}>")


def topk_design(task: TopkTask, multiprocessors: int) -> TopkDesign:
    """As many warps as the GPU runs at once, but none for less than a turn: one a row where there are rows enough."""
    a_turn = 16 * WARP  # numbers
    chunks = 16 // task.numbers_a_chunk
    if task.cols <= a_turn // 2:
        chunks, a_turn = chunks // 2, a_turn // 2
    at_once = max(1, round(WARPS_AN_SM * multiprocessors / task.rows))
    parts = min(at_once, -(-task.cols // a_turn))
    if parts <= 8:
        return TopkDesign(chunks, 1 << (parts.bit_length() - 1), 1)
    most = 128 if task.k <= 16 else 64  # whose keys one block merges
    teams = min(-(-parts // 8), most, int(TEAMS_AN_SM * multiprocessors / task.rows))
    return TopkDesign(chunks, 8, max(1, teams))
