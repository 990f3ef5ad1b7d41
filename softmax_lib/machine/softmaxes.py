"""A softmax kernel's machine code or PTX, run step by step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from softmax_lib.kernel import Kernel
from softmax_lib.machine.launching import (
    Argument,
    Counted,
    Progress,
    ReadBack,
    Threads,
    launch,
)
from softmax_lib.machine.memory import Memory
from softmax_lib.machine.program import Decoder, decode_program


def count_steps(kernel: Kernel, x: np.ndarray, block_size: int, **how: Any) -> tuple[Counted, ...]:
    """What each step of `kernel` did, by the words of `run_steps` and raising what it raises.

    y, which is as large as `x`, is kept only for a kernel that reads it.
    """
    with suppress(ReadBack):
        return tuple(run_steps(kernel, x, None, block_size, **how))
    return tuple(run_steps(kernel, x, np.full_like(x, np.nan), block_size, **how))


def run_steps(
    kernel: Kernel,
    x: np.ndarray,
    y: np.ndarray | None,
    block_size: int,
    *,
    arch: int,
    grid: int | None = None,
    progress: Progress | None = None,
    decoder: Decoder = decode_program,
) -> Iterator[Counted]:
    """Run `kernel` for sm_`arch`, y = kernel(x), and give what each of its steps did.

    `x` and `y` are contiguous float32 arrays of shape (rows, cols); `y` may be `x`, and None where nobody
    wants it. `grid` replaces the number of blocks; `decoder` says what is run, PTX in place of machine code.
    Raises `NotAvailable`, `CompileError`, `KernelFault`, and without `y` `ReadBack` for a kernel that reads it.
    """
    rows, cols = x.shape
    program = kernel.program(block_size, cols)
    memory = Memory()
    values: dict[str, Argument] = {"x": memory.place("x", x)}
    values["y"] = memory.place_unkept("y", x.nbytes) if y is None else memory.place("y", y)
    for name in kernel.scratch:
        values[name] = memory.place(name, np.full(rows, np.nan, np.float32))
    values |= {name: int(n).to_bytes(4, "little") for name, n in (("rows", rows), ("cols", cols))}
    for step in kernel.steps:
        blocks = grid or step.blocks(rows, cols, block_size)
        threads = Threads((blocks, 1, 1), (block_size, 1, 1))
        arguments = [values[name] for name in step.arguments]
        yield launch(decoder(program, arch, step.entry), threads, arguments, memory, progress)
