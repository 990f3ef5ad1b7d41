"""What a launch says of scores: their scale, which of them take part, and how the rows of a mask repeat."""

from __future__ import annotations

import struct
from dataclasses import dataclass


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
