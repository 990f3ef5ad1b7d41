"""Chapter 14's kernels on long rows, blocks per row by block size, each control and others beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from softmax_lib.suites.cells import (
    SETTINGS_PROTOCOL,
    Matrix,
    Progress,
    call_of,
    require_right,
    run_cells,
    time_contenders,
)
from softmax_lib.suites.timing import Call
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.registry import find_kernel, hopper

LONG = (1024, 32768), (1024, 65536), (1024, 131072), (512, 262144)
FEW = (16, 131072), (132, 131072)
"""Fewer rows than multiprocessors, and one for each."""
SIZES = (256, 512, 1024)
BESIDE = ("fusion_aligned", "float4", "unroll")
"""A block for each row, at the block size that the kernel chooses."""
OUTSIDE = ("torch", "softmax()")


@dataclass(frozen=True)
class Contender:
    """A kernel at a block size, and of chapter 14's at blocks per row; both 0 of who is not of this book."""

    who: str
    block_size: int = 0
    cluster: int = 0

    @property
    def kernel(self) -> Kernel:
        """As it is compiled."""
        kernel = find_kernel(self.who)
        return kernel.setting(CLUSTER=self.cluster) if self.cluster else kernel

    @property
    def call(self) -> Call:
        macros = {"CLUSTER": self.cluster} if self.cluster else {}
        return call_of(self.who, self.block_size or None, **macros)


def cells() -> Iterator[Matrix[Contender]]:
    """All that the suite times."""
    for part, shapes in {"long": LONG, "few": FEW}.items():
        for rows, cols in shapes:
            yield Matrix(part, rows, cols, tuple(_contenders(cols)))


def _contenders(cols: int) -> Iterator[Contender]:
    for name, kernel in hopper.items():
        for cluster, size in product(kernel.choices, SIZES):
            one = Contender(name, size, cluster)
            if size in one.kernel.legal_block_sizes(cols):
                yield one
    for name in BESIDE:
        if find_kernel(name).legal_block_sizes(cols):
            yield Contender(name, find_kernel(name).choose_block_size(cols))
    yield from map(Contender, OUTSIDE)


def run_suite(progress: Progress) -> dict[str, Any]:
    """Every cell timed on this GPU, as JSON has it.

    `rows` has for each matrix `{"part", "rows", "cols", "copy_us", "times": [{"who", "block_size", "cluster", "us"}]}`,
    and `digests` what was compiled; the rest is as in `cells.run_cells`. Raises `NotAvailable` where a kernel is wrong
    here, and on a GPU without clusters.
    """
    require_right(hopper)
    timed = run_cells(list(cells()), time_contenders, progress)
    digests = {name: find_kernel(name).digest for name in (*hopper, *BESIDE)}
    return {"protocol": SETTINGS_PROTOCOL, **timed, "digests": digests}
