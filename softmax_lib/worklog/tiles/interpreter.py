"""Triton's interpreter, which runs a kernel on the CPU, in a process of its own.

`TRITON_INTERPRET=1` has to be set before Triton is imported and turns its compiler off; what the interpreter
changes in Triton it does not change back. So it never runs in the caller's process. To load it takes two seconds:
one process stands by with it, and each call runs in a copy of that process.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, NoReturn

import numpy as np

from softmax_lib.engine.source import Source
from softmax_lib.worklog.errors import CompileError, SoftmaxLibError
from softmax_lib.worklog.tiles.programs import load, require_triton

MOST_SECONDS = 90.0
"""For all jobs of a call; the book's longest takes a few seconds."""

_LOADED = re.compile(r"<(.+) [0-9a-f]{8}>$")
"""What `programs.load` calls the file of a kernel."""

READS_OUTSIDE = "it reads past the end of x, where nothing of the matrix is"


class Job(NamedTuple):
    """One launch: the kernel's text and name, what it takes by name, how many programs there are, and elements of x,
    which goes on behind them."""

    source: Source
    entry: str
    arguments: dict[str, Any]
    programs: int
    elements: int


class Interpreted(NamedTuple):
    """What a job has as `y` afterwards, and whether it read past the end of its x, or before the start."""

    y: np.ndarray
    reads_outside: bool


def interpret(jobs: list[Job]) -> list[Interpreted]:
    """Launch each job in turn.

    Arrays are copied: those of the caller stay. Raises `NotAvailable` without Triton, and `CompileError` with
    Python's words, at the kernel's line where that is known, where it stops.
    """
    require_triton()
    global _process
    with _lock:
        if _process is None or not _process.is_ours:
            _process = _Process()
        found = _process.ask(jobs)
    if isinstance(found, str):
        raise CompileError(f"Triton's interpreter stopped: {found}")
    return found


Answer = list[Interpreted] | str
"""What each job came to, or in words what stopped one."""


class _Process:
    """The process that stands by; one thread at a time may ask it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._calls, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import serve; serve({theirs.fileno()})"],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"TRITON_INTERPRET": "1"},
                start_new_session=True,  # Ctrl-C is for Python, which ends what runs
            )

    @property
    def is_ours(self) -> bool:
        """Whether it can be asked, and by this process: a copy of that which started it has its own."""
        return self.owner == os.getpid() and self._process.poll() is None

    def ask(self, jobs: list[Job]) -> Answer:
        """Whatever is raised meanwhile, Ctrl-C above all, ends the process and with it what it runs."""
        try:
            self._calls.send(jobs)
            if self._calls.poll(MOST_SECONDS):
                found: Answer = self._calls.recv()
                return found
            self.end()
            return f"it had not ended after {MOST_SECONDS:g} s"
        except (EOFError, OSError):
            self.end()
            return f"its process ended with status {self._process.returncode}"
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._calls.close()


_lock = threading.Lock()
_process: _Process | None = None


@atexit.register
def _end() -> None:
    if _process is not None and _process.is_ours:
        _process.end()


def serve(handle: int) -> None:
    """Answer one call after the other, each in a copy of this process, until nobody can ask any more."""
    caller = Connection(handle)
    with suppress(Exception):  # what fails here is told in a copy, where it fails again
        _prepare()
    with suppress(EOFError):
        while True:
            jobs = caller.recv()
            if not (copy := os.fork()):
                _answer(jobs, caller)
            _, status = os.waitpid(copy, 0)
            if status:
                code = os.waitstatus_to_exitcode(status)
                caller.send(f"a kernel ended its process with status {code}")


@cache
def _prepare() -> None:
    """Load what takes long, and mend it."""
    import torch  # noqa: F401

    _mend_loops()
    _mend_maxima()
    np.seterr(all="ignore")  # a kernel's -inf - -inf is NaN, as on a GPU


def _answer(jobs: list[Job], caller: Connection) -> NoReturn:
    try:
        _prepare()
        found: Answer = [_launch(job) for job in jobs]
    except Exception as error:
        found = _in_words(error)
    caller.send(found)
    os._exit(0)


def _in_words(error: BaseException) -> str:
    """What went wrong first, without what Triton wraps it in, and the kernel's line: "mine.py, line 3: NameError: ..."."""
    if isinstance(error, SoftmaxLibError):
        return str(error)
    while error.__cause__ is not None:
        error = error.__cause__
    what = f"{type(error).__name__}: {error}"
    for place in reversed(traceback.extract_tb(error.__traceback__)):
        if found := _LOADED.match(place.filename):
            return f"{found[1]}, line {place.lineno}: {what}"
    return what


def _launch(job: Job) -> Interpreted:
    import torch

    given = {
        name: torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value
        for name, value in job.arguments.items()
    }
    x, y = given["x"], given["y"]
    ends = [(x.data_ptr(), 4 * job.elements), (y.data_ptr(), y.nbytes)]
    with _watched_reads(ends) as strays:
        load(job.source)[job.entry][(job.programs,)](**given)
    return Interpreted(y.numpy(), bool(strays))


@contextmanager
def _watched_reads(arrays: list[tuple[int, int]]) -> Iterator[list[int]]:
    """Addresses outside of all `arrays`, a start and bytes each, that are loaded from meanwhile: of each load the first."""
    from triton.runtime.interpreter import InterpreterBuilder

    plain, strays = InterpreterBuilder.create_masked_load, []

    def load_and_look(builder: Any, pointers: Any, mask: Any, *more: Any) -> Any:
        asked = np.atleast_1d(pointers.data)[np.atleast_1d(mask.data).astype(bool)]
        within = [(asked >= start) & (asked < start + size) for start, size in arrays]
        strays.extend(asked[~np.logical_or.reduce(within)][:1].tolist())
        return plain(builder, pointers, mask, *more)

    InterpreterBuilder.create_masked_load = load_and_look
    try:
        yield strays
    finally:
        InterpreterBuilder.create_masked_load = plain


def _mend_loops() -> None:
    """Let a loop's bounds be arrays of one element: numpy 2.4 refuses those, and Triton 3.6 has no others."""
    from triton.runtime import interpreter

    patch = interpreter._patch_lang_tensor

    def patch_and_mend(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    interpreter._patch_lang_tensor = patch_and_mend


def _mend_maxima() -> None:
    """Let the larger of NaN and a number be the number, as in the `max.f32` that a GPU executes; Triton 3.6 takes the NaN."""
    from triton.runtime.interpreter import InterpreterBuilder

    InterpreterBuilder.create_maxnumf = lambda self, *both: self.binary_op(*both, np.fmax)
    InterpreterBuilder.create_minnumf = lambda self, *both: self.binary_op(*both, np.fmin)
