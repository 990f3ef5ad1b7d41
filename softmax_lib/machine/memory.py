"""Arrays as machine code finds them: at made-up addresses, as aligned as on a GPU, where the caller's bytes are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softmax_lib.arrays import address, host_bytes, offset

ALIGNMENT = 256
"""Bytes that cudaMalloc aligns to."""

SHARED_WINDOW, LOCAL_WINDOW = 0x10000, 0x20000
"""Upper words of generic addresses of shared and of local memory (cpp/run.h)."""

_FIRST, _APART = 1 << 44, 1 << 40


@dataclass(frozen=True, eq=False)
class PlacedArray:
    """An array's bytes, which a launch reads and writes in place, and the address that kernels know them by."""

    name: str
    host: np.ndarray
    address: int


class Memory:
    """The arrays of a launch, each far from the others: what runs over the end of one finds nothing."""

    def __init__(self) -> None:
        self.arrays: list[PlacedArray] = []

    def place(self, name: str, array: Any) -> PlacedArray:
        """`array`, contiguous, at its own offset from a multiple of 256 bytes; the same one only once."""
        host = host_bytes(array)
        for known in self.arrays:
            if address(known.host) == address(host) and known.host.nbytes == host.nbytes:
                return known
        start = _FIRST + len(self.arrays) * _APART + offset(host) % ALIGNMENT
        self.arrays.append(PlacedArray(name, host, start))
        return self.arrays[-1]

    def place_addresses(self, name: str, arrays: Sequence[PlacedArray]) -> PlacedArray:
        """An array of the addresses of others."""
        return self.place(name, np.array([one.address for one in arrays], np.uint64))

    def find(self, at: int) -> tuple[PlacedArray, int] | None:
        """The array nearest below an address, and how many bytes above its start that is."""
        below: Sequence[PlacedArray] = [one for one in self.arrays if one.address <= at]
        return (below[-1], at - below[-1].address) if below else None
