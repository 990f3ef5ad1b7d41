"""The emulator's own process, in which kernels run: started, asked, and ended. What it answers is in cpp/server.cpp."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import socket
import subprocess
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from softmax_lib.engine.caches import Stamp, stamp
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.engine.written.build import runtime_library, server_program
from softmax_lib.engine.written.structs import BlackBox


class Verb(IntEnum):
    """What a process can be asked."""

    LOAD, SYMBOL, READ, WRITE, MAP, UNMAP, CLEAR, START, AWAIT, STOP, OUTCOME = range(11)


@dataclass
class LoadedLibrary:
    """A kernel's library in a process: the system's number for it, and where it lies.

    `first_values` are those of its variables, by address, once they have been asked for.
    """

    handle: int
    base: int
    first_values: dict[int, bytes] | None = None


class ProcessEnded(Exception):
    """The process has ended while it was asked: `status` is the negated signal, `left` what it left behind."""

    def __init__(self, status: int, left: BlackBox):
        super().__init__(status, left)
        self.status, self.left = status, left


class Process:
    """A process of the emulator, which one thread at a time may ask. Raises `NotAvailable` where none can be built."""

    def __init__(self) -> None:
        program, runtime = server_program(), runtime_library()
        ours, theirs = socket.socketpair()
        box = shared_file(mmap.PAGESIZE)
        try:
            self._box = mmap.mmap(box, mmap.PAGESIZE)
            words = (program, runtime, theirs.fileno(), box)
            self._process = subprocess.Popen(
                [str(word) for word in words],
                pass_fds=(theirs.fileno(), box),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for Python, which ends what runs
            )
        except BaseException as error:
            ours.close()
            if not isinstance(error, OSError):
                raise
            said = f"The emulator's process cannot be started: {error.strerror}."
            raise NotAvailable(said) from error
        finally:
            theirs.close()
            os.close(box)
        self._socket = ours
        self._files: dict[Path, Stamp | None] = {}
        self.watch(program, runtime)
        self.libraries: dict[Path, LoadedLibrary] = {}

    def watch(self, *paths: Path) -> None:
        """It runs these files from now on."""
        self._files |= {path: stamp(path) for path in paths}

    @property
    def is_alive(self) -> bool:
        """Whether it can still be asked, and the files that it runs have not been changed."""
        return self._process.poll() is None and all(
            stamp(path) == first for path, first in self._files.items()
        )

    def ask(self, verb: Verb, *parts: bytes | bytearray, file: int | None = None) -> bytearray:
        """The answer to one question, with a file that goes along. Raises `ProcessEnded`.

        Whatever else is raised meanwhile, Ctrl-C above all, ends the process.
        """
        content = b"".join(parts)
        question = verb.to_bytes(4, "little") + len(content).to_bytes(4, "little")
        try:
            if file is None:
                self._socket.sendall(question + content)
            else:
                socket.send_fds(self._socket, [question], [file])
                self._socket.sendall(content)
            return self._receive(int.from_bytes(self._receive(8), "little"))
        except OSError:
            raise self._ended() from None
        except BaseException:
            self.end()
            raise

    def _receive(self, count: int) -> bytearray:
        content = bytearray(count)
        room = memoryview(content)
        while room:
            got = self._socket.recv_into(room)
            if not got:
                raise ConnectionResetError
            room = room[got:]
        return content

    def _ended(self) -> ProcessEnded:
        left = BlackBox.from_buffer_copy(self._box)
        self.end()
        return ProcessEnded(-left.signal or self._process.returncode, left)

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._socket.close()

    def forget(self) -> None:
        """Leave it to the process that this one is a copy of."""
        self._socket.close()
        self._process.returncode = 0


def word(number: int) -> bytes:
    """A number of 64 bits, as a process is told it."""
    return number.to_bytes(8, "little")


def shared_file(size: int) -> int:
    """A file without a name, of `size` zeros, that two processes can map. Raises `OSError`."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("softmax_lib")
    else:
        import tempfile

        file, name = tempfile.mkstemp()
        os.unlink(name)
    try:
        os.truncate(file, size)
    except OSError:
        os.close(file)
        raise
    return file


def name_of_signal(status: int) -> str:
    """Such as "signal 11, SIGSEGV" of a negated signal; "status 1" of a status."""
    if status >= 0:
        return f"status {status}"
    with contextlib.suppress(ValueError):
        return f"signal {-status}, {signal.Signals(-status).name}"
    return f"signal {-status}"
