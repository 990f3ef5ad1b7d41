"""What kernels print, caught where it comes out."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def printed() -> Iterator[list[str]]:
    """Collects what is printed, by C as well: the list has the lines once this is over."""
    lines: list[str] = []
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile("w+") as file:
        os.dup2(file.fileno(), 1)
        try:
            yield lines
        finally:
            flush_c()
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        lines += file.read().splitlines()


def flush_c() -> None:
    """Let go of what C's printf holds back."""
    import ctypes

    ctypes.CDLL(None).fflush(None)


def numbers_in(lines: list[str]) -> np.ndarray:
    """The whole numbers of all lines, in their order."""
    return np.array([int(word) for line in lines for word in re.findall(r"\b\d+\b", line)])
