"""Emulated device memory: arrays between guard zones, as aligned and misaligned as on a GPU, and copies of a caller's.

It is shared with the process that kernels run in, where each array has the address that it has here by name
alone: the same from run to run.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from softmax_lib.engine.arrays import address, host_bytes, offset
from softmax_lib.engine.errors import BadInput, NotAvailable
from softmax_lib.engine.geometry import Argument
from softmax_lib.engine.signature import Parameter
from softmax_lib.engine.written.process import shared_file
from softmax_lib.engine.written.stretches import element_bytes

ALIGNMENT = 256
"""Bytes that cudaMalloc aligns to."""
GUARD_BYTES = 8 << 30
"""On either side of each array, of memory that is not there: any int offset from an array of floats ends in it."""

_FIRST_ADDRESS = 1 << 44
"""Far from all that a process has otherwise."""
_MOST_KEPT = 32 << 20
"""Bytes of arrays that no longer are, for the next ones: pages that are there already take no time."""
_UNTOUCHED = 0xFF
"""Each byte that belongs to no array; four of them read as a NaN."""


@dataclass(frozen=True, eq=False)
class Pages:
    """Whole pages of a device's memory: as this process sees them, their place in the file, their address."""

    view: mmap.mmap
    place: int
    address: int

    @property
    def end(self) -> int:
        """Their last place in the file."""
        return self.place + len(self.view)


class DeviceMemory:
    """A file that has all arrays, and the addresses they are given; close it, which unmaps them."""

    def __init__(self) -> None:
        self.file = shared_file(0)
        self.pages: list[Pages] = []
        """One behind the other, the arrays' first. Others are left from before, for arrays of the same size."""
        self._taken = 0
        self._arrays: list[EmulatedArray] = []

    def array(
        self, name: str, elements: int, misalignment: int = 0, code: str = "f4"
    ) -> EmulatedArray:
        """An array, which holds anything until it is filled.

        `code` says what an element is, as `arrays.element_code` does; `misalignment` is the address
        modulo 256, in bytes. Raises `NotAvailable` where there is no room.
        """
        made = EmulatedArray(self, name, elements, misalignment, code)
        self._arrays.append(made)
        return made

    def take(self, count: int) -> Pages:
        """Pages of so many bytes. Raises `OSError`, `OverflowError` or `ValueError`."""
        left = self.pages[self._taken : self._taken + 1]
        if not left or len(left[0].view) != count:
            self.drop_rest()
            place, at = 0, _FIRST_ADDRESS + GUARD_BYTES
            if self.pages:
                last = self.pages[-1]
                place, at = last.end, last.address + len(last.view) + 2 * GUARD_BYTES
            os.truncate(self.file, place + count)
            self.pages.append(Pages(mmap.mmap(self.file, count, offset=place), place, at))
        self._taken += 1
        return self.pages[self._taken - 1]

    def drop_rest(self) -> None:
        """Give back what no array has."""
        while len(self.pages) > self._taken:
            last = self.pages.pop()
            with suppress(BufferError):  # while somebody looks at it
                last.view.close()
                os.truncate(self.file, last.place)

    def reset(self) -> None:
        """Close the arrays. Their pages are kept for the next ones, unless they are many."""
        self._close_arrays()
        self._taken = 0
        if self.pages and self.pages[-1].end > _MOST_KEPT:
            self.drop_rest()

    def close(self) -> None:
        """Give all of it back; another process that has it keeps it."""
        self._close_arrays()
        for pages in self.pages:
            with suppress(BufferError):
                pages.view.close()
        os.close(self.file)

    def _close_arrays(self) -> None:
        while self._arrays:
            self._arrays.pop().close()


class EmulatedArray:
    """`elements` in emulated memory, at `address` in the process that kernels run in; `DeviceMemory` makes them.

    Behind the last element come fewer than 256 spare bytes and then a zone that faults when touched;
    spare bytes are verified by `damage`. Pages that nothing touches take no memory.
    """

    def __init__(
        self, memory: DeviceMemory, name: str, elements: int, misalignment: int, code: str
    ):
        self.name, self.elements, self.code = name, elements, code
        self.element_bytes = element_bytes(code)
        self.bytes = elements * self.element_bytes
        page = mmap.ALLOCATIONGRANULARITY
        try:
            pages = memory.take(-(-(self.bytes + ALIGNMENT + misalignment) // page) * page)
        except (OSError, OverflowError, ValueError):
            raise NotAvailable(
                f"There is no memory for {name}, an array of {self.bytes} bytes."
            ) from None
        room = len(pages.view) - self.bytes - misalignment
        self._start = room - room % ALIGNMENT + misalignment
        self.address = pages.address + self._start
        self._all = np.frombuffer(pages.view, np.uint8)
        for _, spare in self._spare():
            spare[:] = _UNTOUCHED

    @property
    def content(self) -> np.ndarray:
        """Its bytes, as this process sees them."""
        return self._all[self._start : self._start + self.bytes]

    def _spare(self) -> Iterator[tuple[int, np.ndarray]]:
        """The bytes before and behind the array, and at which byte of it each begins."""
        yield -self._start, self._all[: self._start]
        yield self.bytes, self._all[self._start + self.bytes :]

    def copy_from(self, host: np.ndarray) -> None:
        """Take the content of a contiguous array of as many bytes."""
        self.content[:] = host_bytes(host)

    def copy_to(self, host: np.ndarray) -> None:
        """Write the content into a contiguous array of as many bytes."""
        host_bytes(host)[:] = self.content

    def damage(self) -> int | None:
        """Index of an element outside of the array that a kernel has written, or None."""
        for start, spare in self._spare():
            written = np.flatnonzero(spare != _UNTOUCHED)
            if len(written):
                return (start + int(written[0])) // self.element_bytes
        return None

    def close(self) -> None:
        """It has no content any more."""
        self._all = np.empty(0, np.uint8)


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
        return self._array(name, value, parameter)

    def _array(self, name: str, given: Any, parameter: Parameter) -> str:
        host = host_bytes(given, name)
        name = self._same(host, name) or self._make(name, parameter.code(given), host)
        if not parameter.is_const:
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

    def _make(self, name: str, code: str, host: np.ndarray) -> str:
        elements, misalignment = host.nbytes // element_bytes(code), offset(host) % ALIGNMENT
        made = self._memory.array(name, elements, misalignment, code)
        self.arrays[name] = made
        self.hosts[name] = host
        made.copy_from(host)
        return name

    def _table(self, parameter: Parameter, given: list) -> str:
        """Addresses of arrays, one after the other, in an array of their own."""
        names = [
            self._array(f"{parameter.name}[{i}]", array, parameter) for i, array in enumerate(given)
        ]
        addresses = np.array([self.arrays[name].address for name in names], np.uint64)
        table = self._memory.array(parameter.name, len(addresses), 0, "u8")
        self.arrays[parameter.name] = table
        table.copy_from(addresses)
        return parameter.name
