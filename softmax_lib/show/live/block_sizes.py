"""A kernel at each of its block sizes: what was recorded on a GPU, and what is live."""

from __future__ import annotations

from dataclasses import dataclass, field

from softmax_lib.records.measurement import Case, Measurement
from softmax_lib.records.record import Record
from softmax_lib.worklog.kernel import Kernel


@dataclass
class BlockSizes:
    """A kernel on (rows, cols) float32: what a record has at each block size, and what is live."""

    kernel: Kernel
    rows: int
    cols: int
    record: Record
    live: dict[int, Measurement] = field(default_factory=dict)

    @property
    def known(self) -> dict[int, Measurement]:
        """What there is, by block size: live, or else recorded."""
        timings = self.record.select(
            provider=self.kernel.name, rows=self.rows, cols=self.cols, dtype="float32", l2="cold"
        )
        sizes = {timing.case.block_size: timing for timing in timings}
        found = {size: timing for size, timing in sizes.items() if size} | self.live
        return {size: found[size] for size in sorted(found)}

    def at(self, block_size: int) -> Measurement:
        """What there is at `block_size`. Raises `BadInput` where that is nothing, and why."""
        self.kernel.settle_block_size(block_size, self.cols)
        if block_size in self.live:
            return self.live[block_size]
        return self.record.find(Case(self.kernel.name, self.rows, self.cols, block_size=block_size))

    def offered(self, launchable: bool) -> list[int]:
        """Block sizes to offer: those known, and with a GPU all others whose threads can hold a row.

        Raises `BadInput`, saying what is recorded, when nothing is known and nothing can be launched.
        """
        known = self.known
        if not known and not launchable:
            self.at(self.kernel.choose_block_size(self.cols))  # raises
        legal = self.kernel.legal_block_sizes(self.cols)
        return [size for size in legal if launchable or size in known]
