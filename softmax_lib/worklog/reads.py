"""How a kernel reads its matrix in machine code: how many loads leave before the first is needed.

A thread waits where it uses what a load brings. All loads that come before that use are on their way
together, so their bytes are what Little's law calls in flight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from softmax_lib.engine.compiled.code import code_of
from softmax_lib.engine.compiled.listing import Listing, Statement, find_loops, read_listing
from softmax_lib.engine.compiled.registers import bytes_moved, read, written
from softmax_lib.worklog.kernel import Kernel


@dataclass(frozen=True)
class Read:
    """Loads from global memory by one piece of the source, as compiled for one arch.

    `lines` are the lines of the kernel's file that they come from, the innermost first: a helper's,
    then that of its call. `loads` of together `asked_bytes` leave before the first of them is needed.
    `instructions` stand in the machine code for each float that is loaded, from the start of the
    loop to its end, or without one from the first load to the end of the kernel; `calls` of them
    are calls, such as the slow path of a division.
    """

    lines: tuple[int, ...]
    loads: int
    asked_bytes: int
    instructions: float
    calls: int
    in_loop: bool


def reads(kernel: Kernel, block_size: int, cols: int, arch: int) -> tuple[Read, ...]:
    """Every piece of a kernel's source that reads global memory, in the order of the machine code.

    Where the compiler made several loops of one, the one that asks for most before it waits counts.
    Needs no GPU. Raises what `code_of` does.
    """
    text = code_of(kernel.program(block_size, cols), arch).text
    found: dict[tuple[int, ...], Read] = {}
    for entry in kernel.entries:
        for one in _reads(read_listing(text, entry), kernel.source.file_name):
            best = found.get(one.lines)
            if best is None or (one.in_loop, one.asked_bytes) > (best.in_loop, best.asked_bytes):
                found[one.lines] = one
    return tuple(found.values())


def row_reads(found: Sequence[Read]) -> list[Read]:
    """Those of `found` that read a row: in loops, or where there are none by the widest loads."""
    loops = [read for read in found if read.in_loop]
    widest = max((read.asked_bytes // read.loads for read in found), default=0)
    return loops or [read for read in found if read.asked_bytes // read.loads == widest]


def in_flight_per_thread(found: Sequence[Read]) -> float:
    """Bytes that a thread has on their way, on average over the loops by which it reads its row.

    Loops that read equally much take times that their bytes in flight divide, so the mean is the
    harmonic one. Without loops there are several ways through the kernel, and the one that asks for
    least counts. Raises `ValueError` where nothing reads.
    """
    sizes = [read.asked_bytes for read in row_reads(found)]
    if any(read.in_loop for read in found):
        return len(sizes) / sum(1 / size for size in sizes)
    return float(min(sizes))


def _reads(listing: Listing, file_name: str) -> Iterator[Read]:
    """What each innermost loop reads, and what is read outside of loops."""
    code = listing.statements
    that_read = [
        loop for loop in find_loops(listing) if any(map(_is_load, code[loop.start : loop.stop]))
    ]
    innermost = [loop for loop in that_read if not any({*one} < {*loop} for one in that_read)]
    for loop in innermost:
        yield from _of(code[loop.start : loop.stop], file_name, in_loop=True)
    inside = {at for loop in innermost for at in loop}
    outside = [one for at, one in enumerate(code) if at not in inside]
    yield from _of(outside, file_name, in_loop=False)


def _is_load(one: Statement) -> bool:
    return one.opcode == "LDG"


def _lines(one: Statement, file_name: str) -> tuple[int, ...]:
    """Those of its places that are in the kernel's own file."""
    return tuple(line for file, line in one.places if file == file_name)


def _of(code: Sequence[Statement], file_name: str, in_loop: bool) -> Iterator[Read]:
    """The batches of loads of one stretch of code: each ends where one of its registers is needed."""
    for start, batch in _batches(code, file_name, by_line=not in_loop):
        span = code if in_loop else _up_to_exit(code[start:])
        floats = sum(bytes_moved(one) for one in span if _is_load(one)) / 4
        calls = sum(one.opcode == "CALL" for one in span)
        lines, size = _lines(batch[0], file_name), sum(map(bytes_moved, batch))
        yield Read(lines, len(batch), size, len(span) / floats, calls, in_loop)


def _batches(
    code: Sequence[Statement], file_name: str, by_line: bool
) -> Iterator[tuple[int, list[Statement]]]:
    """Loads that leave before any of them is needed, and where the first is; `by_line` of one line."""
    start = 0
    batch: list[Statement] = []
    waited: set[int] = set()
    for at, one in enumerate(code):
        is_apart = by_line and _is_load(one) and batch
        elsewhere = is_apart and _lines(one, file_name) != _lines(batch[0], file_name)
        if batch and (elsewhere or not waited.isdisjoint(read(one))):
            yield start, batch
            batch, waited = [], set()
        if _is_load(one):
            start = start if batch else at
            batch = [*batch, one]
            waited.update(written(one))
    if batch:
        yield start, batch


def _up_to_exit(code: Sequence[Statement]) -> Sequence[Statement]:
    ends = (at + 1 for at, one in enumerate(code) if one.opcode == "EXIT")
    return code[: next(ends, len(code))]
