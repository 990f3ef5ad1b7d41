"""A launch of decoded machine code: laid out, run in slices so that Ctrl-C works, and what was counted."""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from softmax_lib.engine.compiled.cubin import SHARED_BASE
from softmax_lib.engine.compiled.draft import ALL
from softmax_lib.engine.compiled.library import (
    BANKS,
    COUNTS,
    EXECUTED,
    HAZARD,
    Array,
    Bank,
    Ending,
    Launch,
    Status,
    library,
)
from softmax_lib.engine.compiled.memory import LOCAL_WINDOW, SHARED_WINDOW, Memory, PlacedArray
from softmax_lib.engine.compiled.program import Decoded, explain, place_of
from softmax_lib.engine.errors import (
    BadInput,
    Deadlock,
    Hang,
    IllegalAddress,
    KernelFault,
    NotAvailable,
)
from softmax_lib.engine.geometry import Geometry
from softmax_lib.engine.grids import MOST_SHARED_BYTES
from softmax_lib.engine.spec import look_at_pace, watchdog_s

_SLICE = 20_000_000
"""Instructions of warps between two looks at the clock: a tenth of a second or so."""

_SPACES = ("global", "shared", "local", "cluster")

_WINDOWS = {0x1C: SHARED_WINDOW, 0x24: LOCAL_WINDOW}
"""Where bank 0 has them."""

MULTIPROCESSORS = 132
"""Of an H100 or H200."""
MOST_AT_ONCE = MULTIPROCESSORS * 2048
"""Threads that it has room for."""

FIRST_WITH_CLUSTERS = 90
"""Of archs."""

CLUSTER_AT, CLUSTER_BLOCKS_AT = 0x140, 0x188
"""In bank 0: that there are clusters, their sides, and those of which to multiply with; and how many blocks they have."""

BARRIER_AT = {True: 0x44, False: 0x8C}
"""In bank 0, from sm_90 on and before: the address of what `grid.sync()` counts in, its upper word first."""

_STACK_AT = 0x28
"""In bank 0: where a thread's stack begins, at its end."""

VARIABLES = "variables"
"""What the array is called that holds the `__device__` variables of a module, one behind the other."""

BARRIER = "grid barrier"
"""And what the one in which the blocks of a cooperative launch count who has come."""

_SHARED_BYTE = "byte {} of shared memory".format

Argument = PlacedArray | bytes | None
"""An array, the bytes of a value, or a null pointer."""


class ReadBack(Exception):
    """A launch reads an array whose bytes are not kept."""


Progress = Callable[[int, int], None]
"""Hears how many threads of how many have come to their end."""


@dataclass(frozen=True, eq=False)
class Counted:
    """What a launch did. `counts` is an array of `COUNTS` of shape (sites, arrays + 3): behind the arrays
    come shared and local memory, and shared memory of other blocks of the cluster. `executed` has `EXECUTED`
    for each statement, `barriers` how often a whole block met there; `hazards` are rows of `HAZARD`, none unless it
    was watched."""

    decoded: Decoded
    arrays: tuple[PlacedArray, ...]
    counts: np.ndarray
    executed: np.ndarray
    barriers: np.ndarray
    hazards: np.ndarray

    def space_of(self, column: int) -> str:
        """Where a column of `counts` is: "global", "shared", "local" or "cluster"."""
        return _SPACES[max(0, column - len(self.arrays) + 1)]


