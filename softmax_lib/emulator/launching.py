"""Launching: a kernel's steps on emulated arrays, awaited in slices so that Ctrl-C works."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from softmax_lib.emulator import native
from softmax_lib.emulator.memory import EmulatedArray
from softmax_lib.errors import BadInput
from softmax_lib.registry import Step

WATCHDOG_VARIABLE = "SOFTMAX_LIB_WATCHDOG_S"
WATCHDOG_S = 10.0
"""Seconds without any CUDA thread finishing after which a launch counts as hanging."""

_SLICE_S = 0.05


@dataclass(frozen=True)
class Geometry:
    """Which threads a launch has.

    `grid` blocks of `block_size` threads in warps of `warp_size`; of them, `blocks` run from
    `first_block` on (all, unless given), on `workers` OS threads (one a core, unless given).
    """

    grid: int
    block_size: int
    warp_size: int = 32
    first_block: int = 0
    blocks: int | None = None
    workers: int | None = None

    def only(self, block: int) -> Geometry:
        """The same, of which one block runs."""
        return replace(self, first_block=block, blocks=1)


@dataclass
class Instruments:
    """What a traced launch checks and records; with `lines` it is metered. See tracing.py, metering.py.

    The first `inputs` of its arrays are only to be read.
    """

    variables: Sequence[native.Array]
    record_limit: int
    lines: Sequence[native.Line] = ()
    inputs: int = 0
    step: int = 0
    records: list[bytes] = field(default_factory=list)
    counts: list[bytes] = field(default_factory=list)
    hazards: list[bytes] = field(default_factory=list)


def check_sizes(block_size: int, warp_size: int) -> None:
    """Raises `BadInput` for a block or a warp that the emulator cannot have."""
    if not 1 <= block_size <= 1024:
        raise BadInput(f"A block has 1 to 1024 threads, not {block_size}.")
    if warp_size not in (1, 2, 4, 8, 16, 32):
        raise BadInput(f"A warp has 1, 2, 4, 8, 16 or 32 lanes here, not {warp_size}.")


def launch(
    path: Path,
    step: Step,
    geometry: Geometry,
    arrays: Mapping[str, EmulatedArray],
    rows: int,
    cols: int,
    instruments: Instruments | None = None,
) -> native.Fault | None:
    """Run one step of the library at `path`, wait for its end, and return what stopped it, if anything.

    `arrays` has an emulated array for each name among the step's arguments. On Ctrl-C
    `KeyboardInterrupt` is raised, once no thread of the launch runs any more.
    """
    native.load(path)
    values = {name: array.address for name, array in arrays.items()} | {"rows": rows, "cols": cols}
    arguments = [values[name] for name in step.arguments]
    running = _Running(
        _request(path, step.entry, geometry, arguments, list(arrays.values()), instruments)
    )
    try:
        running.wait()
        fault = running.fault()
        if fault is None and instruments is not None:
            instruments.records.append(running.records())
        if instruments is not None and instruments.lines:
            instruments.counts.append(running.counts())
            instruments.hazards.append(running.hazards())
        return fault
    finally:
        running.finish()


def _request(
    path: Path,
    entry: str,
    geometry: Geometry,
    arguments: Sequence[int],
    arrays: Sequence[EmulatedArray],
    instruments: Instruments | None,
) -> native.Request:
    library = native.load(path)
    variables = instruments.variables if instruments else ()
    lines = instruments.lines if instruments else ()
    blocks = geometry.grid if geometry.blocks is None else geometry.blocks
    return native.Request(
        entry=native.address_of(library, f"emulator_call_{entry}"),
        arguments=(ctypes.c_int64 * len(arguments))(*arguments),
        argument_count=len(arguments),
        arrays=(native.Array * len(arrays))(*[native.Array(a.address, a.bytes) for a in arrays]),
        array_count=len(arrays),
        variables=(native.Array * len(variables))(*variables),
        variable_count=len(variables),
        grid=geometry.grid,
        first_block=geometry.first_block,
        blocks=blocks,
        block_size=geometry.block_size,
        warp_size=geometry.warp_size,
        workers=1 if instruments else geometry.workers or cores(),
        traced=instruments is not None,
        step=instruments.step if instruments else 0,
        record_limit=instruments.record_limit if instruments else 0,
        lines=(native.Line * len(lines))(*lines),
        line_count=len(lines),
        metered=bool(lines),
        input_count=instruments.inputs if instruments else 0,
    )


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
                self._stop(native.STOP_HANG)
                return

    def _stop(self, reason: int) -> None:
        # Again and again: a worker may not be where it can be interrupted.
        self._runtime.emulator_stop(self._launch, reason)
        while not self._runtime.emulator_wait(self._launch, _SLICE_S):
            self._runtime.emulator_stop(self._launch, reason)

    def fault(self) -> native.Fault | None:
        """What stopped it, copied; None when it came to its end."""
        fault = self._runtime.emulator_fault(self._launch).contents
        return native.Fault.from_buffer_copy(fault) if fault.kind else None

    def records(self) -> bytes:
        """The trace's records, copied."""
        return self._copy(self._runtime.emulator_records, native.RECORD_BYTES)

    def counts(self) -> bytes:
        """A metered launch's counts, copied."""
        return self._copy(self._runtime.emulator_counts, native.COUNTS_BYTES)

    def hazards(self) -> bytes:
        """A metered launch's hazards, copied."""
        return self._copy(self._runtime.emulator_hazards, native.HAZARD_BYTES)

    def _copy(self, function: Callable[..., int], item_bytes: int) -> bytes:
        count = ctypes.c_uint64()
        address = function(self._launch, ctypes.byref(count))
        return ctypes.string_at(address, count.value * item_bytes) if count.value else b""

    def finish(self) -> None:
        """Stop what still runs and free everything."""
        if not self._runtime.emulator_wait(self._launch, 0.0):
            self._stop(native.STOP_CANCELLED)
        self._runtime.emulator_finish(self._launch)
