"""What is right: softmax in float64, rows that break careless kernels, and `check`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from softmax_lib.errors import NotAvailable
from softmax_lib.launch import run
from softmax_lib.registry import Kernel, resolve
from softmax_lib.source import Source

LENGTHS = (1, 2, 3, 5, 31, 32, 33, 127, 1000, 1001, 4099)
"""Row lengths that `check` tries: one element, less than a float4, around a warp, around multiples
of 4 and of a block, and one that every block size walks through more than once."""

GUARD = 64
"""Elements behind the output that no kernel may touch."""


def softmax(x: Tensor) -> Tensor:
    """Softmax over the last dimension by torch in float64, where `x` lies. `x` has any shape."""
    return torch.softmax(x.detach().double(), dim=-1)


def relative_tolerance(cols: int) -> float:
    """Error that float32 arithmetic may leave in a row of `cols` elements, relative to each of them.

    exp turns the rounding of its argument, at most 104 in size before the result vanishes, into a
    relative error of 104 * 2**-24; a sum of n positive terms in any order is off by at most
    (n - 1) * 2**-24 of itself (Higham, Accuracy and Stability of Numerical Algorithms, chapter 4).
    """
    return 1e-5 + cols * 2.0**-24


@dataclass(frozen=True)
class Row:
    """One kind of row: a name and a function that fills a (cols,) float32 tensor of normal noise."""

    name: str
    fill: Callable[[Tensor], Tensor]


def _set(index: int, value: float) -> Callable[[Tensor], Tensor]:
    def fill(noise: Tensor) -> Tensor:
        noise[index % len(noise)] = value
        return noise

    return fill


def _mask(keep: slice) -> Callable[[Tensor], Tensor]:
    def fill(noise: Tensor) -> Tensor:
        row = torch.full_like(noise, -math.inf)
        row[keep] = noise[keep]
        return row

    return fill


ROWS = (
    Row("normal", lambda noise: noise),
    Row("wide", lambda noise: 30 * noise),
    Row("equal", lambda noise: torch.full_like(noise, 0.1)),
    Row("shifted up", lambda noise: noise + 1e4),
    Row("all very negative", lambda noise: noise - 1e4),
    Row("all near -3e38", lambda noise: -3e38 + 1e37 * noise.clamp(-3, 3)),
    Row("both ends of float32", lambda noise: 3e38 * noise.sign()),
    Row("rising", lambda noise: noise.sort().values),
    Row("falling", lambda noise: noise.sort(descending=True).values),
    Row("outlier first", _set(0, 80.0)),
    Row("outlier last", _set(-1, 80.0)),
    Row("-inf first", _set(0, -math.inf)),
    Row("first half -inf", lambda noise: _mask(slice(len(noise) // 2, None))(noise)),
    Row("only the last alive", _mask(slice(-1, None))),
    Row("all -inf", _mask(slice(0, 0))),
    Row("NaN in the middle", lambda noise: _set(len(noise) // 2, math.nan)(noise)),
    Row("NaN among -inf", lambda noise: _set(len(noise) // 2, math.nan)(_mask(slice(0, 0))(noise))),
    Row("+inf last", _set(-1, math.inf)),
)
"""Rows that a careless kernel gets wrong; a matrix of them also fills part of a block and of a grid."""


def adversarial(cols: int, seed: int = 0) -> Tensor:
    """One row of each kind in `ROWS`: a float32 tensor of shape (len(ROWS), cols) on the CPU."""
    generator = torch.Generator().manual_seed(seed + cols)
    noise = torch.randn(len(ROWS), cols, generator=generator)
    return torch.stack([row.fill(noise[i].clone()) for i, row in enumerate(ROWS)])


@dataclass(frozen=True)
class Attempt:
    """One launch on one matrix: what was asked, how far off it was, and what was wrong if anything."""

    rows: int
    cols: int
    block_size: int
    offset: int
    max_abs_error: float
    failure: str | None


@dataclass(frozen=True)
class CheckResult:
    """What `check` tried of a kernel; `ok` says whether all of it was right."""

    kernel: str
    device: str
    attempts: tuple[Attempt, ...]

    @property
    def failures(self) -> tuple[str, ...]:
        """One sentence for each launch that went wrong."""
        return tuple(attempt.failure for attempt in self.attempts if attempt.failure)

    @property
    def ok(self) -> bool:
        """Whether every launch was right."""
        return not self.failures

    @property
    def max_abs_error(self) -> float:
        """Largest distance from the float64 reference; every probability lies in 0 to 1."""
        return max(attempt.max_abs_error for attempt in self.attempts)

    @property
    def verdict(self) -> str:
        """One sentence that is the same on every device: no error digits, no device."""
        tried = f"{self.kernel}: {len(self.attempts)} launches"
        wrong = [attempt for attempt in self.attempts if attempt.failure]
        if not wrong:
            return f"{tried}, all within the bound of float32"
        first = f"({wrong[0].rows}, {wrong[0].cols}) at {wrong[0].block_size} threads a block"
        return f"{tried}, {len(wrong)} wrong, first {first}"

    def __str__(self) -> str:
        return f"{self.verdict} (on {self.device})" + "".join(f"; {f}" for f in self.failures[:1])


def check(
    kernel_or_source: str | Path | Source | Kernel,
    *,
    device: str = "auto",
    block_size: int | None = None,
    lengths: tuple[int, ...] = LENGTHS,
    progress: Callable[[Attempt], None] = lambda attempt: None,
) -> CheckResult:
    """Compare a kernel with float64 softmax over adversarial rows of several lengths.

    `device` is "cuda", "cpu" (the emulator) or "auto"; without `block_size` the kernel's smallest,
    default and largest are tried. Every launch writes into a NaN-filled view with guard elements
    behind it; some read a view at an odd offset. Raises what `run` raises, but a wrong result is
    no error: it is in the `CheckResult`.
    """
    kernel = resolve(kernel_or_source)
    device = choose_device(device)
    attempts = []
    for cols, size, offset in _plan(kernel, block_size, lengths):
        attempts.append(_attempt(kernel, adversarial(cols), size, offset, device))
        progress(attempts[-1])
    return CheckResult(kernel.name, device, tuple(attempts))


def count_attempts(
    kernel: Kernel, block_size: int | None = None, lengths: tuple[int, ...] = LENGTHS
) -> int:
    """How many launches `check` makes, for a progress bar."""
    return sum(1 for _ in _plan(kernel, block_size, lengths))


def choose_device(device: str) -> str:
    """Where to run for "auto": "cuda" or "cpu". Raises `NotAvailable` when CUDA is asked for and there is none."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        reason = (
            "torch sees no CUDA GPU" if torch.version.cuda else "this torch is built without CUDA"
        )
        raise NotAvailable(f"No GPU to run on: {reason}; use --device cpu for the emulator.")
    return device