def launch(
    decoded: Decoded,
    threads: Geometry,
    arguments: Sequence[Argument],
    memory: Memory,
    progress: Progress | None = None,
    shared_word: Callable[[int], str] = _SHARED_BYTE,
) -> Counted:
    """Run a kernel on `threads`: arrays are written in place, also where it faults. `shared_word` says what lies so
    many bytes behind the start of shared memory.

    Raises `KernelFault` for what a thread does wrong, `ReadBack` where it reads what is not kept, `NotAvailable` for an instruction that the interpreter
    does not have, `BadInput` for more shared memory than a block has, and for more threads of a cooperative
    launch than an H200 runs at once.
    """
    shared = decoded.cubin.shared_bytes + threads.shared_bytes
    if shared > MOST_SHARED_BYTES:
        raise BadInput(
            f"{decoded.kernel} has {shared} bytes of shared memory; a block has at most {MOST_SHARED_BYTES}."
        )
    together = prod(threads.grid) * prod(threads.block)
    if threads.cooperative and together > MOST_AT_ONCE:
        raise BadInput(
            f"The blocks of a cooperative launch run at once: {together} threads are more than the {MOST_AT_ONCE} "
            "that an H200 has room for."
        )
    held = memory.place(VARIABLES, np.frombuffer(bytearray(decoded.cubin.globals), np.uint8))
    barrier = memory.place(BARRIER, np.zeros(64, np.uint8)) if threads.cooperative else None
    banks = _banks(decoded, threads, arguments, held, barrier)
    launched, _kept = _fill_in(decoded, threads, memory, banks)
    runner = library().machine_open(ctypes.byref(launched))
    try:
        status = _run(runner, threads, progress)
        counted = _read(runner, decoded, memory)
        if memory.hear:
            memory.hear(counted)
        if status.ending == Ending.READ_BACK:
            raise ReadBack
        if status.ending != Ending.DONE:
            raise _explain(decoded, threads, memory, status, shared_word)
        memory.unwritten = frozenset()
        return counted
    finally:
        library().machine_close(runner)


def bank_0(decoded: Decoded) -> bytes:
    """The constant bank of a launch as it is before its threads and arguments are known."""
    cubin = decoded.cubin
    size = max((one.offset + one.bytes for one in cubin.parameters), default=0)
    first = bytearray(cubin.parameters_at + size + 16)
    for at, word in {**_WINDOWS, _STACK_AT: cubin.local_bytes}.items():
        struct.pack_into("<I", first, at, word)
    return bytes(first)


def _banks(
    decoded: Decoded,
    threads: Geometry,
    arguments: Sequence[Argument],
    held: PlacedArray,
    barrier: PlacedArray | None,
) -> list[bytes]:
    cubin = decoded.cubin
    banks = [bytearray(cubin.constants.get(number, b"")) for number in range(BANKS)]
    first = bytearray(bank_0(decoded))
    struct.pack_into("<6I", first, 0, *threads.block, *threads.grid)
    if barrier:
        at = BARRIER_AT[decoded.arch >= FIRST_WITH_CLUSTERS]
        struct.pack_into("<2I", first, at, barrier.address >> 32, barrier.address & ALL)
    if decoded.arch >= FIRST_WITH_CLUSTERS:
        sides = [np.nextafter(np.float32(1 / side), np.float32(2)) for side in threads.cluster]
        is_there = threads.cluster != (1, 1, 1)
        struct.pack_into("<4I3f", first, CLUSTER_AT, is_there, *threads.cluster, *sides)
        struct.pack_into("<I", first, CLUSTER_BLOCKS_AT, prod(threads.cluster))
    for parameter, argument in zip(cubin.parameters, arguments, strict=True):
        at = cubin.parameters_at + parameter.offset
        if not isinstance(argument, bytes):
            argument = struct.pack("<Q", argument.address if argument else 0)
        first[at : at + parameter.bytes] = argument[: parameter.bytes]
    banks[0] = first
    for at, place in cubin.addresses:
        struct.pack_into("<Q", banks[4], at, held.address + place)
    return [bytes(bank) for bank in banks]


def _fill_in(
    decoded: Decoded, threads: Geometry, memory: Memory, banks: Sequence[bytes]
) -> tuple[Launch, object]:
    """The launch as the library wants it, and what it points into."""
    kept = [
        Array(
            one.address, one.host.nbytes, one.host.ctypes.data if one.is_kept else None,
            one.name in memory.inputs, one.name in memory.unwritten,
        )
        for one in memory.arrays
    ]  # fmt: skip
    arrays = (Array * max(1, len(kept)))(*kept)
    contents = [np.frombuffer(bank, np.uint8) for bank in banks]
    of_banks = (Bank * BANKS)(*[Bank(one.ctypes.data, one.nbytes) for one in contents])
    made = Launch(
        code=decoded.code.ctypes.data,
        fixed=decoded.fixed.ctypes.data,
        banks=ctypes.addressof(of_banks),
        arrays=ctypes.addressof(arrays),
        code_count=len(decoded.code),
        fixed_count=len(decoded.fixed),
        array_count=len(kept),
        site_count=len(decoded.sites),
        rows=decoded.rows,
        cleared=decoded.cleared,
        predicates=decoded.predicates,
        shared_base=SHARED_BASE[decoded.arch],
        shared_bytes=decoded.cubin.shared_bytes + threads.shared_bytes,
        local_bytes=decoded.cubin.local_bytes,
        grid=threads.grid,
        block=threads.block,
        cluster=threads.cluster,
        is_cooperative=threads.cooperative,
        first_rank=decoded.first_rank,
        is_watched=memory.hear is not None,
    )
    return made, (contents, of_banks, arrays)


