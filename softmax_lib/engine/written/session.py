"""A library of kernels and arrays in emulated memory: what launches one after the other work on."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from softmax_lib.engine.errors import BadInput, EngineError, NotAvailable
from softmax_lib.engine.geometry import Call
from softmax_lib.engine.grids import MOST_SHARED_BYTES, MOST_STATIC_SHARED_BYTES
from softmax_lib.engine.signature import ROW, Signature, read_signature
from softmax_lib.engine.source import WARP, Program
from softmax_lib.engine.spec import LaunchSpec, watchdog_s
from softmax_lib.engine.written import build, faults, structs, symbols
from softmax_lib.engine.written.device import Device, open_device
from softmax_lib.engine.written.launching import Instruments, Outcome, launch
from softmax_lib.engine.written.memory import Arguments, EmulatedArray
from softmax_lib.engine.written.stretches import Stretch

MOST_THREADS_AT_ONCE = 24576
"""Threads whose stacks a process may have at once: the system allows 65530 stretches of memory."""

_UNSIZED = re.compile(r"\b(\w+)\s*\[\s*\]\s*;")
"""An `extern __shared__` array, which has no length."""


@dataclass(frozen=True)
class Library:
    """What is compiled: kernels of a program, by name expressions, with so much dynamic shared memory."""

    program: Program
    entries: tuple[str, ...]
    warp_size: int = WARP
    shared_bytes: int = 0
    counted: bool = False

    def path(self, traced: bool) -> Path:
        """The library, built if it is not there; traced, with every access hooked.

        Raises as `build.kernel_library` does, and `NotAvailable` for a traced one on macOS.
        """
        if traced and sys.platform == "darwin":
            raise NotAvailable("Tracing reads ELF tables, so it runs under Linux only.")
        return build.kernel_library(
            self.program, self.entries, self.warp_size, traced, self.shared_bytes, self.counted
        )

    def check_shared(self, path: Path, name: str, is_unsized_refused: bool = False) -> None:
        """Raises `BadInput` where a block of the kernel `name`, in the library at `path`, has more shared memory than a GPU.

        Or where it has an array that the launch has to size, and cannot.
        """
        code = self.program.source.code
        if "__shared__" not in code:
            return
        unsized = _UNSIZED.findall(code)
        shared = symbols.read(path).shared
        dynamic = [v.name for v in shared if v.bytes == self.shared_bytes and v.name in unsized]
        static = sum(v.bytes for v in shared if v.name not in dynamic)
        if dynamic and is_unsized_refused:
            raise BadInput(
                f"{dynamic[0]} in {name} is `extern __shared__`, which is as large as the launch says, and this launch has 0 bytes of it."
            )
        if static > MOST_STATIC_SHARED_BYTES:
            raise BadInput(
                f"{name} declares {static} bytes of shared memory; a kernel can declare "
                f"{MOST_STATIC_SHARED_BYTES}, and have more as dynamic shared memory."
            )
        if static + self.shared_bytes > MOST_SHARED_BYTES:
            raise BadInput(
                f"{name} has {static} + {self.shared_bytes} bytes of shared memory; a block has at "
                f"most {MOST_SHARED_BYTES} (sm_90)."
            )

    def signature(self, device: Device, path: Path, number: int) -> Signature:
        """What the entry `number` of the library at `path` takes, as the device has it loaded."""

        def integers(name: str, count: int) -> np.ndarray:
            start = device.symbol(path, f"emulator_{name}_{number}")
            return np.frombuffer(device.read(start, 4 * count), np.int32)

        rows = int(integers("parameters", 1)[0]) + 1
        table = integers("signature", rows * ROW).reshape(rows, ROW)
        name = self.entries[number]
        return read_signature(name, self.program.source.kernel(name), table)


def plain_names(variables: Mapping[str, Any]) -> dict[str, Any]:
    """The same without their namespaces, as a library's tables have them."""
    return {name.rpartition("::")[2]: is_constant for name, is_constant in variables.items()}


