"""The rows of a warp's file: registers first, then what stays the same throughout a launch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softmax_lib.engine.compiled.tables import FIXED

_WIDEST = 4
"""Registers that one access moves at most."""


class Rows:
    """Where each register, immediate and constant has its row; words that belong together lie behind each other.

    There are rows for so many `registers` and uniform ones.
    """

    def __init__(self, registers: int, uniforms: int):
        self._registers = registers
        self.trash = registers + uniforms
        self.cleared = self.trash + _WIDEST
        self.zero = self.cleared
        self.count = self.zero + _WIDEST
        self._fixed: list[tuple[int, int, int]] = []
        self._known: dict[tuple[tuple[int, int], ...], int] = {}

    def register(self, number: int) -> int:
        """The row of Rn."""
        return number

    def uniform(self, number: int) -> int:
        """The row of URn."""
        return self._registers + number

    def immediate(self, *words: int) -> int:
        """The first row of these words."""
        return self._fix([(-1, word & 0xFFFFFFFF) for word in words])

    def constant(self, bank: int, offset: int, words: int) -> int:
        """The first row of so many words of a constant bank, from `offset` on."""
        return self._fix([(bank, offset + 4 * n) for n in range(words)])

    def _fix(self, words: Sequence[tuple[int, int]]) -> int:
        key = tuple(words)
        if key not in self._known:
            self._known[key] = self.count
            self._fixed += [(self.count + n, *word) for n, word in enumerate(words)]
            self.count += len(words)
        return self._known[key]

    def table(self) -> np.ndarray:
        """What the interpreter fills in, as `FIXED`."""
        return np.array(self._fixed, FIXED)