def _run(runner: int, threads: Geometry, progress: Progress | None) -> Status:
    """Slice by slice, until all is done, something stops it, or no thread has ended for too long."""
    status, limit_s = Status(), watchdog_s()
    total = prod(threads.grid) * prod(threads.block)
    start = since = time.monotonic()
    before = 0
    while True:
        library().machine_run(runner, _SLICE, ctypes.byref(status))
        if progress:
            progress(status.finished, total)
        if status.ending != Ending.RUNNING:
            return status
        now = time.monotonic()
        look_at_pace(status.finished, total, now - start)
        if status.finished != before:
            since, before = now, status.finished
        if now - since > limit_s:
            return status


def _read(runner: int, decoded: Decoded, memory: Memory) -> Counted:
    statements, arrays = len(decoded.code), tuple(memory.arrays)
    counts = np.zeros((len(decoded.sites), len(arrays) + len(_SPACES) - 1), COUNTS)
    executed, barriers = np.zeros(statements, EXECUTED), np.zeros(statements, np.uint64)
    library().machine_read(runner, *(one.ctypes.data for one in (counts, executed, barriers)))
    hazards = np.zeros(library().machine_hazards(runner, None) if memory.hear else 0, HAZARD)
    if len(hazards):
        library().machine_hazards(runner, hazards.ctypes.data)
    return Counted(decoded, arrays, counts, executed[:-1], barriers[:-1], hazards)


# ---- what went wrong


def _explain(
    decoded: Decoded,
    threads: Geometry,
    memory: Memory,
    status: Status,
    shared_word: Callable[[int], str],
) -> KernelFault | NotAvailable:
    ending = Ending(status.ending)
    if ending == Ending.NOT_THERE:
        return explain(decoded, status.at)
    file, line = place_of(decoded, status.at)
    if ending == Ending.RUNNING:
        limit = f"no thread has finished for {watchdog_s():g} s"
        return Hang("hang", file, line, None, None, f"the kernel hangs: {limit}")
    who = threads.who(status.block, status.thread)
    where = place = _address(memory, status)
    if _SPACES[status.space] in ("shared", "cluster"):
        # without the rank of a block (cpp/warp.h); an address before the start is below 0
        offset = (status.address & 0xFFFFFF ^ 0x800000) - 0x800000 - SHARED_BASE[decoded.arch]
        where, place = shared_word(offset), _SHARED_BYTE(offset)
    outside = where if " of its " in where else f"{place}, which no array has"
    kinds: dict[Ending, tuple[type[KernelFault], str, str]] = {
        Ending.OUT_OF_BOUNDS: (IllegalAddress, "out of bounds", outside),
        Ending.MISALIGNED: (IllegalAddress, "misaligned", f"{where}, which is misaligned"),
        Ending.CONSTANT_BOUNDS: (IllegalAddress, "out of bounds", "what is past the constants"),
        Ending.STUCK: (Deadlock, "deadlock", f"waits at {file}:{line} for threads that never come"),
        Ending.TRAPPED: (KernelFault, "fault", "stops the kernel"),
        Ending.BLOCK_GONE: (IllegalAddress, "out of bounds", f"{where}, of a block that has ended"),
        Ending.NO_CODE: (KernelFault, "fault", "goes on where there is no code"),
    }  # fmt: skip
    fault, kind, what = kinds[ending]
    sentence = (
        f"illegal address: {who} reaches {what}" if fault is IllegalAddress else f"{who} {what}"
    )
    axes = threads.block_axes(status.block)
    return fault(kind, file, line, axes, status.thread, sentence)


def _address(memory: Memory, status: Status) -> str:
    if status.space:
        return f"byte {status.address} of {_SPACES[status.space]} memory"
    found = memory.find(status.address)
    if found is None:
        return f"address {status.address:#x}"
    array, at = found
    return f"byte {at} of {array.name} ({array.host.nbytes} bytes)"
