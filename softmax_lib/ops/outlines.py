"""What the launch of a fast kernel is, before there is a GPU: the kernel, its threads, and the numbers that it is told."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from softmax_lib.engine.source import Program, Source
from softmax_lib.ops.designs import Design, Strided, Task, Tile
from softmax_lib.worklog.files import KERNEL_FOLDER

FOLDER = KERNEL_FOLDER / "fast"

SLOTS = 8
"""Of a grid's arguments the one that says where its slots are."""
SLOT_BYTES = 16
SETS = 2
"""Sets of slots that a row's blocks use by turns."""


@dataclass(frozen=True)
class Build:
    """A kernel of kernels/fast/<stem>.cu by its C++ name, and what the compiler is told beside FLAGS."""

    stem: str
    expression: str
    flags: tuple[str, ...] = ()

    @cached_property
    def source(self) -> Source:
        return _read(self.stem)

    @property
    def program(self) -> Program:
        """What to compile, for whoever wants to see its lines."""
        return Program(self.source, (), self.expression, self.flags)


@cache
def _read(stem: str) -> Source:
    return Source.read(FOLDER / f"{stem}.cu")


@dataclass(frozen=True)
class Outline:
    """`blocks` of `threads` with `shared_bytes` of dynamic shared memory, `cluster` of them together.

    `numbers` are the arguments behind the addresses of first, second and result.
    """

    build: Build
    blocks: int
    threads: int
    numbers: tuple[int, ...]
    shared_bytes: int = 0
    cluster: int = 1
    is_balanced: bool = False
    is_cooperative: bool = False

    @property
    def slot_bytes(self) -> int:
        """Of zeros through which the blocks of a grid write to each other."""
        return SETS * SLOT_BYTES * self.blocks if self.is_cooperative else 0


@dataclass(frozen=True)
class Scaling:
    """What `Scaling` of scaling.cuh holds.

    `queries` is the number of rows until the first query comes again, 0 where all see everything. `mask`
    has up to three (rows, step) from the innermost out: so many rows, each so many numbers behind the last.
    """

    scale: float
    queries: int = 0
    mask: tuple[tuple[int, int], ...] = ()

    @property
    def words(self) -> tuple[int, ...]:
        """The structure as words of 64 bits, as a launch has them."""
        (scale,) = struct.unpack("<I", struct.pack("<f", self.scale))
        inner, middle, outer = (*self.mask, (1, 0), (1, 0), (1, 0))[:3]
        return scale, self.queries, middle[0], inner[0], outer[1], middle[1], inner[1]


def outline_design(
    design: Design,
    task: Task,
    strides: Sequence[int],
    scaling: Sequence[int] = (),
    at_once: int | None = None,
) -> Outline:
    """Of a design that fits, for rows with these strides (of first, second and result, in numbers).

    Of a grid `at_once` rows at most are under way; its slots are at address 0.
    """
    is_cluster, is_grid = design.regime == "cluster", design.regime == "grid"
    rows = min(task.rows, at_once or task.rows) if is_grid else task.rows
    return Outline(
        build_of(design, task),
        design.blocks(rows),
        design.threads,
        (task.rows, task.cols, *strides, *((0,) if is_grid else ()), *scaling),
        design.shared_bytes,
        cluster=design.team if is_cluster else 1,
        is_balanced=is_cluster and design.balanced,
        is_cooperative=is_grid,
    )


def outline_tile(design: Tile, task: Task) -> Outline:
    """For short rows, one behind another, whose tensors begin at 16 bytes."""
    build, blocks = Build("tile", design.expression(task), task.flags), design.blocks(task.rows)
    shared_bytes = design.shared_bytes(task)
    return Outline(build, blocks, design.threads, (task.rows, task.cols), shared_bytes)


def outline_strided(design: Strided, task: Task, outer: int, inner: int) -> Outline:
    """For a contiguous (outer, cols, inner) tensor."""
    build = Build("strided", design.expression(task), task.flags)
    blocks, numbers = design.blocks(outer, inner), (task.cols, inner)
    return Outline(build, blocks, design.threads, numbers, cluster=design.cluster)


def build_of(design: Design, task: Task) -> Build:
    """The kernel of a design that fits."""
    return Build(design.regime, design.expression(task), task.flags)
