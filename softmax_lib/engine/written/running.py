"""Executing kernels: copy in, launch, copy out; and whose fault it was when one fails."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import prod

from softmax_lib.engine.arrays import host_bytes
from softmax_lib.engine.errors import (
    CompileError,
    EngineError,
    Hang,
    IllegalAddress,
    KernelFault,
    NotAvailable,
)
from softmax_lib.engine.geometry import Call
from softmax_lib.engine.spec import LaunchSpec, watchdog_s
from softmax_lib.engine.written.launching import Instruments
from softmax_lib.engine.written.memory import EmulatedArray
from softmax_lib.engine.written.session import Session, open_session
from softmax_lib.engine.written.structs import Fault, FaultKind

_RECHECK_S = 1.0
"""Seconds for which a launch that hung is looked at again: whether it waits is soon seen, and it has hung long enough."""

_MOST_CHECKED = 1 << 22
"""Bytes of all arrays, and sixteen times the threads, up to which each access of a launch is checked."""

_MOST_RECHECKED = 1 << 26
"""Bytes of all arrays up to which a whole launch is repeated to find who wrote next to one."""


def launch(*specs: LaunchSpec, check_all: bool = False) -> None:
    """Launch each of `specs`, which are of one program, on the CPU: on the same arrays, one after the other.

    With `check_all` every access is checked if arrays and threads are few: else a read of the few bytes between an
    array and its guard zone, or between two shared arrays, is not seen. Arrays are written in place, once all has ended. Raises `WrongType`, `BadInput`, `UnknownKernel`, `CompileError`,
    `NotAvailable`, and `KernelFault` for what a thread does wrong; arrays are then untouched.
    """
    is_small = all(
        sum(host_bytes(array).nbytes for array in spec.arrays) <= _MOST_CHECKED
        and prod(spec.grid) * prod(spec.block) <= _MOST_CHECKED >> 4
        for spec in specs
    )
    is_traced = check_all and is_small and sys.platform == "linux"
    with open_session(specs, traced=is_traced) as session:
        _complete(session, session.instruments() if is_traced else None)
        session.give_back(specs)


def _complete(session: Session, instruments: Instruments | None) -> None:
    """Launch every call, and raise what goes wrong."""
    constants = _constants(session)
    for call, outcome in session.run(instruments):
        if outcome.fault is not None:
            known = session.exception(call, outcome.fault) if instruments else None
            raise known or _explain(session, call, outcome.fault)
        if _constants(session) != constants:
            what = "a thread wrote a constant, which no kernel can write"
            raise _recheck(session, call) or KernelFault("fault", "", 0, None, None, what)
        for array in session.arrays.values():
            element = array.damage()
            if element is not None:
                raise _explain_damage(session, call, array, element)


def _constants(session: Session) -> list[bytes]:
    """What the `__constant__` variables hold."""
    if "__constant__" not in session.library.program.source.code:
        return []
    constants = (one for one in session.in_library() if not one.is_writable)
    return [session.device.read(one.address, one.bytes) for one in constants]


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
