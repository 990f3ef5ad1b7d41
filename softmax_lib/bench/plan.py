"""What a record holds: every shape, and who is timed or profiled on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from softmax_lib.kernel import Kernel
from softmax_lib.records.cited import ORIGINAL_WORKLOG
from softmax_lib.records.measurement import PEERS, Case
from softmax_lib.registry import kernels, rungs

Shape = tuple[int, int]

WORKLOG = ORIGINAL_WORKLOG.shape
"""Rows and columns of the worklog this book grows from."""

HOST_SHAPE = (128, 96)
"""So small that a call takes the host longer than the device: here the host is timed too."""

PEER_SHAPES: dict[str, tuple[Shape, ...]] = {
    "float32": (
        WORKLOG, HOST_SHAPE, (32768, 128), (32768, 256), (4096, 1024), (8192, 1000), (32768, 1024),
        (8192, 4096), (4096, 8192), (4096, 16384), (4096, 32768), (2048, 65536), (1024, 131072),
        (1024, 262144), (8192, 50257), (128, 50257), (64, 131072), (16, 262144), (8, 131072), (1, 1048576),
    ),
    "bfloat16": (
        (32768, 256), (32768, 1024), (8192, 4096), (4096, 16384), WORKLOG, (4096, 32768), (8192, 50257),
        (2048, 65536), (1024, 131072), (1024, 262144),
    ),
}  # fmt: skip
"""From a launch that is all latency to rows longer than a block can hold, with odd lengths between."""

ROW_SWEEP = tuple((1024, 2**power) for power in range(9, 18))
"""Shapes that show where each rung falls behind as its rows grow."""

OTHER_SHAPES = ((32768, 256), (8192, 1000), (8192, 50257))

HOT_SHAPE = (256, 4096)
"""Fits into the L2 cache of every GPU with x and y."""

QUICK_SHAPES = (WORKLOG, (8192, 1000))

PROFILED_SHAPES = ((64, 4096), (1000, 1001))
"""Rows of whole sectors; and rows that each start elsewhere in one, with a ragged end."""

TIMED_ON: dict[str, Shape] = {"per_element": (1024, 4096)}
PROFILED_ON: dict[str, tuple[Shape, ...]] = {"per_element": ((8, 512),)}
"""For a kernel that reads its row once an element, and would take minutes on what the others get."""


@dataclass(frozen=True)
class Job:
    """Cases that differ in provider and block size only, timed in one run with a copy."""

    cases: tuple[Case, ...]

    @property
    def matrix(self) -> Case:
        """Any of them: for what all have in common."""
        return self.cases[0]

    @property
    def times_host(self) -> bool:
        """Whether eager calls on the host are timed too."""
        return self.matrix.shape == HOST_SHAPE

    @property
    def label(self) -> str:
        """In words, for the progress bar."""
        return f"{self.matrix.shape} {self.matrix.dtype}, {self.matrix.l2} L2"


def plan(quick: bool = False) -> list[Job]:
    """Every timing of a record, one job a shape, dtype and L2 state; `quick` keeps two shapes."""
    jobs: dict[Case, dict[Case, None]] = {}
    for case in _timed():
        if not quick or case.shape in QUICK_SHAPES:
            jobs.setdefault(replace(case, provider="", block_size=None), {})[case] = None
    return [Job(tuple(cases)) for cases in jobs.values()]


def _timed() -> Iterator[Case]:
    for kernel in rungs():
        for size in kernel.legal_block_sizes(WORKLOG[1]):
            yield Case(kernel.name, *WORKLOG, block_size=size)
        yield replace(_own(kernel, HOT_SHAPE), l2="hot")
        yield from _where_it_can(kernel, (*ROW_SWEEP, *OTHER_SHAPES))
    for kernel in rungs()[-2:]:  # the fastest two, for the map of who wins where
        yield from _where_it_can(kernel, PEER_SHAPES["float32"])
    for kernel in kernels.values():
        if kernel.foil:
            yield _own(kernel, TIMED_ON.get(kernel.name, WORKLOG))
    for dtype, shapes in PEER_SHAPES.items():
        yield from (Case(name, *shape, dtype) for shape in shapes for name in PEERS)
    yield from (Case(name, *shape) for shape in ROW_SWEEP for name in PEERS)


def _where_it_can(kernel: Kernel, shapes: tuple[Shape, ...]) -> Iterator[Case]:
    return (_own(kernel, shape) for shape in shapes if kernel.legal_block_sizes(shape[1]))


def _own(kernel: Kernel, shape: Shape) -> Case:
    """The kernel at the block size that it chooses itself."""
    return Case(kernel.name, *shape, block_size=kernel.choose_block_size(shape[1]))


def profiled(quick: bool = False) -> list[Case]:
    """Every ncu profile of a record."""
    cases = []
    for kernel in kernels.values():
        shapes = PROFILED_ON.get(kernel.name, PROFILED_SHAPES)
        if not kernel.foil and not quick:
            shapes = (*shapes, WORKLOG)
        cases += [_own(kernel, shape) for shape in shapes]
    return cases
