"""Launching a kernel on emulated arrays, awaited in slices so that Ctrl-C works."""

from __future__ import annotations

import itertools
import os
import struct
import sys
from collections.abc import Collection, Mapping, Sequence
from ctypes import sizeof
from dataclasses import dataclass
from math import prod
from pathlib import Path

from softmax_lib.engine.errors import BadInput
from softmax_lib.engine.geometry import Argument, Call
from softmax_lib.engine.spec import in_order, look_at_pace, watchdog_s
from softmax_lib.engine.written import structs
from softmax_lib.engine.written.device import Device
from softmax_lib.engine.written.memory import EmulatedArray
from softmax_lib.engine.written.process import ProcessEnded, Verb, name_of_signal, word
from softmax_lib.engine.written.structs import (
    HAZARD,
    LINE_COUNTS,
    RECORD,
    BlackBox,
    Fault,
    FaultKind,
)

_SLICE_S = 0.05

_PATIENCE_S = 5.0
"""Seconds after which a process that does not stop a launch is ended."""


@dataclass(frozen=True)
class Instruments:
    """What a traced launch checks and writes down.

    Accesses to shared memory must lie in `variables`, to global memory in the arrays or in `globals`
    of the library. Up to `record_limit` records are kept; with `lines` the launch is metered, and
    arrays among `inputs` are only to be read, and those among `unwritten` hold nothing yet. A shuffle from
    a lane that takes no part gives `filler` in each byte or, where it is negative, the lane's own value.
    """

    variables: Sequence[structs.Array] = ()
    globals: Sequence[structs.Array] = ()
    record_limit: int = 0
    lines: Sequence[structs.Line] = ()
    inputs: Collection[str] = ()
    unwritten: Collection[str] = ()
    filler: int = -1


@dataclass(frozen=True)
class Outcome:
    """How a call ended: what stopped it, if anything, and what its instruments wrote down.

    `records` are `RECORD`s, `counts` `LINE_COUNTS`, `hazards` `HAZARD`s, as bytes. `printed` is what
    printf wrote, but for `unprinted` texts that there was no room for.
    """

    fault: structs.Fault | None = None
    records: bytes = b""
    counts: bytes = b""
    hazards: bytes = b""
    printed: str = ""
    unprinted: int = 0

    def show_printed(self) -> None:
        """Print what the kernel printed."""
        sys.stdout.write(self.printed)
        if self.unprinted:
            print(
                f"... and {self.unprinted} texts more, for which the buffer of printf has no room."
            )


def launch(
    device: Device,
    path: Path,
    call: Call,
    arrays: Mapping[str, EmulatedArray],
    instruments: Instruments | None = None,
    step: int = 0,
    limit_s: float | None = None,
) -> Outcome:
    """Run one call, a kernel's `step`th, in the library at `path`, and wait for its end, `limit_s` or `watchdog_s()`.

    `arrays` has an array of the device for each name among the call's arguments. Whatever the kernel does to its
    process is a fault in the outcome. On Ctrl-C `KeyboardInterrupt` is raised, and no thread runs any more.
    """
    device.renew()
    request = _request(call)
    watched = _equip(request, arrays, instruments, step) if instruments else b""
    library = device.load(path)
    words = (library.handle, call.number, len(call.arguments))
    arguments = [_argument(argument, arrays) for argument in call.arguments]
    try:
        device.start(bytes(request), *map(word, words), *arguments, watched)
        threads = request.blocks * prod(call.geometry.block)
        _wait(device, watchdog_s() if limit_s is None else limit_s, threads)
        outcome = _outcome(device)
    except ProcessEnded as ended:
        outcome = Outcome(_fault_of(ended))
    except BadInput:  # it still runs
        device.is_suspect = True
        raise
    device.is_suspect = outcome.fault is not None
    return outcome


