"""Executing a kernel on matrices: copy in, launch its steps, copy out; and whose fault it was when one fails."""

from __future__ import annotations

from dataclasses import replace

from softmax_lib.arrays import Matrix, host_view
from softmax_lib.emulator.launching import Geometry, Instruments
from softmax_lib.emulator.memory import EmulatedArray
from softmax_lib.emulator.native import Fault, FaultKind
from softmax_lib.emulator.session import (
    LaunchConfig,
    Session,
    open_session,
    shared_arrays,
    traced_symbols,
)
from softmax_lib.errors import CompileError, IllegalAddress, NotAvailable, SoftmaxLibError
from softmax_lib.kernel import Kernel, Step
from softmax_lib.source import WARP

_MOST_RECHECKED = 1 << 24
"""Elements of x up to which a whole launch is repeated to find who wrote next to an array."""


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
        for step, outcome in session.run():
            if outcome.fault is not None:
                raise _explain(session, step, outcome.fault)
            for array in session.arrays.values():
                element = array.damage()
                if element is not None:
                    raise _explain_damage(session, step, array, element)
        session.arrays["y"].copy_to(y)


def _explain(session: Session, step: Step, fault: Fault) -> Exception:
    """What happened; of an illegal address a traced run of the same block knows more."""
    exact = None
    if fault.kind == FaultKind.ADDRESS:
        exact = _recheck(session, step, session.geometry(step).only(fault.block))
    return exact or session.exception(fault)


def _explain_damage(session: Session, step: Step, array: EmulatedArray, element: int) -> Exception:
    """A store has hit the few bytes between an array and its guard zone: whose was it?"""
    exact = None
    if session.shape[0] * session.shape[1] <= _MOST_RECHECKED:
        exact = _recheck(session, step, session.geometry(step))
    side = "before the start" if element < 0 else "past the end"
    what = (
        f"illegal address: a thread stored at {array.name}[{element}], {side} of its "
        f"{array.elements} elements"
    )
    return exact or IllegalAddress("out of bounds", "", 0, None, None, what)


def _recheck(session: Session, step: Step, geometry: Geometry) -> SoftmaxLibError | None:
    """What the same step stumbles over with every access checked, and nothing recorded."""
    try:
        path = session.config.library(session.shape[1], traced=True)
        instruments = Instruments(shared_arrays(traced_symbols(path).variables))
    except (NotAvailable, CompileError):
        return None
    traced = replace(session, path=path)
    fault = traced.launch(step, geometry, instruments).fault
    return traced.exception(fault) if fault else None
