"""Kernels of these tests run by their machine code or PTX, and counted by the names that the recorders use."""

import numpy as np

from softmax_lib.emulator import launch as emulate
from softmax_lib.machine.launching import Counted, Threads, launch
from softmax_lib.machine.memory import Memory
from softmax_lib.machine.program import decode_program
from softmax_lib.machine.ptx.program import translate
from softmax_lib.source import Program


def run(
    source, entry, grid, block, arguments, *, arch=90, shared_bytes=0, decoder=decode_program
) -> Counted:
    """Launch `entry` of a source on arrays, which it writes in place, and whole numbers of 32 bits."""
    memory = Memory()
    placed = [
        memory.place(f"array {n}", one)
        if isinstance(one, np.ndarray)
        else one.to_bytes(4, "little")
        for n, one in enumerate(arguments)
    ]
    decoded = decoder(Program(source), arch, entry)
    return launch(decoded, Threads(axes(grid), axes(block), shared_bytes), placed, memory)


def run_ptx(*words, **how) -> Counted:
    """The same of the PTX."""
    return run(*words, **how, decoder=translate)


def run_source(source, entry, grid, block, arguments, *, shared_bytes=0):
    """The same of the source, as the emulator runs it."""
    emulate(source, grid, block, arguments, kernel=entry, shared_bytes=shared_bytes)


WITNESSES = {"source": run_source, "ptx": run_ptx, "machine code": run}
"""Who says what a kernel computes."""


def axes(given):
    """Three lengths."""
    return (*((given,) if isinstance(given, int) else given), 1, 1)[:3]
