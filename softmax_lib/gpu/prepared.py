"""What a thread keeps prepared: addresses are written into it at each call, so each thread has its own."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

T = TypeVar("T")


class OfThisThread(threading.local, Generic[T]):
    """Prepared launches by key."""

    def __init__(self) -> None:
        self.table: dict[tuple, T] = {}

    def keep(self, key: tuple, prepared: T, at_most: int) -> None:
        """Keep one more; all others go first where there are `at_most` already."""
        if len(self.table) >= at_most:
            self.table.clear()
        self.table[key] = prepared
