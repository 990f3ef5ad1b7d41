"""Which threads a launch has, and what each is called: by number, and along its axes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from softmax_lib.engine.grids import Axes
from softmax_lib.engine.source import WARP


@dataclass(frozen=True)
class Geometry:
    """Which threads a launch has: `grid` blocks of `block` threads, in warps of `warp_size`, with `shared_bytes` of dynamic shared memory.

    Of the blocks, `blocks` run from `first_block` on; all, unless given. The blocks of a cluster take
    turns, and all blocks of a `cooperative` launch do.
    """

    grid: Axes
    block: Axes
    warp_size: int = WARP
    cluster: Axes = (1, 1, 1)
    cooperative: bool = False
    first_block: int = 0
    blocks: int | None = None
    shared_bytes: int = 0

    def only(self, block: int) -> Geometry:
        """The same, of which one block runs; all, where blocks take turns."""
        if self.cooperative or self.cluster != (1, 1, 1):
            return self
        return replace(self, first_block=block, blocks=1)

    def block_axes(self, number: int) -> Axes:
        """blockIdx of the block with this number: x first, then y, then z."""
        return _axes_of(number, self.grid)

    def who(self, block: int, thread: int) -> str:
        """Such as "thread 3 of block (0,0,0)"; in a block of several axes, "thread 35 (3,1,0) of ..."."""
        axes = f" {_words(_axes_of(thread, self.block))}" if max(self.block[1:]) > 1 else ""
        return f"thread {thread}{axes} of block {_words(self.block_axes(block))}"


def _words(axes: Axes) -> str:
    return f"({','.join(map(str, axes))})"


def _axes_of(number: int, wide: Axes) -> Axes:
    x, y, _ = wide
    return number % x, number // x % y, number // (x * y)


Argument = str | bytes | None
"""What a kernel is given: the name of an array, the bytes of a value, or a null pointer."""


@dataclass(frozen=True)
class Call:
    """One kernel launch: the entry `number` of a library, called `name`, on threads, with arguments."""

    name: str
    number: int
    geometry: Geometry
    arguments: tuple[Argument, ...]
