"""Launching any kernel: arguments laid out in emulated memory, launched, and written back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from softmax_lib.arrays import address, element_code, host_bytes, offset
from softmax_lib.emulator import variables
from softmax_lib.emulator.device import Device, open_device
from softmax_lib.emulator.geometry import Argument, Call, Geometry
from softmax_lib.emulator.memory import ALIGNMENT, EmulatedArray
from softmax_lib.emulator.session import Library, Session
from softmax_lib.errors import BadInput
from softmax_lib.launch_spec import LaunchSpec
from softmax_lib.parameters import Parameter

MOST_THREADS_AT_ONCE = 24576
"""Threads whose stacks a process may have at once: the system allows 65530 stretches of memory."""


@contextmanager
def open_call(spec: LaunchSpec, *, traced: bool = False) -> Iterator[CalledSession]:
    """A session with one call, on emulated copies of its arrays; `give_back` writes them back.

    A cooperative launch runs in the library that hooks every access, where waiting threads can be seen.
    Raises `WrongType` or `BadInput` for arguments that do not fit, and what building raises.
    """
    _check_turns(spec)
    library = Library(spec.program, (spec.kernel,), shared_bytes=spec.shared_bytes)
    path = library.path(traced or spec.cooperative or spec.cluster != (1, 1, 1))
    with open_device(path) as device:
        signature = library.signature(device, path, 0)
        bound = signature.bind(spec.arguments)
        library.check_shared(path, spec.kernel)
        variables.restore(device, path, spec.source)
        for name, array in spec.symbols.items():
            variables.fill(device, path, name, array)
        memory = _Memory(device)
        pairs = zip(signature.parameters, bound, strict=True)
        arguments = tuple(memory.lay_out(parameter, value) for parameter, value in pairs)
        geometry = Geometry(
            spec.grid, spec.block, cluster=spec.cluster, cooperative=spec.cooperative
        )
        call = Call(spec.kernel, 0, geometry, arguments)
        inputs = frozenset(memory.arrays) - frozenset(memory.written)
        yield CalledSession(
            device, library, path, memory.arrays, (call,), inputs, hosts=memory.hosts
        )


@dataclass(frozen=True)
class CalledSession(Session):
    """One whose arrays are copies of `hosts`."""

    hosts: dict[str, np.ndarray] = field(default_factory=dict)

    def give_back(self, spec: LaunchSpec) -> None:
        """Write what kernels may have written into the caller's arrays."""
        for name, host in self.hosts.items():
            if name not in self.inputs:
                self.arrays[name].copy_to(host)
        for name, array in spec.symbols.items():
            if not spec.source.variables[name]:
                variables.fetch(self.device, self.path, name, array)


def _check_turns(spec: LaunchSpec) -> None:
    blocks = prod(spec.grid) if spec.cooperative else prod(spec.cluster)
    if blocks * prod(spec.block) > MOST_THREADS_AT_ONCE and blocks > 1:
        raise BadInput(
            f"{blocks} blocks of {prod(spec.block)} threads cannot take turns here: the emulator has "
            f"room for {MOST_THREADS_AT_ONCE} threads at once."
        )


class _Memory:
    """Arguments in emulated memory: each of the caller's arrays once, however often it is passed."""

    def __init__(self, device: Device):
        self.device = device
        self.arrays: dict[str, EmulatedArray] = {}
        self.hosts: dict[str, np.ndarray] = {}
        self.written: set[str] = set()

    def lay_out(self, parameter: Parameter, value: Any) -> Argument:
        if value is None or isinstance(value, bytes):
            return value
        if isinstance(value, list):
            return self._table(parameter, value)
        return self._array(parameter.name, value, not parameter.is_const)

    def _array(self, name: str, given: Any, is_written: bool) -> str:
        host = host_bytes(given, name)
        name = self._same(host, name) or self._make(name, given, host)
        if is_written:
            self.written.add(name)
        return name

    def _same(self, host: np.ndarray, name: str) -> str | None:
        """The name under which these bytes are there already. Raises `BadInput` where they overlap others."""
        for other, there in self.hosts.items():
            distance = address(host) - address(there)
            if distance == 0 and host.nbytes == there.nbytes:
                return other
            if host.nbytes and there.nbytes and -host.nbytes < distance < there.nbytes:
                raise BadInput(
                    f"{name} and {other} overlap in memory; pass the same array twice, or arrays "
                    "that lie apart."
                )
        return None

    def _make(self, name: str, given: Any, host: np.ndarray) -> str:
        code = element_code(given)
        size = max(1, int(code.lstrip("bfiucV")))
        misalignment = offset(host) % ALIGNMENT
        made = self.device.memory.array(name, host.nbytes // size, misalignment, code)
        self.arrays[name] = made
        self.hosts[name] = host
        made.copy_from(host)
        return name

    def _table(self, parameter: Parameter, given: list) -> str:
        """Addresses of arrays, one after the other, in an array of their own."""
        names = [
            self._array(f"{parameter.name}[{i}]", array, not parameter.is_const)
            for i, array in enumerate(given)
        ]
        addresses = np.array([self.arrays[name].address for name in names], np.uint64)
        table = self.device.memory.array(parameter.name, len(addresses), 0, "u8")
        self.arrays[parameter.name] = table
        table.copy_from(addresses)
        return parameter.name
