"""Running the .cu files on the CPU: each CUDA thread a fiber, each block on one OS thread.

The source is compiled, unmodified, by the machine's C++ compiler. It shows what a kernel computes,
where its threads wait and what they touch; its speed says nothing about a GPU's. Kernels run in a process
of their own, which is kept for the next launch and replaced when a kernel has ended it: none ends Python.

Proven on x86-64 Linux with g++, clang++ and the ziglang wheel (g++ 10 or newer), and on 64-bit ARM
Linux under qemu. Written for macOS and not tried there: no tracing, and faults without a line.

What it lacks: inline PTX, textures and tensor cores. Threads that wait for a word of memory let the
others run, those of their own block and, in a cooperative launch, of every block. A call of a warp goes on
without lanes that have returned before it, but not without those that have come past it to the kernel's end,
and a thread that has exited counts as missing at a barrier: both stricter than most GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from softmax_lib.engine.source import Source
from softmax_lib.engine.spec import LaunchSpec
from softmax_lib.engine.toolchain import compiler
from softmax_lib.engine.written import running
from softmax_lib.engine.written.tracing import Event, Trace, trace

__all__ = ["Event", "Trace", "compiler", "launch", "trace_launch"]


def launch(
    source: str | Path | Source,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    *,
    shared_bytes: int = 0,
    kernel: str | None = None,
    cooperative: bool = False,
    cluster: int | Sequence[int] | None = None,
    symbols: Mapping[str, Any] | None = None,
    defines: Mapping[str, int] | None = None,
) -> None:
    """Launch any kernel of `source`, CUDA text or the path of a .cu file, on the CPU.

    `grid` and `block` are numbers of blocks and threads, or up to three of each. `args` are what the
    kernel takes: numpy arrays or CPU tensors of any dtype, without strides and written in place, for
    its pointers (None: a null pointer; a list of arrays: a pointer to pointers); Python or numpy numbers
    for its values; numpy structured scalars, ctypes structures or tuples of numpy scalars for its
    structures. `kernel` is its name or a name expression, "softmax<float, 256>", where the source has
    several. `symbols` are arrays by the name of the `__device__` or `__constant__` variable that each
    fills, and a `__device__` one writes back; every launch begins with the values that the source gives
    them. `shared_bytes` are those of dynamic shared memory, `cluster` the blocks of a cluster, `defines`
    whole numbers by the names of macros that stand for them in the source.

    The blocks of a `cooperative` launch take turns, so that one can wait for any other; those of a
    plain one come in order. Every access is checked where arrays have at most 4 MiB and threads are at most
    262,144; of larger launches those far outside of arrays and stores next to them. Raises `WrongType`, `BadInput`, `UnknownKernel`, `CompileError`,
    `NotAvailable`, and `KernelFault` for what a thread does wrong; arrays are then untouched.
    """
    running.launch(LaunchSpec.of(
        source, grid, block, args, shared_bytes=shared_bytes, kernel=kernel,
        cooperative=cooperative, cluster=cluster, symbols=symbols, defines=defines,
    ), check_all=True)  # fmt: skip


def trace_launch(
    source: str | Path | Source,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    **how: Any,
) -> Trace:
    """`trace` of any kernel, by the words of `launch`."""
    return trace(LaunchSpec.of(source, grid, block, args, **how))
