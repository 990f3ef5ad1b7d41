"""`check`: a kernel against float64 over rows that break careless ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from softmax_lib.engine.arrays import Matrix
from softmax_lib.engine.source import Source
from softmax_lib.engine.whole_numbers import whole
from softmax_lib.engine.words import count
from softmax_lib.gpu.presence import why_no_gpu
from softmax_lib.worklog.errors import BadInput, KernelFault, NotAvailable, WrongType
from softmax_lib.worklog.kernel import Kernel
from softmax_lib.worklog.launch import launcher, run
from softmax_lib.worklog.matrices import check_x
from softmax_lib.worklog.operators import (
    Grid,
    Operator,
    OperatorWords,
    Reference,
    Threads,
    encode,
    read_operator,
    threads_of,
)
from softmax_lib.worklog.reference import KINDS, Judgement, adversarial, as_numpy, judge
from softmax_lib.worklog.registry import notes_on, resolve

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

    `offset` is how many elements its arrays lie off their starts; `trespass` says what was written that
    may not be, and `output` which one it is of several.
    """

    rows: int
    cols: int
    block_size: int
    offset: int
    trespass: str = ""
    output: str = ""

    @property
    def failure(self) -> str | None:
        """What was asked and what went wrong, in a sentence; None when nothing did."""
        mistake = self.mistake or self.trespass
        if not mistake:
            return None
        mistake = f"{self.output}, {mistake}" if self.output else mistake
        asked = _asked(self.rows, self.cols, self.block_size)
        return f"{asked}, x {self.offset} floats off: {mistake}"


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
    dtype: str = "float32"

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
        """Largest distance from the float64 reference."""
        return max(one.max_abs_error for one in self.attempts)

    @property
    def verdict(self) -> str:
        """One sentence that is the same on every device: no error digits, no device."""
        wrong = tuple(_asked(one.rows, one.cols, one.block_size) for one in self.wrong)
        right = f"all within the bound of {self.dtype}"
        return Tally(self.kernel, len(self.attempts), wrong, right).verdict

    def __str__(self) -> str:
        failed = "".join(f"; {failure}" for failure in self.failures[:1])
        return f"{self.verdict} (on {self.device}){failed}" + "".join(f"\n{n}" for n in self.notes)


def check(
    kernel_or_source: str | Path | Source | Kernel,
    x: Matrix | None = None,
    *,
    device: str = "auto",
    block_size: Threads | None = None,
    lengths: Sequence[int] = LENGTHS,
    progress: Callable[[Attempt], None] | None = None,
    reference: Reference | None = None,
    grid: Grid | None = None,
    **operator: Unpack[OperatorWords],
) -> CheckResult:
    """Compare a kernel with float64 softmax, on `x` or on adversarial rows of several `lengths`.

    With a `reference` it is any operator on rows, in the words of `operators.OperatorWords`, such as
    `check(source, reference=rmsnorm, inputs={"x": "rows cols", "weight": "cols"}, scalars={"eps": 1e-6})`: launched
    on `grid` blocks, one a row unless said, of `block_size` threads, a number or a function of cols, 256 unless said.

    `x` is what `run` takes. `device` is "cuda", "cpu" (the emulator) or "auto"; without `block_size`
    `x` meets the kernel's own choice, and adversarial rows its smallest, default and largest. Every
    launch writes into a NaN-filled view with guard elements behind it; some read a view at an odd
    offset. Lengths that a block size does not take are left out; a kernel that loads whole vectors gets the
    next length that it takes, and no odd offset. Raises what `run` raises, `BadInput`
    for a device that is none of these or where nothing would be launched, and `KernelFault` with a note
    of the launch, but a wrong result is no error: it is in the `CheckResult`.
    """
    if operator or reference is not None or grid is not None:
        own = read_operator(kernel_or_source, reference, grid, block_size, operator)
        return check_operator(own, choose_device(device), _read_lengths(lengths), x, progress)
    kernel, block_size = resolve(kernel_or_source), threads_of(block_size)
    device, notes = choose_device(device), notes_on(kernel)
    kinds: tuple[str, ...] = ()
    tried: Iterable[tuple[np.ndarray, int, int]]
    if x is not None:
        check_x(x, "check")
        tried = [(as_numpy(x), kernel.settle_block_size(block_size, x.shape[1]), 0)]
    else:
        lengths, kinds = _read_lengths(lengths), KINDS
        kernel.settle_block_size(block_size, kernel.longer(min(lengths)))
        plan = _plan(kernel, block_size, lengths)
        tried = ((adversarial(cols), size, offset) for cols, size, offset in plan)

    def launch(matrix: np.ndarray, size: int, offset: int) -> Outcome:
        y, is_stray = launch_guarded(kernel, matrix, size, offset, device)
        return judge(y, matrix, kinds=kinds), _BEHIND.format("y") if is_stray else "", ""

    attempts = _attempts(tried, launch, "x {} floats off", progress)
    return CheckResult(kernel.name, device, attempts, notes)


