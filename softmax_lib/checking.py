"""`check`: a kernel against float64 over rows that break careless ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from softmax_lib.arrays import Matrix, check_x
from softmax_lib.errors import BadInput, KernelFault, NotAvailable, WrongType
from softmax_lib.gpu.presence import why_no_gpu
from softmax_lib.kernel import Kernel
from softmax_lib.launch import run
from softmax_lib.launch_notes import notes_on
from softmax_lib.reference import ROWS, Judgement, adversarial, as_numpy, judge
from softmax_lib.registry import resolve
from softmax_lib.source import Source
from softmax_lib.whole_numbers import whole
from softmax_lib.words import count

LENGTHS = (1, 2, 3, 5, 31, 32, 33, 127, 1000, 1001, 4099)
"""Row lengths that `check` tries: one element, less than a float4, around a warp, around multiples
of 4 and of a block, and one that every block size walks through more than once."""

MOST_COLS = 1 << 26
"""Of a row that `check` makes, of which there are 18: what is right takes 8 bytes an element, several times."""

GUARD = 64
"""Elements behind the output that no kernel may touch."""


@dataclass(frozen=True, kw_only=True)
class Attempt(Judgement):
    """One launch on one (rows, cols) matrix, and the judgement of its result.

    `offset` is how many floats x lies off the start of its array; `stray` says that something was
    written behind the end of y.
    """

    rows: int
    cols: int
    block_size: int
    offset: int
    stray: bool

    @property
    def failure(self) -> str | None:
        """What was asked and what went wrong, in a sentence; None when nothing did."""
        mistake = self.mistake or ("it wrote behind the end of y" if self.stray else None)
        if mistake is None:
            return None
        return f"{_asked(self.rows, self.cols, self.block_size)}, x {self.offset} floats off: {mistake}"


def _asked(rows: int, cols: int, block_size: int) -> str:
    return f"({rows}, {cols}) at {block_size} threads per block"


@dataclass(frozen=True)
class Tally:
    """How many launches a check tried of a kernel, and one sentence for each that was wrong."""

    kernel: str
    launches: int
    failures: tuple[str, ...]
    right: str = "all within the bound of float32"

    @property
    def ok(self) -> bool:
        """Whether every launch was right."""
        return not self.failures

    @property
    def verdict(self) -> str:
        """One sentence that is the same on every device."""
        told = (
            f"{len(self.failures)} wrong, first {self.failures[0]}" if self.failures else self.right
        )
        return f"{self.kernel}: {count(self.launches, 'launch', 'launches')}, {told}"


@dataclass(frozen=True)
class CheckResult:
    """What `check` tried of a kernel; `ok` says whether all of it was right, `notes` how it is launched."""

    kernel: str
    device: str
    attempts: tuple[Attempt, ...]
    notes: tuple[str, ...] = ()

    @property
    def wrong(self) -> tuple[Attempt, ...]:
        """The launches that went wrong."""
        return tuple(one for one in self.attempts if one.failure)

    @property
    def failures(self) -> tuple[str, ...]:
        """One sentence for each of them."""
        return tuple(one.failure for one in self.attempts if one.failure)

    @property
    def ok(self) -> bool:
        """Whether every launch was right."""
        return not self.wrong

    @property
    def max_abs_error(self) -> float:
        """Largest distance from the float64 reference; every probability lies in 0 to 1."""
        return max(one.max_abs_error for one in self.attempts)

    @property
    def verdict(self) -> str:
        """One sentence that is the same on every device: no error digits, no device."""
        tried = f"{self.kernel}: {count(len(self.attempts), 'launch', 'launches')}"
        if self.ok:
            return f"{tried}, all within the bound of float32"
        first = self.wrong[0]
        where = _asked(first.rows, first.cols, first.block_size)
        return f"{tried}, {len(self.wrong)} wrong, first {where}"

    def __str__(self) -> str:
        failed = "".join(f"; {failure}" for failure in self.failures[:1])
        return f"{self.verdict} (on {self.device}){failed}" + "".join(f"\n{n}" for n in self.notes)


def check(
    kernel_or_source: str | Path | Source | Kernel,
    x: Matrix | None = None,
    *,
    device: str = "auto",
    block_size: int | None = None,
    lengths: Sequence[int] = LENGTHS,
    progress: Callable[[Attempt], None] | None = None,
) -> CheckResult:
    """Compare a kernel with float64 softmax, on `x` or on adversarial rows of several `lengths`.

    `x` is what `run` takes. `device` is "cuda", "cpu" (the emulator) or "auto"; without `block_size`
    `x` meets the kernel's own choice, and adversarial rows its smallest, default and largest. Every
    launch writes into a NaN-filled view with guard elements behind it; some read a view at an odd
    offset. Lengths that a block size does not take are left out; a kernel that loads whole vectors gets the
    next length that it takes, and no odd offset. Raises what `run` raises, `BadInput`
    for a device that is none of these or where nothing would be launched, and `KernelFault` with a note
    of the launch, but a wrong result is no error: it is in the `CheckResult`.
    """
    kernel = resolve(kernel_or_source)
    device, notes = choose_device(device), notes_on(kernel)
    if x is not None:
        check_x(x, "check")
        matrix = as_numpy(x)
        size = kernel.settle_block_size(block_size, matrix.shape[1])
        return CheckResult(kernel.name, device, (attempt(kernel, matrix, size, 0, device),), notes)
    lengths = _read_lengths(lengths)
    kernel.settle_block_size(block_size, kernel.longer(min(lengths)))
    kinds = tuple(row.name for row in ROWS)
    attempts = []
    for cols, size, offset in _plan(kernel, block_size, lengths):
        attempts.append(attempt(kernel, adversarial(cols), size, offset, device, kinds))
        if progress:
            progress(attempts[-1])
    return CheckResult(kernel.name, device, tuple(attempts), notes)


def _read_lengths(lengths: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(lengths, (Sequence, np.ndarray)):
        raise WrongType(f"lengths is a {type(lengths).__name__}; it takes several whole numbers.")
    numbers = tuple(whole("A row length", length) for length in lengths)
    if not 1 <= min(numbers, default=0) <= max(numbers) <= MOST_COLS:
        raise BadInput(f"check takes row lengths from 1 up to {MOST_COLS}, not {numbers}.")
    return numbers


def count_attempts(
    kernel: Kernel, block_size: int | None = None, lengths: tuple[int, ...] = LENGTHS
) -> int:
    """How many launches `check` makes, for a progress bar."""
    return sum(1 for _ in _plan(kernel, block_size, lengths))


def choose_device(device: str) -> str:
    """Where to run: "cuda" or "cpu", for "auto" the GPU where there is one.

    Raises `NotAvailable` when CUDA is asked for and there is none, `BadInput` for another word,
    `WrongType` for what is none.
    """
    if not isinstance(device, str):
        raise WrongType(f"device is a {type(device).__name__}; it is a word.")
    if device not in ("auto", "cuda", "cpu"):
        raise BadInput(f'device is "auto", "cuda" or "cpu", and not {device!r}.')
    if device == "cpu":
        return device
    reason = why_no_gpu()
    if device == "auto":
        return "cpu" if reason else "cuda"
    if reason:
        raise NotAvailable(f"No GPU to run on: {reason}; on the CPU, kernels run in the emulator.")
    return device


def _plan(
    kernel: Kernel, block_size: int | None, lengths: tuple[int, ...]
) -> Iterator[tuple[int, int, int]]:
    sizes = kernel.block_sizes
    usual = {sizes[0], kernel.default_block_size, sizes[-1]}
    tried = usual if block_size is None else {block_size}
    for cols in dict.fromkeys(map(kernel.longer, lengths)):
        for size in sorted(tried):
            if cols <= kernel.max_cols(size):
                yield cols, size, 0
        if kernel.vector == 1 and cols <= kernel.max_cols(max(tried)):
            yield cols, max(tried), 1


def attempt(
    kernel: Kernel,
    matrix: np.ndarray,
    block_size: int,
    offset: int,
    device: str,
    kinds: Sequence[str] = (),
) -> Attempt:
    """One launch on a (rows, cols) float32 matrix that begins `offset` floats off, judged; `kinds` are its rows'.

    Raises what `run` does, and `KernelFault` with a note of the launch.
    """
    rows, cols = matrix.shape
    whole = np.empty(matrix.size + offset, np.float32)
    whole[offset:] = matrix.reshape(-1)
    padded = np.full(matrix.size + GUARD, np.nan, np.float32)
    x_array, y_array = (place(array, device) for array in (whole, padded))
    x, y = x_array[offset:].reshape(rows, cols), y_array[: matrix.size].reshape(rows, cols)
    try:
        run(kernel, x, block_size=block_size, out=y)
    except KernelFault as fault:
        fault.add_note(f"on {_asked(rows, cols, block_size)}, x {offset} floats off:")
        raise
    stray = not np.isnan(as_numpy(y_array[matrix.size :])).all()
    asked = {"rows": rows, "cols": cols, "block_size": block_size, "offset": offset}
    return Attempt(**asdict(judge(y, matrix, kinds=kinds)), **asked, stray=stray)


def place(array: np.ndarray, device: str) -> Matrix:
    """The array itself for "cpu", for "cuda" a tensor there."""
    if device == "cpu":
        return array
    import torch

    return torch.from_numpy(array).to(device)
