"""Kernels of these tests run by their machine code, and counted by the names that the recorders use."""

from collections import Counter

import numpy as np

from softmax_lib.machine.code import code_of
from softmax_lib.machine.kinds import access_of
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


def count(counted: Counted) -> Counter:
    """Counters of a launch, such as global_load_sectors."""
    found = Counter(instructions=int(counted.executed["warps"].sum()))
    for site, number in enumerate(counted.decoded.sites):
        statement = counted.decoded.statements[number]
        gives_nothing = statement.opcode.startswith("RED")
        access = "reduction" if gives_nothing else access_of(statement)
        *arrays, shared, local = counted.counts[site]
        for space, columns in (("global", arrays), ("shared", [shared]), ("local", [local])):
            for unit in ("requests", "sectors", "wavefronts", "conflicts"):
                found[f"{space}_{access}_{unit}"] += sum(int(one[unit]) for one in columns)
    return found
