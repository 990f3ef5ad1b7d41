"""What a record holds: every shape, and who is timed or profiled on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from softmax_lib.records.cited import ORIGINAL_WORKLOG
from softmax_lib.records.measurement import PEERS, Case, Data
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.registry import kernels, rungs

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

BACKWARD_SHAPES: dict[str, tuple[Shape, ...]] = {
    "float32": ((32768, 1024), WORKLOG, (8192, 50257)),
    "bfloat16": ((8192, 4096), (2048, 65536)),
}
"""A row a block, a row a cluster, rows that begin anywhere."""

OPERATOR_SHAPES: dict[str, tuple[Shape, ...]] = {
    "forward": (
        (4096, 256), (4096, 2176), (4096, 5248), (4096, 12672), (3000, 10000), (512, 151936), (4, 1048576),
        (1, 32000), (16, 50257), (4, 128256), (64, 151936), (8, 262144),
        (8192, 256), (65536, 64), (131072, 8),
    ),
    "backward": ((4096, 12672), (3000, 10000), (65536, 64)),
}  # fmt: skip
"""In float32, for `softmax()` and its peers alone: as Triton's tutorial plots; a decoder's logits; a router's."""

TENSORS: dict[str, tuple[tuple[tuple[int, ...], int, str, bool], ...]] = {
    "forward": (
        ((64, 4096, 32), 1, "float32", False), ((32, 1000, 56, 56), 1, "float32", False),
        ((8, 21, 512, 512), 1, "float32", False), ((32, 64, 128, 128), 0, "float32", False),
        ((4, 16, 2048, 2048), 3, "bfloat16", True), ((16, 12, 512, 512), 3, "bfloat16", True),
    ),
    "backward": (((64, 4096, 32), 1, "float32", False),),
}  # fmt: skip
"""For them too: other shapes, their dimension and dtype, and whether they are scores with a mask."""

ROW_SWEEP = tuple((1024, 2**power) for power in range(9, 18))
"""Shapes that show where each rung falls behind as its rows grow."""

ODD_SHAPES = ((1024, 32769), (1024, 32776))
"""One column more than the worklog's, so that rows start anywhere in a sector; and eight more."""

ALIGNED_SHAPES = tuple((1024, cols) for cols in (8192, 32769, 32770, 32772, 32776, 32800))
"""Rows that start on a cache line, a sector, 16 bytes, 8 or anywhere: for one thread per row."""

READERS_SHAPES = ((1024, 2048), (1024, 131072))
"""Those that the worklog's own readers asked about."""

WAVES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 31)
"""Rows for each multiprocessor, of which each holds one at a time: time against these is a line."""

DATA: tuple[Data, ...] = ("spread", "masked")
DATA_FOILS = ("naive_divide", "textbook", "shuffle_divide")
"""Foils that are timed beside the rungs on other data than normal noise."""

HOT_SHAPE = (256, 4096)
"""Fits into the L2 cache of every GPU with x and y."""

QUICK_SHAPES = (WORKLOG, (8192, 1000))

PROFILED_SHAPES = ((64, 4096), (1000, 1001))
"""Rows of whole sectors; and rows that each start elsewhere in one, with a ragged end."""

MULTIPROCESSORS = 132
"""Of an H200: what the plan of the book's record is made for."""

TIMED_ON: dict[str, Shape] = {"per_element": (1024, 4096)}
"""For a kernel that reads its row once per element, and would take minutes on what the others get."""

PROFILED_ON: dict[str, tuple[Shape, ...]] = {
    "per_element": ((8, 512),),
    "unfused": ((64, 4096), WORKLOG),
}
"""The same; and one whose ragged loops the compiler unrolls, so that nobody can predict their requests."""


Job = tuple[Case, ...]
"""Cases that differ in provider, step and block size only, timed in one run with a copy."""


