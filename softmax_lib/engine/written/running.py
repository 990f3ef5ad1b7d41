"""Executing kernels: copy in, launch, copy out; and whose fault it was when one fails."""

from __future__ import annotations

from dataclasses import replace

from softmax_lib.engine.errors import CompileError, EngineError, Hang, IllegalAddress, NotAvailable
from softmax_lib.engine.geometry import Call
from softmax_lib.engine.spec import LaunchSpec, watchdog_s
from softmax_lib.engine.written.memory import EmulatedArray
from softmax_lib.engine.written.session import Session, open_session
from softmax_lib.engine.written.structs import Fault, FaultKind

_RECHECK_S = 1.0
"""Seconds for which a launch that hung is looked at again: whether it waits is soon seen, and it has hung long enough."""

_MOST_RECHECKED = 1 << 26
"""Bytes of all arrays up to which a whole launch is repeated to find who wrote next to one."""


def launch(*specs: LaunchSpec) -> None:
    """Launch each of `specs`, which are of one program, on the CPU: on the same arrays, one after the other.

    Arrays are written in place, once all has ended. Raises `WrongType`, `BadInput`, `UnknownKernel`, `CompileError`,
    `NotAvailable`, and `KernelFault` for what a thread does wrong; arrays are then untouched.
    """
    with open_session(specs) as session:
        _complete(session)
        session.give_back(specs)


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


def _recheck(session: Session, call: Call, limit_s: float | None = None) -> EngineError | None:
    """What the same call stumbles over with every access checked, and nothing recorded."""
    session.device.renew()  # before it is asked where variables lie
    try:
        traced = session.traced()
        instruments = traced.instruments()
    except (NotAvailable, CompileError):
        return None
    fault = traced.launch(call, instruments, limit_s=limit_s).fault
    return traced.exception(call, fault) if fault else None
