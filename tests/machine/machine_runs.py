"""Kernels of these tests run by their machine code, and counted by the names that the recorders use."""

import numpy as np

from softmax_lib.machine.code import code_of
from softmax_lib.machine.launching import Counted, Threads, launch
from softmax_lib.machine.memory import Memory
from softmax_lib.machine.program import decode
from softmax_lib.source import Program


def run(source, entry, grid, block, arguments, *, arch=90, shared_bytes=0) -> Counted:
    """Launch `entry` of a source on arrays, which it writes in place, and whole numbers of 32 bits."""
    memory = Memory()
    placed = [
        memory.place(f"array {n}", one)
        if isinstance(one, np.ndarray)
        else one.to_bytes(4, "little")
        for n, one in enumerate(arguments)
    ]
    decoded = decode(code_of(Program(source), arch), entry)
    return launch(decoded, Threads(axes(grid), axes(block), shared_bytes), placed, memory)


def axes(given):
    """Three lengths."""
    return (*((given,) if isinstance(given, int) else given), 1, 1)[:3]
