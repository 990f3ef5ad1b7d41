"""Triton's interpreter, which runs a kernel on the CPU: started anew in a process of its own.

`TRITON_INTERPRET=1` has to be set before Triton is imported and turns its compiler off; what the interpreter
changes in Triton it does not change back. So it never runs in the caller's process.
"""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from softmax_lib.errors import CompileError, SoftmaxLibError
from softmax_lib.tiles.programs import TileKernel, load, require_triton

MOST_SECONDS = 90.0
"""For all jobs of a call; the book's longest takes a few seconds."""


_LOADED = re.compile(r"<(.+) [0-9a-f]{8}>$")
"""What `programs.load` calls the file of a kernel."""


@dataclass(frozen=True)
class Job:
    """One launch: what the kernel takes by name, how many programs there are, and elements of x, which goes on behind them."""

    kernel: TileKernel
    arguments: dict[str, Any]
    programs: int
    elements: int


@dataclass(frozen=True)
class Interpreted:
    """What a job has as `y` afterwards, and whether it read past the end of its x, or before the start."""

    y: np.ndarray
    reads_outside: bool


def interpret(jobs: Sequence[Job]) -> list[Interpreted]:
    """Launch each job in turn.

    Arrays are copied: those of the caller stay. Raises `NotAvailable` without Triton, and `CompileError` with
    Python's words, at the kernel's line where that is known, where it stops.
    """
    require_triton()
    told = [
        (job.kernel.source, job.kernel.entry, job.arguments, job.programs, job.elements)
        for job in jobs
    ]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "softmax_lib.tiles.interpreter"],
            input=pickle.dumps(told),
            capture_output=True,
            env=os.environ | {"TRITON_INTERPRET": "1"},
            check=False,
            timeout=MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise CompileError(
            f"Triton's interpreter was stopped: it had not ended after {MOST_SECONDS:g} s."
        ) from None
    if done.returncode or not done.stdout:
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no word"])[-1]
        raise CompileError(f"Triton's interpreter stopped: {last}")
    found: list[tuple[np.ndarray, bool]] = pickle.loads(done.stdout)
    return [Interpreted(*one) for one in found]


def _main() -> None:
    jobs = pickle.load(sys.stdin.buffer)
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr  # what a kernel prints is no answer
    _mend_loops()
    np.seterr(all="ignore")  # a kernel's -inf - -inf is NaN, as on a GPU
    try:
        answers.write(pickle.dumps([_launch(*job) for job in jobs]))
    except Exception as error:
        sys.exit(_in_words(error))


def _in_words(error: BaseException) -> str:
    """What went wrong first, without what Triton wraps it in, and the kernel's line: "mine.py, line 3: NameError: ..."."""
    if isinstance(error, SoftmaxLibError):
        return str(error)
    while error.__cause__ is not None:
        error = error.__cause__
    what = f"{type(error).__name__}: {error}"
    lines = [_LOADED.match(place.filename) for place in traceback.extract_tb(error.__traceback__)]
    numbers = [place.lineno for place in traceback.extract_tb(error.__traceback__)]
    at = [(found[1], number) for found, number in zip(lines, numbers, strict=True) if found]
    return f"{at[-1][0]}, line {at[-1][1]}: {what}" if at else what


def _launch(
    source: Any, entry: str, arguments: dict[str, Any], programs: int, elements: int
) -> tuple[np.ndarray, bool]:
    import torch

    given = {
        name: torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }
    x, y = given["x"], given["y"]
    ends = [(x.data_ptr(), 4 * elements), (y.data_ptr(), y.nbytes)]
    with _watched_reads(ends) as strays:
        load(source)[entry][(programs,)](**given)
    return y.numpy(), bool(strays)


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


if __name__ == "__main__":
    _main()