def _request(call: Call) -> structs.Request:
    geometry = call.geometry
    return structs.Request(
        grid=geometry.grid,
        cluster=geometry.cluster,
        block=geometry.block,
        first_block=geometry.first_block,
        blocks=prod(geometry.grid) if geometry.blocks is None else geometry.blocks,
        warp_size=geometry.warp_size,
        cooperative=geometry.cooperative,
        workers=1 if in_order.get() else cores(),
        filler=-1,
    )


def _argument(argument: Argument, arrays: Mapping[str, EmulatedArray]) -> bytes:
    """How many bytes an argument has, and these."""
    if not isinstance(argument, bytes):
        argument = word(arrays[argument].address if argument is not None else 0)
    return word(len(argument)) + argument


def _equip(
    request: structs.Request,
    arrays: Mapping[str, EmulatedArray],
    instruments: Instruments,
    step: int,
) -> bytes:
    """What is watched runs on one OS thread, so that everything has an order. Returns what goes with the request."""
    known = [
        structs.Array(a.address, a.bytes, name in instruments.inputs, name in instruments.unwritten)
        for name, a in arrays.items()
    ]
    known += instruments.globals
    variables, lines = instruments.variables, instruments.lines
    request.traced, request.workers, request.step = True, 1, step
    request.array_count, request.variable_count = len(known), len(variables)
    request.record_limit = instruments.record_limit
    request.filler = instruments.filler
    request.line_count, request.metered = len(lines), bool(lines)
    return b"".join(bytes(each) for each in (*known, *variables, *lines))


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _fault_of(ended: ProcessEnded) -> Fault:
    """What is to be said of a launch whose process has ended."""
    left: BlackBox = ended.left
    what = f"the thread ended the emulator's process ({name_of_signal(ended.status)})"
    if left.is_guard:
        what = "the local arrays overflow the stack of 512 KiB"
    where = {name: getattr(left, name) for name in ("block", "pc", "thread", "pc_is_exact")}
    return Fault(kind=FaultKind.OTHER, text=what.encode(), **where)


def _wait(device: Device, limit_s: float, threads: int = 0) -> None:
    """Until all threads are done, or a watchdog has stopped them. Raises `BadInput` where there are far too many."""
    quiet_s, before = 0.0, -1
    # Slices are counted, not the clock: a suspended process must not look like a hang.
    for slices in itertools.count(1):
        is_done, finished = _await(device)
        if is_done:
            return
        look_at_pace(finished, threads, slices * _SLICE_S)
        quiet_s = quiet_s + _SLICE_S if finished == before else 0.0
        before = finished
        if quiet_s >= limit_s:
            break
    # Again and again: a worker may not be where it can be interrupted.
    for _ in range(int(_PATIENCE_S / _SLICE_S)):
        device.ask(Verb.STOP)
        if _await(device)[0]:
            return
    raise ProcessEnded(0, BlackBox())


def _await(device: Device) -> tuple[int, int]:
    """Whether all is done, after a slice at most, and how many threads have finished."""
    return struct.unpack("<QQ", device.ask(Verb.AWAIT, struct.pack("<d", _SLICE_S)))


_ITEMS = (RECORD.itemsize, LINE_COUNTS.itemsize, HAZARD.itemsize, 1)
_SIZES = struct.Struct("<5Q")
"""Numbers of records, counts and hazards, bytes printed, and texts that were not."""


def _outcome(device: Device) -> Outcome:
    """How a launch ended, copied; records only of one that came to its end."""
    said = memoryview(device.ask(Verb.OUTCOME))
    fault, at = Fault.from_buffer_copy(said), sizeof(Fault) + _SIZES.size
    *counts, unprinted = _SIZES.unpack_from(said, sizeof(Fault))
    parts = []
    for count, item in zip(counts, _ITEMS, strict=True):
        parts.append(bytes(said[at : at + count * item]))
        at += count * item
    records, line_counts, hazards, text = parts
    printed, stopped = text.decode(errors="replace"), fault if fault.kind else None
    return Outcome(stopped, records, line_counts, hazards, printed, unprinted)
