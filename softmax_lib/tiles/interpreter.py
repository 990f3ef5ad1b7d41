"""Triton's interpreter, which runs a kernel on the CPU: started anew in a process of its own.

`TRITON_INTERPRET=1` has to be set before Triton is imported and turns its compiler off; what the interpreter
changes in Triton it does not change back. So it never runs in the caller's process.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softmax_lib.errors import CompileError
from softmax_lib.tiles.programs import TileKernel, load, require_triton

MOST_SECONDS = 90.0
"""For all jobs of a call; the book's longest takes a few seconds."""


@dataclass(frozen=True)
class Job:
    """One launch: what the kernel takes by name, arrays among it, and how many programs there are."""

    kernel: TileKernel
    arguments: dict[str, Any]
    programs: int


def interpret(jobs: Sequence[Job]) -> list[np.ndarray]:
    """Launch each job in turn; what each has as `y` afterwards.

    Arrays are copied: those of the caller stay. Raises `NotAvailable` without Triton, and `CompileError` with
    Triton's words where it stops.
    """
    require_triton()
    told = [(job.kernel.source, job.kernel.entry, job.arguments, job.programs) for job in jobs]
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
    found: list[np.ndarray] = pickle.loads(done.stdout)
    return found


def _main() -> None:
    jobs = pickle.load(sys.stdin.buffer)
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr  # what a kernel prints is no answer
    _mend_loops()
    np.seterr(all="ignore")  # a kernel's -inf - -inf is NaN, as on a GPU
    answers.write(pickle.dumps([_launch(*job) for job in jobs]))


def _launch(source: Any, entry: str, arguments: dict[str, Any], programs: int) -> np.ndarray:
    import torch

    given = {
        name: torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }
    load(source)[entry][(programs,)](**given)
    y: np.ndarray = given["y"].numpy()
    return y


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
