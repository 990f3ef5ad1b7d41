"""A device of the emulator: memory, libraries of kernels, and the process that runs them, kept warm in between."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from softmax_lib.engine.errors import NotAvailable
from softmax_lib.engine.written.memory import DeviceMemory, Pages
from softmax_lib.engine.written.process import (
    LoadedLibrary,
    Process,
    ProcessEnded,
    Verb,
    name_of_signal,
    word,
)

_MOST_IDLE = 4
"""Devices that are kept for the next launch of the same kernels."""


class Device:
    """Where launches of the library at `path` work, one after the other; `open_device` gives one, for one thread at a time.

    Its process has run no other library: one that writes anywhere harms itself alone. A process that has ended, or that
    was given up, is replaced by a new one with the same arrays at the same addresses.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.memory = DeviceMemory()
        self._process: Process | None = None
        self._mapped: list[Pages] = []
        self.is_suspect = False
        """Whether a kernel may have written anywhere in the process, or has ended it."""

    @property
    def is_alive(self) -> bool:
        """Whether it has a process that can be asked."""
        return self._process is not None and self._process.is_alive

    def ask(self, verb: Verb, *parts: bytes | bytearray) -> bytearray:
        """What its process answers. Raises `ProcessEnded`."""
        return self._running().ask(verb, *parts)

    def start(self, *parts: bytes) -> None:
        """Start a launch, for which the process has all arrays and nothing else. Raises `ProcessEnded`."""
        process = self._running()
        self.memory.drop_rest()
        pages = self.memory.pages
        kept = sum(1 for have, want in zip(self._mapped, pages, strict=False) if have is want)
        if kept < len(self._mapped):
            process.ask(Verb.UNMAP, word(kept))
            del self._mapped[kept:]
        for wanted in pages[kept:]:
            _map(process, wanted, self.memory.file)
            self._mapped.append(wanted)
        process.ask(Verb.START, *parts)

    def _running(self) -> Process:
        if self._process is None:
            self._process = Process()
        return self._process

    def renew(self) -> None:
        """A new process in place of a suspect one. What was known of that one's addresses is known no longer."""
        if self.is_suspect:
            self._end_process()
        self.is_suspect = False

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None
            self._mapped.clear()

    def load(self, path: Path) -> LoadedLibrary:
        """The kernels' library at `path`, in the process. Raises `NotAvailable` where it cannot be loaded."""
        process = self._running()
        libraries = process.libraries
        if path not in libraries:
            process.watch(path)
            said = self._tell(Verb.LOAD, os.fsencode(path))
            handle, base = (int.from_bytes(said[i : i + 8], "little") for i in (0, 8))
            if not handle:
                raise NotAvailable(f"{path.name} cannot be loaded: {said[16:].decode()}.")
            libraries[path] = LoadedLibrary(handle, base)
        return libraries[path]

    def symbol(self, path: Path, name: str) -> int:
        """The address of what a library calls `name`."""
        handle = self.load(path).handle
        return int.from_bytes(self._tell(Verb.SYMBOL, word(handle), name.encode()), "little")

    def read(self, address: int, count: int) -> bytes:
        """So many bytes of its process's memory."""
        return bytes(self._tell(Verb.READ, word(address), word(count)))

    def write(self, address: int, content: bytes) -> None:
        """Write into its process's memory."""
        self._tell(Verb.WRITE, word(address), content)

    def _tell(self, verb: Verb, *parts: bytes) -> bytearray:
        """What the process answers before a launch."""
        try:
            return self.ask(verb, *parts)
        except ProcessEnded as ended:
            self.is_suspect = True
            raise NotAvailable(
                f"The emulator's process ended before the kernel ran ({name_of_signal(ended.status)})."
            ) from None

    def rest(self) -> bool:
        """Let go of the arrays: whether the next who needs the library can have the device."""
        self.memory.reset()
        if self.is_alive and not self.is_suspect:
            with suppress(ProcessEnded):
                self.ask(Verb.CLEAR)
                return True
        return False

    def close(self) -> None:
        """End the process and give the memory back."""
        self._end_process()
        self.memory.close()

    def forget(self) -> None:
        """Leave the process to the one that this process is a copy of."""
        if self._process is not None:
            self._process.forget()
        self.memory.close()


def _map(process: Process, pages: Pages, file: int) -> None:
    words = (pages.address, len(pages.view), pages.place)
    wrong = process.ask(Verb.MAP, *map(word, words), file=file)
    if any(wrong):
        reason = os.strerror(int.from_bytes(wrong, "little"))
        raise NotAvailable(f"There is no room for an array on the emulated device: {reason}.")


class _Idle:
    """Devices that nobody uses now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._devices: list[Device] = []  # the latest last

    def take(self, path: Path) -> Device:
        """The one that was last used for the library at `path`, or a new one."""
        with self._lock:
            kept = next((device for device in self._devices[::-1] if device.path == path), None)
            if kept is None:
                return Device(path)
            self._devices.remove(kept)
        if kept.is_alive:
            return kept
        kept.close()
        return Device(path)

    def give_back(self, device: Device) -> None:
        if not device.rest():
            device.close()
            return
        with self._lock:
            self._devices.append(device)
            too_many = self._devices[:-_MOST_IDLE]
            del self._devices[:-_MOST_IDLE]
        for one in too_many:
            one.close()

    def end(self) -> None:
        while self._devices:
            self._devices.pop().close()

    def forget(self) -> None:
        """In a copy of this process, to which they do not belong."""
        self._lock = threading.Lock()
        while self._devices:
            self._devices.pop().forget()


_idle = _Idle()
atexit.register(_idle.end)
os.register_at_fork(after_in_child=_idle.forget)


@contextmanager
def open_device(path: Path) -> Iterator[Device]:
    """A device for the library at `path`, with no arrays yet. Raises `NotAvailable` where no process can be started."""
    device = _idle.take(path)
    try:
        yield device
    finally:
        _idle.give_back(device)