def _plan(
    kernel: Kernel, block_size: int | None, lengths: tuple[int, ...]
) -> Iterator[tuple[int, int, int]]:
    sizes = kernel.block_sizes
    tried = {block_size} if block_size else {sizes[0], kernel.default_block_size, sizes[-1]}
    for cols in lengths:
        for size in sorted(tried):
            if cols <= kernel.max_cols(size):
                yield cols, size, 0
        if cols <= kernel.max_cols(max(tried)):
            yield cols, max(tried), 1


def _attempt(kernel: Kernel, matrix: Tensor, block_size: int, offset: int, device: str) -> Attempt:
    rows, cols = matrix.shape
    count = matrix.numel()
    x = torch.empty(count + offset, device=device)[offset:].view(rows, cols).copy_(matrix)
    padded = torch.full((count + GUARD,), math.nan, device=device)
    y = padded[:count].view(rows, cols)
    run(kernel, x, block_size=block_size, out=y)
    error, failure = judge(y, matrix)
    if failure is None and not padded[count:].isnan().all():
        failure = "it wrote behind the end of y"
    if failure:
        failure = (
            f"({rows}, {cols}) at {block_size} threads a block, x {offset} floats off: {failure}"
        )
    return Attempt(rows, cols, block_size, offset, error, failure)


def judge(y: Tensor, x: Tensor) -> tuple[float, str | None]:
    """Largest absolute error of `y` as softmax of `x` (ROWS, cols), and the first wrong row in words."""
    wanted = softmax(x.to(y.device))
    got = y.detach().double()
    distance = (got - wanted).abs()
    within = distance <= relative_tolerance(x.shape[1]) * wanted + 1e-37
    right = within | (got.isnan() & wanted.isnan())
    worst = distance.nan_to_num(0.0).max().item() if distance.numel() else 0.0
    if right.all():
        return worst, None
    row, col = (~right).nonzero()[0].tolist()
    kind = f" ({ROWS[row].name})" if len(x) == len(ROWS) else ""
    value, due = got[row, col].item(), wanted[row, col].item()
    return worst, f"row {row}{kind}, column {col} is {value:.6g} and should be {due:.6g}"
