"""Chapter 10's kernel, lanes by block size by turns, on short rows; and who is fastest by rows and columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from softmax_lib.suites.cells import (
    Matrix,
    Progress,
    call_of,
    require_right,
    run_cells,
    time_contenders,
)
from softmax_lib.suites.timing import Call
from softmax_lib.worklog.kernel import POWERS_OF_TWO
from softmax_lib.worklog.registry import kernels
from softmax_lib.worklog.tiles.launching import launch
from softmax_lib.worklog.tiles.programs import kernels as tile_kernels
from softmax_lib.worklog.tiles.programs import settle

PROTOCOL = (
    "Microseconds of one call: median of CUDA graph replays, L2 cold; all of one matrix take their turns "
    "in one run. copy_us is the fastest copy of the matrix."
)
NAME = "warp"
FLOATS = 2**24
"""Of each matrix of short rows: 64 MiB, more than an L2 holds."""
SHORT = (32, 64, 96, 128, 256, 512, 1024)
SEEDS = (128, 96)
"""The matrix of chapter 10's source."""
SMALL = (32768, 128)
"""Few enough that a copy stays below the time that its blocks, one a row, take to start."""
TURNS_OF = ((32, 32), (32, 128), (8, 32), (8, 128))
"""Lanes and block sizes at which every number of turns is timed."""
BLOCK_A_ROW = ("shared", "shuffle", "float4", "fusion")
PLANE_ROWS = tuple(2**power for power in range(7, 20))
PLANE_COLS = tuple(2**power for power in range(4, 20))
PLANE_FLOATS = (2**14, 2**26)
"""Least and most of a matrix of the plane."""
PLANE_LANES = (8, 32)
CONTEST = ("naive", "online", *BLOCK_A_ROW, "unroll")
TRITON = {"simple": 2**16, "persistent": 2**15}
"""Kernels of chapter 12, and the longest rows that they are compiled for here."""


def _in_triton(name: str) -> Call:
    return lambda x, y: launch(tile_kernels[name], x, y, settle(x.shape[1]))


OUTSIDE: dict[str, Call] = {
    **{name: call_of(name) for name in ("torch", "softmax()")},
    **{f"Triton, {name}": _in_triton(name) for name in TRITON},
}
"""Who is timed beside this book's CUDA kernels, each as it launches itself."""


@dataclass(frozen=True)
class Contender:
    """A kernel at a block size, and of chapter 10's at lanes and turns; all 0 of who is not of this book."""

    who: str
    block_size: int = 0
    lanes: int = 0
    turns: int = 0

    @property
    def call(self) -> Call:
        if self.who in OUTSIDE:
            return OUTSIDE[self.who]
        macros = {"LANES": self.lanes, "TURNS": self.turns} if self.lanes else {}
        return call_of(self.who, self.block_size, **macros)

    def takes(self, cols: int) -> bool:
        """Whether it takes rows of `cols` elements."""
        if self.who in OUTSIDE:
            return cols <= TRITON.get(self.who.removeprefix("Triton, "), cols)
        kernel = kernels[self.who]
        if self.lanes:
            kernel = kernel.setting(LANES=self.lanes)
        return self.block_size in kernel.legal_block_sizes(cols)


def cells() -> Iterator[Matrix[Contender]]:
    """All that the suite times."""
    for rows, cols in (SEEDS, SMALL, *((FLOATS // cols, cols) for cols in SHORT)):
        found = dict.fromkeys((*_settings(), *map(Contender, OUTSIDE)))
        yield Matrix("short", rows, cols, tuple(one for one in found if one.takes(cols)))
    for cols in PLANE_COLS:
        for rows in PLANE_ROWS:
            if PLANE_FLOATS[0] <= rows * cols <= PLANE_FLOATS[1]:
                yield Matrix("plane", rows, cols, tuple(_contest(cols)))


def _settings() -> Iterator[Contender]:
    choices = kernels[NAME].choices
    yield from (Contender(NAME, size, lanes, 1) for lanes in choices for size in POWERS_OF_TWO)
    for lanes, size in TURNS_OF:
        yield from (Contender(NAME, size, lanes, turns) for turns in choices)
    controls = [name for name, kernel in kernels.items() if kernel.of == NAME]
    yield from (Contender(name, size, 32, 1) for name in controls for size in POWERS_OF_TWO)
    yield from (Contender(name, size) for name in BLOCK_A_ROW for size in POWERS_OF_TWO)
    yield Contender("unfused", kernels["unfused"].default_block_size)


def _contest(cols: int) -> Iterator[Contender]:
    for name in CONTEST:
        kernel = kernels[name]
        if kernel.legal_block_sizes(cols):
            yield Contender(name, kernel.choose_block_size(cols))
    for lanes in PLANE_LANES:
        one = Contender(NAME, kernels[NAME].default_block_size, lanes, 1)
        if one.takes(cols):
            yield one
    yield from (one for one in map(Contender, OUTSIDE) if one.takes(cols))


def run_suite(progress: Progress) -> dict[str, Any]:
    """Every cell timed on this GPU, as JSON has it.

    `rows` has for each matrix `{"part", "rows", "cols", "copy_us", "times": [{"who", "block_size", "lanes",
    "turns", "us"}]}`, and `digests` what was compiled; the rest is as in `cells.run_cells`. Raises
    `NotAvailable` where a kernel is wrong here.
    """
    suite = [name for name, kernel in kernels.items() if kernel.suite == NAME]
    require_right(suite)
    timed = run_cells(list(cells()), time_contenders, progress)
    timed_too = (*suite, *CONTEST, "unfused")
    digests = {name: kernels[name].digest for name in timed_too}
    digests |= {name: tile_kernels[name].digest for name in TRITON}
    return {"protocol": PROTOCOL, **timed, "digests": digests}
