"""Arrays as machine code finds them: at made-up addresses, as aligned as on a GPU, where the caller's bytes are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softmax_lib.engine.arrays import address, element_code, host_bytes, offset

ALIGNMENT = 256
"""Bytes that cudaMalloc aligns to."""

SHARED_WINDOW, LOCAL_WINDOW = 0x10000, 0x20000
"""Upper words of generic addresses of shared and of local memory (cpp/run.h)."""

_FIRST, _APART = 1 << 44, 1 << 40


@dataclass(frozen=True, eq=False)
class PlacedArray:
    """An array's bytes, which a launch reads and writes in place, and the address that kernels know them by.

    Of one that is not kept there are no bytes: what is written there is counted and forgotten. `code` says what an
    element is, as `arrays.element_code` does.
    """

    name: str
    host: np.ndarray
    address: int
    is_kept: bool = True
    code: str = "V1"


class Memory:
    """The arrays of a launch, each far from the others: what runs over the end of one finds nothing.

    With somebody to `hear` what launches did, faults or not, these are watched for hazards; `inputs` and `unwritten`
    are names of arrays, as in `LaunchSpec`.
    """

    def __init__(
        self,
        hear: Callable[[Any], None] | None = None,
        inputs: frozenset[str] = frozenset(),
        unwritten: frozenset[str] = frozenset(),
    ) -> None:
        self.arrays: list[PlacedArray] = []
        self.hear, self.inputs, self.unwritten = hear, inputs, unwritten

    def place(self, name: str, array: Any) -> PlacedArray:
        """`array`, contiguous, at its own offset from a multiple of 256 bytes; the same one only once."""
        host = host_bytes(array)
        for known in self.arrays:
            if address(known.host) == address(host) and known.host.nbytes == host.nbytes:
                return known
        at = self._next + offset(host) % ALIGNMENT
        return self._add(PlacedArray(name, host, at, code=element_code(array)))

    def place_unkept(self, name: str, nbytes: int) -> PlacedArray:
        """So many bytes that a launch may write and not read; by one name only once."""
        for known in self.arrays:
            if known.name == name and not known.is_kept:
                return known
        nothing = np.broadcast_to(np.uint8(0), nbytes)
        return self._add(PlacedArray(name, nothing, self._next, is_kept=False))

    @property
    def _next(self) -> int:
        return _FIRST + len(self.arrays) * _APART

    def _add(self, placed: PlacedArray) -> PlacedArray:
        self.arrays.append(placed)
        return placed

    def find(self, at: int) -> tuple[PlacedArray, int] | None:
        """The array nearest below an address, and how many bytes above its start that is."""
        below: Sequence[PlacedArray] = [one for one in self.arrays if one.address <= at]
        return (below[-1], at - below[-1].address) if below else None
