"""Arguments of a launch in emulated memory: copies of the caller's arrays, values as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmax_lib.engine.arrays import address, element_code, host_bytes, offset
from softmax_lib.engine.errors import BadInput
from softmax_lib.engine.geometry import Argument
from softmax_lib.engine.parameters import Parameter
from softmax_lib.engine.written.memory import ALIGNMENT, DeviceMemory, EmulatedArray


class Arguments:
    """Arguments in emulated memory: each of the caller's arrays once, however often it is passed."""

    def __init__(self, memory: DeviceMemory):
        self._memory = memory
        self.arrays: dict[str, EmulatedArray] = {}
        self.hosts: dict[str, np.ndarray] = {}
        self.written: set[str] = set()

    def lay_out(self, parameter: Parameter, name: str, value: Any) -> Argument:
        """One, as `Signature.bind` gives it, called `name`. Raises `BadInput` where two arrays overlap."""
        if value is None or isinstance(value, bytes):
            return value
        if isinstance(value, list):
            return self._table(parameter, value)
        return self._array(name, value, not parameter.is_const)

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
        made = self._memory.array(name, host.nbytes // size, misalignment, code)
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
        table = self._memory.array(parameter.name, len(addresses), 0, "u8")
        self.arrays[parameter.name] = table
        table.copy_from(addresses)
        return parameter.name
