"""What a record holds: every shape, and who is timed or profiled on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from softmax_lib.bench import peers
from softmax_lib.bench.ncu import Launch
from softmax_lib.bench.timing import L2, Contender
from softmax_lib.registry import Kernel, kernels, rungs

WORKLOG = (1024, 32768)
"""Rows and columns of the worklog this book grows from."""

PEER_SHAPES = {
    "float32": (
        WORKLOG, (128, 96), (32768, 128), (32768, 256), (4096, 1024), (8192, 1000), (32768, 1024),
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

QUICK_SHAPES = (WORKLOG, (8192, 1000))


@dataclass(frozen=True)
class Job:
    """One shape and who is timed on it, all in one run with a copy."""

    rows: int
    cols: int
    dtype: str
    l2: L2
    contenders: tuple[Contender, ...]

    @property
    def label(self) -> str:
        """In words, for the progress bar."""
        return f"({self.rows}, {self.cols}) {self.dtype}, {self.l2} L2"


def plan(quick: bool = False) -> list[Job]:
    """Every timing of a record, one job a shape, dtype and L2 state; `quick` keeps two shapes."""
    wanted: dict[tuple[int, int, str, L2], dict[Contender, None]] = {}
    for rows, cols, dtype, l2, contender in _timings():
        if not quick or (rows, cols) in QUICK_SHAPES:
            wanted.setdefault((rows, cols, dtype, l2), {})[contender] = None
    return [Job(*shape, tuple(contenders)) for shape, contenders in wanted.items()]


def _timings() -> Iterator[tuple[int, int, str, L2, Contender]]:
    for kernel in rungs():
        for size in kernel.legal_block_sizes(WORKLOG[1]):
            yield *WORKLOG, "float32", "cold", (kernel.name, size)
        yield 256, 4096, "float32", "hot", (kernel.name, kernel.choose_block_size(4096))
        for rows, cols in (*ROW_SWEEP, *OTHER_SHAPES):
            if kernel.legal_block_sizes(cols):
                yield rows, cols, "float32", "cold", (kernel.name, kernel.choose_block_size(cols))
    for kernel in rungs()[-2:]:  # the fastest two, for the map of who wins where
        for rows, cols in PEER_SHAPES["float32"]:
            if kernel.legal_block_sizes(cols):
                yield rows, cols, "float32", "cold", (kernel.name, kernel.choose_block_size(cols))
    for kernel in kernels.values():
        if kernel.foil:
            rows, cols = (1024, 4096) if kernel.name == "per_element" else WORKLOG
            yield rows, cols, "float32", "cold", (kernel.name, kernel.choose_block_size(cols))
    for dtype, shapes in PEER_SHAPES.items():
        for (rows, cols), name in ((shape, name) for shape in shapes for name in peers.PEERS):
            yield rows, cols, dtype, "cold", (name, None)
    for (rows, cols), name in ((shape, name) for shape in ROW_SWEEP for name in peers.PEERS):
        yield rows, cols, "float32", "cold", (name, None)


def profiles(quick: bool = False) -> list[Launch]:
    """Every ncu profile of a record."""
    launches = []
    for kernel in kernels.values():
        shapes = [(8, 512)] if kernel.name == "per_element" else [(64, 4096), (1000, 1001)]
        if not kernel.foil and not quick:
            shapes.append(WORKLOG)
        launches += [_profile(kernel, rows, cols) for rows, cols in shapes]
    return launches


def _profile(kernel: Kernel, rows: int, cols: int) -> Launch:
    return Launch(kernel.name, rows, cols, kernel.choose_block_size(cols))