def plan(quick: bool = False, multiprocessors: int = MULTIPROCESSORS) -> list[Job]:
    """Every timing of a record, one job per matrix and L2 state; `quick` keeps two shapes."""
    jobs: dict[Case, dict[Case, None]] = {}
    for case in _timed(multiprocessors):
        if not quick or case.shape in QUICK_SHAPES:
            jobs.setdefault(replace(case, provider="", block_size=None, step=""), {})[case] = None
    return [tuple(cases) for cases in jobs.values()]


def _timed(multiprocessors: int) -> Iterator[Case]:
    for kernel in rungs():
        for shape in (*PEER_SHAPES["float32"], *ROW_SWEEP, *ODD_SHAPES):
            yield from _at_every_size(kernel, shape)
        yield replace(_own(kernel, HOT_SHAPE), l2="hot")
    for kernel in _recorded():
        if kernel.foil:
            yield _own(kernel, TIMED_ON.get(kernel.name, WORKLOG))
        if len(kernel.steps) > 1:
            yield from _steps(kernel, WORKLOG)
        if not kernel.foil or kernel.name in DATA_FOILS:
            yield from (replace(_own(kernel, WORKLOG), data=data) for data in DATA)
    for shape in ALIGNED_SHAPES:
        yield from (_own(kernels[name], shape) for name in ("naive", "online"))
        for name in ("naive_passes", "online_passes"):
            yield from _steps(kernels[name], shape)
    for name in ("fusion", "fusion_two_barriers"):
        rows = [multiprocessors * waves for waves in WAVES]
        for count in (*rows, multiprocessors * 8 + 1):  # and one row in a wave of its own
            yield _own(kernels[name], (count, WORKLOG[1]))
    for dtype, shapes in PEER_SHAPES.items():
        yield from (Case(name, *shape, dtype) for shape in shapes for name in PEERS)
    yield from (Case(name, *shape) for shape in ROW_SWEEP for name in PEERS)


def _recorded() -> list[Kernel]:
    """Those that no suite of `bench` times."""
    return [kernel for kernel in kernels.values() if not kernel.suite]


def _at_every_size(kernel: Kernel, shape: Shape) -> Iterator[Case]:
    """All block sizes that take such rows; of those with more threads than rows, the smallest."""
    rows, cols = shape
    sizes = kernel.legal_block_sizes(cols)
    for size in sizes:
        if kernel.steps[0].grid != "thread a row" or size < 2 * rows or size == sizes[0]:
            yield Case(kernel.name, rows, cols, block_size=size)


def _steps(kernel: Kernel, shape: Shape) -> Iterator[Case]:
    """Each of its launches alone."""
    yield from (replace(_own(kernel, shape), step=step.entry) for step in kernel.steps)


def _own(kernel: Kernel, shape: Shape) -> Case:
    """The kernel at the block size that it chooses itself."""
    return Case(kernel.name, *shape, block_size=kernel.choose_block_size(shape[1]))


def profiled(quick: bool = False) -> list[Case]:
    """Every ncu profile of a record; `quick` leaves out the large matrices."""
    cases = []
    for kernel in _recorded():
        usual = (WORKLOG,) if kernel.of else (*PROFILED_SHAPES, WORKLOG)
        shapes = PROFILED_ON.get(kernel.name, usual)
        if not kernel.foil:
            shapes += tuple(s for s in READERS_SHAPES if kernel.legal_block_sizes(s[1]))
        large = (WORKLOG, *READERS_SHAPES) if quick else ()
        cases += [_own(kernel, shape) for shape in shapes if shape not in large]
    return cases if quick else [*cases, *_profiled_too()]


def _profiled_too() -> Iterator[Case]:
    """What a chapter asks of one kernel alone."""
    more_blocks_at_once = 512
    yield replace(_own(kernels["float4"], WORKLOG), block_size=more_blocks_at_once)
    for cols in (8192, 32769):
        yield from (_own(kernels[name], (1024, cols)) for name in ("naive", "online"))