Outcome = tuple[Judgement, str, str]
"""Of a launch: the judgement, what was written that may not be, and which output is judged, of several."""


def _attempts(
    tried: Iterable[tuple[np.ndarray, int, int]],
    launch: Callable[[np.ndarray, int, int], Outcome],
    off: str,
    progress: Callable[[Attempt], None] | None,
) -> tuple[Attempt, ...]:
    """What `launch` makes of each matrix, block size and offset, told to `progress`. A `KernelFault` gets a note of the launch."""
    attempts = []
    for matrix, size, offset in tried:
        rows, cols = matrix.shape
        try:
            judgement, trespass, output = launch(matrix, size, offset)
        except KernelFault as fault:
            fault.add_note(f"on {_asked(rows, cols, size)}, {off.format(offset)}:")
            raise
        asked = {"rows": rows, "cols": cols, "block_size": size, "offset": offset}
        attempts.append(Attempt(**vars(judgement), **asked, trespass=trespass, output=output))
        if progress:
            progress(attempts[-1])
    return tuple(attempts)


def _read_lengths(lengths: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(lengths, (Sequence, np.ndarray)):
        raise WrongType(f"lengths is a {type(lengths).__name__}; it takes several whole numbers.")
    numbers = tuple(whole("A row length", length) for length in lengths)
    if not 1 <= min(numbers, default=0) <= max(numbers) <= MOST_COLS:
        raise BadInput(f"check takes row lengths from 1 up to {MOST_COLS}, not {numbers}.")
    return numbers


def count_attempts(kernel: Kernel, lengths: tuple[int, ...] = LENGTHS) -> int:
    """How many launches `check` makes, for a progress bar."""
    return len(list(_plan(kernel, None, lengths)))


def choose_device(device: str) -> str:
    """Where to run: "cuda" or "cpu", for "auto" the GPU where there is one.

    Raises `NotAvailable` without a GPU for "cuda", `BadInput` for another word, `WrongType` for what is none.
    """
    if not isinstance(device, str):
        raise WrongType(f"device is a {type(device).__name__}; it is a word.")
    if device not in ("auto", "cuda", "cpu"):
        raise BadInput(f'device is "auto", "cuda" or "cpu", and not {device!r}.')
    if device == "cpu":
        return device
    reason = why_no_gpu()
    if reason and device == "cuda":
        raise NotAvailable(f"No GPU to run on: {reason}; on the CPU, kernels run in the emulator.")
    return "cpu" if reason else "cuda"


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


def launch_guarded(
    kernel: Kernel, matrix: np.ndarray, block_size: int, offset: int, device: str
) -> tuple[Matrix, bool]:
    """One launch on a (rows, cols) float32 matrix that begins `offset` floats off: what it wrote into a matrix of NaN,
    and whether it wrote behind its end. Raises what `run` does.
    """
    x = _Laid(matrix, offset, "float32", device)
    y = _Laid(np.full_like(matrix, np.nan), 0, "float32", device)
    out = y.view.reshape(matrix.shape)
    run(kernel, x.view.reshape(matrix.shape), block_size=block_size, out=out)
    return out, y.is_overrun


_BEHIND = "it wrote behind the end of {}"


def check_operator(
    operator: Operator,
    device: str,
    lengths: tuple[int, ...],
    x: Matrix | None = None,
    progress: Callable[[Attempt], None] | None = None,
) -> CheckResult:
    """What `check` does for an operator that has been read; `device` is "cuda" or "cpu"."""

    def launch(matrix: np.ndarray, size: int, offset: int) -> Outcome:
        rows, cols = matrix.shape
        inputs = operator.make_inputs(rows, cols, matrix)
        due = operator.due(inputs, rows, cols)
        laid = {
            name: _Laid(array, offset, operator.dtype_of(name), device)
            for name, array in (inputs | operator.make_outputs(inputs, rows, cols)).items()
        }
        views = {name: one.view for name, one in laid.items()}
        launcher(on_gpu=device == "cuda")(**operator.launch_words(views, rows, cols))
        name, found = operator.judge(views, due, operator.kinds if operator.matrix else ())
        return found, _trespass(operator, laid), name if len(operator.outputs) > 1 else ""

    tried = _matrices(operator, x, lengths)
    attempts = _attempts(tried, launch, "arrays {} elements off", progress)
    return CheckResult(operator.name, device, attempts, dtype=operator.result_dtype)


def _matrices(
    operator: Operator, x: Matrix | None, lengths: tuple[int, ...]
) -> Iterator[tuple[np.ndarray, int, int]]:
    """What the adversarial input holds, threads, and how far off all arrays are, launch by launch."""
    if x is not None:
        check_x(x, "check")
        yield as_numpy(x), operator.threads(x.shape[1]), 0
        return
    for cols in dict.fromkeys(map(operator.longer, lengths)):
        for offset in (0, 1) if operator.vector == 1 else (0,):
            yield adversarial(cols, operator.kinds), operator.threads(cols), offset


class _Laid:
    """An array some elements off the start of its memory, with a guard behind its end."""

    def __init__(self, array: np.ndarray, offset: int, dtype: str, device: str) -> None:
        guard = encode(np.full(GUARD, np.nan, np.float32), dtype)
        self.before = np.concatenate([guard[:offset], array.reshape(-1), guard])
        self.all = place(self.before.copy(), device, dtype)
        self.view = self.all[offset : offset + array.size]

    def changed(self, first: int = 0) -> np.ndarray:
        """Which elements from the `first` on are not what they were, bit by bit."""
        now, word = self.all[first:], f"u{self.before.itemsize}"
        bits = now if isinstance(now, np.ndarray) else _bits_of(now)
        return bits.view(word) != self.before[first:].view(word)

    @property
    def is_overrun(self) -> bool:
        """Whether something was written behind its end."""
        return bool(self.changed(-GUARD).any())


def _bits_of(tensor: Any) -> np.ndarray:
    import torch

    words = {2: torch.int16, 4: torch.int32}
    return tensor.view(words[tensor.element_size()]).cpu().numpy()


def _trespass(operator: Operator, laid: dict[str, _Laid]) -> str:
    """What was written that may not be, in words."""
    for name, one in laid.items():
        if one.is_overrun:
            return _BEHIND.format(name)
        if name not in operator.outputs and one.changed().any():
            return f"it wrote into {name}, an input"
    return ""


def place(array: np.ndarray, device: str, dtype: str = "float32") -> Matrix:
    """The array itself for "cpu", for "cuda" a tensor of `dtype` there, made of the array's bits."""
    if device == "cpu":
        return array
    import torch

    bits = torch.from_numpy(array.view(f"i{array.itemsize}"))
    return bits.to(device).view(getattr(torch, dtype))
