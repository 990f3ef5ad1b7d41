"""Executing kernels: copy in, launch, copy out; and whose fault it was when one fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from softmax_lib.arrays import Matrix, host_view
from softmax_lib.emulator.calls import open_call
from softmax_lib.emulator.geometry import Call
from softmax_lib.emulator.launching import watchdog_s
from softmax_lib.emulator.memory import EmulatedArray
from softmax_lib.emulator.session import LaunchConfig, Session, open_session
from softmax_lib.emulator.structs import Fault, FaultKind
from softmax_lib.errors import CompileError, Hang, IllegalAddress, NotAvailable, SoftmaxLibError
from softmax_lib.kernel import Kernel
from softmax_lib.launch_spec import specify
from softmax_lib.source import WARP, Source

_RECHECK_S = 1.0
"""Seconds for which a launch that hung is looked at again: whether it waits is soon seen, and it has hung long enough."""

_MOST_RECHECKED = 1 << 26
"""Bytes of all arrays up to which a whole launch is repeated to find who wrote next to one."""


def execute(
    kernel: Kernel,
    x: Matrix,
    y: Matrix,
    block_size: int,
    *,
    warp_size: int = WARP,
    grid: int | None = None,
) -> None:
    """Run every step of `kernel` in the emulator: y = kernel(x).

    `x` and `y` are contiguous float32 arrays or CPU tensors of shape (rows, cols); `y` may be `x`.
    `grid` replaces the number of blocks that the kernel's launch facts give. When anything is raised
    (`KernelFault`, `CompileError`, `NotAvailable`, `BadInput`), `y` is untouched.
    """
    x, y = host_view(x), host_view(y)
    if x.size == 0:
        return
    with open_session(LaunchConfig(kernel, block_size, warp_size, grid), x, y) as session:
        _complete(session)
        session.arrays["y"].copy_to(y)


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
    plain one come in order. Raises `WrongType`, `BadInput`, `UnknownKernel`, `CompileError`,
    `NotAvailable`, and `KernelFault` for what a thread does wrong; arrays are then untouched.
    """
    spec = specify(
        source, grid, block, args, shared_bytes=shared_bytes, kernel=kernel,
        cooperative=cooperative, cluster=cluster, symbols=symbols, defines=defines,
    )  # fmt: skip
    with open_call(spec) as session:
        _complete(session)
        session.give_back(spec)


def _complete(session: Session) -> None:
    """Launch every call, and raise what goes wrong."""
    for call, outcome in session.run():
        if outcome.fault is not None:
            raise _explain(session, call, outcome.fault)
        for array in session.arrays.values():
            element = array.damage()
            if element is not None:
                raise _explain_damage(session, call, array, element)


def _explain(session: Session, call: Call, fault: Fault) -> Exception:
    """What happened; of an illegal address, or of one that waits, a traced run of the same block knows more."""
    exact = None
    alone = replace(call, geometry=call.geometry.only(fault.block))
    if fault.kind == FaultKind.ADDRESS:
        exact = _recheck(session, alone)
    elif fault.kind == FaultKind.HANG:
        exact = _recheck(session, alone, min(_RECHECK_S, watchdog_s()))
        exact = None if isinstance(exact, Hang) else exact
    return exact or session.exception(call, fault)


def _explain_damage(session: Session, call: Call, array: EmulatedArray, element: int) -> Exception:
    """A store has hit the few bytes between an array and its guard zone: whose was it?"""
    exact = None
    if sum(each.bytes for each in session.arrays.values()) <= _MOST_RECHECKED:
        exact = _recheck(session, call)
    side = "before the start" if element < 0 else "past the end"
    what = (
        f"illegal address: a thread stored at {array.name}[{element}], {side} of its "
        f"{array.elements} elements"
    )
    return exact or IllegalAddress("out of bounds", "", 0, None, None, what)


def _recheck(session: Session, call: Call, limit_s: float | None = None) -> SoftmaxLibError | None:
    """What the same call stumbles over with every access checked, and nothing recorded."""
    try:
        traced = session.traced()
        instruments = traced.instruments()
    except (NotAvailable, CompileError):
        return None
    fault = traced.launch(call, instruments, limit_s=limit_s).fault
    return traced.exception(call, fault) if fault else None
