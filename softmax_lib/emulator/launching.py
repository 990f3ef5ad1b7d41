"""Launching one step of a kernel on emulated arrays, awaited in slices so that Ctrl-C works."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from softmax_lib.emulator import native
from softmax_lib.emulator.memory import EmulatedArray
from softmax_lib.emulator.native import HAZARD, LINE_COUNTS, RECORD, StopReason
from softmax_lib.errors import BadInput
from softmax_lib.kernel import Step
from softmax_lib.source import WARP

WATCHDOG_VARIABLE = "SOFTMAX_LIB_WATCHDOG_S"
WATCHDOG_S = 10.0
"""Seconds without any CUDA thread finishing after which a launch counts as hanging."""

_SLICE_S = 0.05


@dataclass(frozen=True)
class Geometry:
    """Which threads a launch has: `grid` blocks of `block_size` threads in warps of `warp_size`.

    Of the blocks, `blocks` run from `first_block` on; all, unless given.
    """

    grid: int
    block_size: int
    warp_size: int = WARP
    first_block: int = 0
    blocks: int | None = None

    def only(self, block: int) -> Geometry:
        """The same, of which one block runs."""
        return replace(self, first_block=block, blocks=1)


@dataclass(frozen=True)
class Instruments:
    """What a traced launch checks and writes down.

    Accesses to shared memory must lie in `variables`. Up to `record_limit` records are kept; with
    `lines` the launch is metered, and the first `inputs` of its arrays are only to be read.
    """

    variables: Sequence[native.Array] = ()
    record_limit: int = 0
    lines: Sequence[native.Line] = ()
    inputs: int = 0


@dataclass(frozen=True)
class Outcome:
    """How a step ended: what stopped it, if anything, and what its instruments wrote down.

    `records` are `RECORD`s, `counts` `LINE_COUNTS`, `hazards` `HAZARD`s, as bytes.
    """

    fault: native.Fault | None = None
    records: bytes = b""
    counts: bytes = b""
    hazards: bytes = b""


def launch(
    path: Path,
    step: Step,
    geometry: Geometry,
    arrays: Mapping[str, EmulatedArray],
    shape: tuple[int, int],
    instruments: Instruments | None = None,
    number: int = 0,
) -> Outcome:
    """Run one step, the kernel's `number`th, of the library at `path`, and wait for its end.

    `arrays` has an emulated array for each name among the step's arguments, and `shape` is (rows,
    cols). On Ctrl-C `KeyboardInterrupt` is raised, once no thread of the launch runs any more.
    """
    sizes = dict(zip(("rows", "cols"), shape, strict=True))
    values = {name: array.address for name, array in arrays.items()} | sizes
    arguments = [values[name] for name in step.arguments]
    request = _request(path, step.entry, geometry, arguments, list(arrays.values()))
    if instruments is not None:
        _equip(request, instruments, number)
    running = _Running(request)
    try:
        running.wait()
        return running.outcome()
    finally:
        running.finish()


def _request(
    path: Path,
    entry: str,
    geometry: Geometry,
    arguments: Sequence[int],
    arrays: Sequence[EmulatedArray],
) -> native.Request:
    library = native.load(path)
    return native.Request(
        entry=native.address_of(library, f"emulator_call_{entry}"),
        arguments=(ctypes.c_int64 * len(arguments))(*arguments),
        argument_count=len(arguments),
        arrays=(native.Array * len(arrays))(*[native.Array(a.address, a.bytes) for a in arrays]),
        array_count=len(arrays),
        grid=geometry.grid,
        first_block=geometry.first_block,
        blocks=geometry.grid if geometry.blocks is None else geometry.blocks,
        block_size=geometry.block_size,
        warp_size=geometry.warp_size,
        workers=cores(),
    )


def _equip(request: native.Request, instruments: Instruments, number: int) -> None:
    """What is watched runs on one OS thread, so that everything has an order."""
    variables, lines = instruments.variables, instruments.lines
    request.traced, request.workers, request.step = True, 1, number
    request.variables = (native.Array * len(variables))(*variables)
    request.variable_count = len(variables)
    request.record_limit = instruments.record_limit
    request.lines = (native.Line * len(lines))(*lines)
    request.line_count, request.metered = len(lines), bool(lines)
    request.input_count = instruments.inputs


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

    def __init__(self, request: native.Request):
        self._runtime = native.runtime()
        self._limit_s = watchdog_s()
        self._launch = self._runtime.emulator_start(ctypes.byref(request))

    def wait(self) -> None:
        """Until all threads are done, or a watchdog or Ctrl-C has stopped them."""
        quiet_s, finished = 0.0, -1
        # Slices are counted, not the clock: a suspended process must not look like a hang.
        while not self._runtime.emulator_wait(self._launch, _SLICE_S):
            now = self._runtime.emulator_progress(self._launch)
            quiet_s = quiet_s + _SLICE_S if now == finished else 0.0
            finished = now
            if quiet_s >= self._limit_s:
                self._stop(StopReason.HANG)
                return

    def _stop(self, reason: StopReason) -> None:
        # Again and again: a worker may not be where it can be interrupted.
        self._runtime.emulator_stop(self._launch, reason)
        while not self._runtime.emulator_wait(self._launch, _SLICE_S):
            self._runtime.emulator_stop(self._launch, reason)

    def outcome(self) -> Outcome:
        """How it ended, copied; records only of a launch that came to its end."""
        fault = self._runtime.emulator_fault(self._launch).contents
        return Outcome(
            native.Fault.from_buffer_copy(fault) if fault.kind else None,
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
        if not self._runtime.emulator_wait(self._launch, 0.0):
            self._stop(StopReason.CANCELLED)
        self._runtime.emulator_finish(self._launch)
