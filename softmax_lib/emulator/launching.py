"""Launching a kernel on emulated arrays, awaited in slices so that Ctrl-C works."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from softmax_lib.emulator import native, structs
from softmax_lib.emulator.geometry import Argument, Call
from softmax_lib.emulator.memory import EmulatedArray
from softmax_lib.emulator.structs import HAZARD, LINE_COUNTS, RECORD, StopReason
from softmax_lib.errors import BadInput

WATCHDOG_VARIABLE = "SOFTMAX_LIB_WATCHDOG_S"
WATCHDOG_S = 10.0
"""Seconds without any CUDA thread finishing after which a launch counts as hanging."""

_SLICE_S = 0.05

_MOST_ALIGNMENT = 128
"""Bytes that a value among the arguments may be aligned to."""


@dataclass(frozen=True)
class Instruments:
    """What a traced launch checks and writes down.

    Accesses to shared memory must lie in `variables`, to global memory in the arrays or in `globals`
    of the library. Up to `record_limit` records are kept; with `lines` the launch is metered, and
    arrays among `inputs` are only to be read.
    """

    variables: Sequence[structs.Array] = ()
    globals: Sequence[structs.Array] = ()
    record_limit: int = 0
    lines: Sequence[structs.Line] = ()
    inputs: Collection[str] = ()


@dataclass(frozen=True)
class Outcome:
    """How a call ended: what stopped it, if anything, and what its instruments wrote down.

    `records` are `RECORD`s, `counts` `LINE_COUNTS`, `hazards` `HAZARD`s, as bytes.
    """

    fault: structs.Fault | None = None
    records: bytes = b""
    counts: bytes = b""
    hazards: bytes = b""


def launch(
    path: Path,
    call: Call,
    arrays: Mapping[str, EmulatedArray],
    instruments: Instruments | None = None,
    step: int = 0,
) -> Outcome:
    """Run one call, a kernel's `step`th, in the library at `path`, and wait for its end.

    `arrays` has an emulated array for each name among the call's arguments. On Ctrl-C
    `KeyboardInterrupt` is raised, once no thread of the launch runs any more.
    """
    request = _request(path, call, arrays)
    if instruments is not None:
        _equip(request, arrays, instruments, step)
    running = _Running(request)
    try:
        running.wait()
        return running.outcome()
    finally:
        running.finish()


def _request(path: Path, call: Call, arrays: Mapping[str, EmulatedArray]) -> structs.Request:
    geometry = call.geometry
    return structs.Request(
        entry=native.address_of(native.load(path), f"emulator_call_{call.number}"),
        arguments=_arguments(call.arguments, arrays),
        grid=geometry.grid,
        cluster=geometry.cluster,
        block=geometry.block,
        first_block=geometry.first_block,
        blocks=prod(geometry.grid) if geometry.blocks is None else geometry.blocks,
        warp_size=geometry.warp_size,
        cooperative=geometry.cooperative,
        workers=cores(),
    )


def _arguments(
    arguments: Sequence[Argument], arrays: Mapping[str, EmulatedArray]
) -> ctypes.Array[ctypes.c_void_p]:
    """The address of each argument's bytes; ctypes keeps those alive as long as this array."""
    addresses = (ctypes.c_void_p * len(arguments))()
    keep = []
    for i, argument in enumerate(arguments):
        if not isinstance(argument, bytes):
            address = arrays[argument].address if argument is not None else 0
            argument = address.to_bytes(8, "little")
        room = ctypes.create_string_buffer(len(argument) + _MOST_ALIGNMENT)
        start = ctypes.addressof(room)
        start += -start % _MOST_ALIGNMENT
        ctypes.memmove(start, argument, len(argument))
        addresses[i] = start
        keep.append(room)
    addresses.keep = keep  # type: ignore[attr-defined]
    return addresses


def _equip(
    request: structs.Request,
    arrays: Mapping[str, EmulatedArray],
    instruments: Instruments,
    step: int,
) -> None:
    """What is watched runs on one OS thread, so that everything has an order."""
    known = [
        structs.Array(a.address, a.bytes, name in instruments.inputs) for name, a in arrays.items()
    ]
    known += instruments.globals
    request.arrays, request.array_count = (structs.Array * len(known))(*known), len(known)
    variables, lines = instruments.variables, instruments.lines
    request.traced, request.workers, request.step = True, 1, step
    request.variables = (structs.Array * len(variables))(*variables)
    request.variable_count = len(variables)
    request.record_limit = instruments.record_limit
    request.lines = (structs.Line * len(lines))(*lines)
    request.line_count, request.metered = len(lines), bool(lines)


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def watchdog_s() -> float:
    """Seconds until a launch counts as hanging: $SOFTMAX_LIB_WATCHDOG_S or 10."""
    given = os.environ.get(WATCHDOG_VARIABLE, "")
    try:
        return float(given) if given else WATCHDOG_S
    except ValueError:
        raise BadInput(f"{WATCHDOG_VARIABLE} is {given!r}; it takes a number of seconds.") from None


class _Running:
    """A launch in progress."""

    def __init__(self, request: structs.Request):
        self._runtime = native.runtime()
        self._limit_s = watchdog_s()
        self._request = request  # which the launch reads as long as it runs
        self._launch = self._runtime.emulator_start(ctypes.byref(request))

    def wait(self) -> None:
        """Until all threads are done, or a watchdog or Ctrl-C has stopped them."""
        quiet_s, finished = 0.0, -1
        # Slices are counted, not the clock: a suspended process must not look like a hang.
        while not self._runtime.emulator_await(self._launch, _SLICE_S):
            now = self._runtime.emulator_progress(self._launch)
            quiet_s = quiet_s + _SLICE_S if now == finished else 0.0
            finished = now
            if quiet_s >= self._limit_s:
                self._stop(StopReason.HANG)
                return

    def _stop(self, reason: StopReason) -> None:
        # Again and again: a worker may not be where it can be interrupted.
        self._runtime.emulator_stop(self._launch, reason)
        while not self._runtime.emulator_await(self._launch, _SLICE_S):
            self._runtime.emulator_stop(self._launch, reason)

    def outcome(self) -> Outcome:
        """How it ended, copied; records only of a launch that came to its end."""
        fault = self._runtime.emulator_fault(self._launch).contents
        return Outcome(
            structs.Fault.from_buffer_copy(fault) if fault.kind else None,
            b"" if fault.kind else self._copy(self._runtime.emulator_records, RECORD.itemsize),
            self._copy(self._runtime.emulator_counts, LINE_COUNTS.itemsize),
            self._copy(self._runtime.emulator_hazards, HAZARD.itemsize),
        )

    def _copy(self, function: Callable[..., int], item_bytes: int) -> bytes:
        count = ctypes.c_uint64()
        start = function(self._launch, ctypes.byref(count))
        return ctypes.string_at(start, count.value * item_bytes) if count.value else b""

    def finish(self) -> None:
        """Stop what still runs and free everything."""
        if not self._runtime.emulator_await(self._launch, 0.0):
            self._stop(StopReason.CANCELLED)
        self._runtime.emulator_finish(self._launch)
