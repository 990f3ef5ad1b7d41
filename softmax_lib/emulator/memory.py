"""Emulated device memory: arrays between guard zones, as aligned and misaligned as on a GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np

from softmax_lib.arrays import address, offset
from softmax_lib.emulator import native
from softmax_lib.errors import NotAvailable
from softmax_lib.kernel import Kernel

ALIGNMENT = 256
"""Bytes that cudaMalloc aligns to."""

_UNTOUCHED = 0xFF
"""Each byte that belongs to no array; four of them read as a NaN."""


class EmulatedArray:
    """`elements` in emulated memory, zero at first; close it, or use it in a `with`.

    `code` says what an element is, as `arrays.element_code` does; `misalignment` is the address
    modulo 256, in bytes. Behind the last element come fewer than 256 spare bytes and then a zone that
    faults when touched; spare bytes are verified by `damage`. Pages that nothing touches take no memory.
    """

    def __init__(self, name: str, elements: int, misalignment: int = 0, code: str = "f4"):
        self.name, self.elements, self.code = name, elements, code
        self.element_bytes = int(code.lstrip("bfiucVU"))
        self.bytes = elements * self.element_bytes
        self._runtime = native.runtime()
        page = self._runtime.emulator_page_size()
        self._mapped_bytes = -(-(self.bytes + ALIGNMENT + misalignment) // page) * page
        guard = ctypes.c_uint64()
        self._low = self._runtime.emulator_map(self._mapped_bytes, ctypes.byref(guard))
        self.guard_bytes = guard.value
        if not self._low:
            raise NotAvailable(f"There is no memory for {name}, an array of {self.bytes} bytes.")
        high = self._low + self._mapped_bytes
        room = high - self.bytes - misalignment
        self.address = room - room % ALIGNMENT + misalignment
        for spare, length in self._spare():
            ctypes.memset(spare, _UNTOUCHED, length)

    def _spare(self) -> tuple[tuple[int, int], tuple[int, int]]:
        end = self.address + self.bytes
        before = (self._low, self.address - self._low)
        return before, (end, self._low + self._mapped_bytes - end)

    def fill_with_nan(self) -> None:
        """What nobody has written yet."""
        ctypes.memset(self.address, _UNTOUCHED, self.bytes)

    def copy_from(self, host: np.ndarray) -> None:
        """Take the content of a contiguous array of as many bytes."""
        ctypes.memmove(self.address, address(host), self.bytes)

    def copy_to(self, host: np.ndarray) -> None:
        """Write the content into a contiguous array of as many bytes."""
        ctypes.memmove(address(host), self.address, self.bytes)

    def damage(self) -> int | None:
        """Index of an element outside of the array that a kernel has written, or None."""
        for spare, length in self._spare():
            content = ctypes.string_at(spare, length)
            if content.count(_UNTOUCHED) != length:
                at = next(i for i, byte in enumerate(content) if byte != _UNTOUCHED)
                return (spare + at - self.address) // self.element_bytes
        return None

    def close(self) -> None:
        """Unmap the memory."""
        if self._low:
            self._runtime.emulator_unmap(self._low, self._mapped_bytes, self.guard_bytes)
            self._low = 0

    def __enter__(self) -> EmulatedArray:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def device_arrays(
    kernel: Kernel, x: np.ndarray, y: np.ndarray
) -> Iterator[dict[str, EmulatedArray]]:
    """Arrays x, y and the kernel's scratch, by name, filled as the host's matrices are.

    When y is x, they share one array.
    """
    with ExitStack() as stack:

        def make(name: str, elements: int, floats_off: int = 0) -> EmulatedArray:
            misalignment = floats_off * x.itemsize % ALIGNMENT
            return stack.enter_context(EmulatedArray(name, elements, misalignment))

        arrays = {"x": make("x", x.size, offset(x))}
        arrays["x"].copy_from(x)
        if address(y) == address(x):
            arrays["y"] = arrays["x"]
        else:
            arrays["y"] = make("y", y.size, offset(y))
            arrays["y"].copy_from(y)
        for name in kernel.scratch:
            arrays[name] = make(name, x.shape[0])
            arrays[name].fill_with_nan()
        yield arrays