@dataclass(frozen=True)
class Session:
    """Emulated arrays of a device by name, and the calls that work on them, in order.

    `inputs` are only to be read; `unwritten` hold nothing before the first call. Arrays are copies of `hosts`.
    """

    device: Device
    library: Library
    path: Path
    arrays: Mapping[str, EmulatedArray]
    calls: Sequence[Call]
    inputs: frozenset[str]
    unwritten: frozenset[str]
    hosts: Mapping[str, np.ndarray]

    def run(self, instruments: Instruments | None = None) -> Iterator[tuple[Call, Outcome]]:
        """Launch the calls in order, up to the first that does not come to its end."""
        for step, call in enumerate(self.calls):
            if instruments and step:
                instruments = replace(instruments, unwritten=())
            outcome = self.launch(call, instruments, step)
            if instruments is None or instruments.filler < 0:
                outcome.show_printed()
            yield call, outcome
            if outcome.fault is not None:
                return

    def launch(
        self,
        call: Call,
        instruments: Instruments | None = None,
        step: int = 0,
        limit_s: float | None = None,
    ) -> Outcome:
        """Launch one of them on the arrays as they are now; `limit_s` is as for `launching.launch`."""
        return launch(self.device, self.path, call, self.arrays, instruments, step, limit_s)

    def give_back(self, specs: Sequence[LaunchSpec]) -> None:
        """Write what kernels may have written into the caller's arrays."""
        for name, host in self.hosts.items():
            if name not in self.inputs:
                self.arrays[name].copy_to(host)
        for spec in specs:
            for name, array in spec.symbols.items():
                if not spec.source.variables[name]:
                    symbols.fetch(self.device, self.path, name, array)

    def exception(self, call: Call, fault: structs.Fault) -> EngineError:
        """What to raise for a fault of one of these launches."""
        known = (self.in_memory(), self.in_library())
        return faults.exception_for(
            fault, self.path, call.geometry, *known, watchdog_s(), self.library.program.source
        )

    def traced(self) -> Session:
        """The same on the library that has every access hooked."""
        return replace(self, path=self.library.path(traced=True))

    def instruments(self, record_limit: int = 0, lines: Sequence[structs.Line] = ()) -> Instruments:
        """What watches a launch of this traced session."""
        shared = [structs.Array(v.address, v.bytes) for v in symbols.read(self.path).shared]
        by_kind = sorted(self.in_library(), key=lambda v: not v.is_writable)  # as in `stretches`
        in_library = [
            structs.Array(v.address, v.bytes, is_constant=not v.is_writable) for v in by_kind
        ]
        return Instruments(shared, in_library, record_limit, lines, self.inputs, self.unwritten)

    def stretches(self) -> list[Stretch]:
        """All that accesses can be of: arrays, `__device__` variables, and last what is shared."""
        return [*self.in_memory(), *self.globals(), *symbols.read(self.path).shared]

    def in_memory(self) -> list[Stretch]:
        """The arrays."""
        return [Stretch(name, a.address, a.bytes, a.code) for name, a in self.arrays.items()]

    def globals(self) -> list[Stretch]:
        """The `__device__` variables and `static` ones of functions, where they lie now. Constants are no arrays."""
        return [v for v in self.in_library() if v.is_writable]

    def in_library(self) -> list[Stretch]:
        """The same and the constants."""
        told = plain_names(self.library.program.source.variables)
        found = symbols.read(self.path).globals
        base = self.device.load(self.path).base if found else 0
        return [
            v._replace(address=base + v.address, is_writable=v.is_writable and not told.get(v.name))
            for v in found
        ]


@contextmanager
def open_session(
    specs: Sequence[LaunchSpec], *, traced: bool = False, counted: bool = False
) -> Iterator[Session]:
    """A session on emulated copies of arrays, with a call for each of `specs`, which are of one program.

    `give_back` writes the arrays back. A launch whose blocks take turns runs in the library that hooks every access,
    where waiting threads can be seen, and so does one that is `counted`, or written down. Raises `WrongType` or
    `BadInput` for arguments that do not fit, and what building raises.
    """
    first = specs[0]
    for spec in specs:
        _check_turns(spec)
    entries = first.entries or (first.kernel,)
    library = Library(first.program, entries, first.warp_size, first.shared_bytes, counted)
    path = library.path(traced or counted or first.cooperative or first.cluster != (1, 1, 1))
    with open_device(path) as device:
        library.check_shared(path, first.kernel, first.has_no_shared)
        signatures = [library.signature(device, path, entries.index(s.kernel)) for s in specs]
        pairs = list(zip(specs, signatures, strict=True))
        for spec, signature in pairs:
            if spec.check:
                spec.check(signature)
        bound = [signature.bind(spec.arguments) for spec, signature in pairs]
        symbols.restore(device, path, first.source)
        for name, array in first.symbols.items():
            symbols.fill(device, path, name, array)
        laid = Arguments(device.memory)
        calls = [
            _call(laid, spec, entries.index(spec.kernel), signature, values)
            for (spec, signature), values in zip(pairs, bound, strict=True)
        ]
        inputs = first.inputs or frozenset(laid.arrays) - laid.written
        yield Session(
            device, library, path, laid.arrays, calls, inputs, first.unwritten, laid.hosts
        )


def _call(
    laid: Arguments, spec: LaunchSpec, number: int, signature: Signature, values: Sequence[Any]
) -> Call:
    names = spec.names or [parameter.name for parameter in signature.parameters]
    given = zip(signature.parameters, names, values, strict=True)
    arguments = tuple(laid.lay_out(*one) for one in given)
    return Call(spec.kernel, number, spec.geometry, arguments)


def _check_turns(spec: LaunchSpec) -> None:
    blocks = prod(spec.grid) if spec.cooperative else prod(spec.cluster)
    if blocks * prod(spec.block) > MOST_THREADS_AT_ONCE and blocks > 1:
        raise BadInput(
            f"{blocks} blocks of {prod(spec.block)} threads cannot take turns here: the emulator has "
            f"room for {MOST_THREADS_AT_ONCE} threads at once."
        )
