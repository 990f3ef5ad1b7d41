"""What stopped a launch, as an exception that knows kind, place, block and thread, and says so in a sentence."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from softmax_lib.emulator import symbols
from softmax_lib.emulator.memory import FLOAT_BYTES, EmulatedArray
from softmax_lib.emulator.native import Access, Fault, FaultKind
from softmax_lib.errors import (
    BadInput,
    BarrierFault,
    Deadlock,
    Hang,
    IllegalAddress,
    KernelFault,
    SoftmaxLibError,
)


def exception_for(
    fault: Fault, path: Path, arrays: Mapping[str, EmulatedArray], limit_s: float
) -> SoftmaxLibError:
    """The exception to raise for `fault` of a launch of the library at `path`."""
    text, who = fault.text.decode(), _who(fault)
    where = _where(fault, path)
    match fault.kind:
        case FaultKind.BARRIER:
            return BarrierFault(f"{text}.", "barrier", **where)
        case FaultKind.DEADLOCK:
            return Deadlock(f"{text}.", "deadlock", **where)
        case FaultKind.HANG:
            others = f"; {text}" if text else ""
            what = f"hang: no thread finished for {limit_s:g} s: {who} runs{{at}}{others}."
            return Hang(what, "hang", **where)
        case FaultKind.ADDRESS:
            kind = "misaligned" if fault.is_misaligned else "out of bounds"
            return IllegalAddress(f"{_access(fault, path, arrays)}{{at}}.", kind, **where)
        case FaultKind.RECORD_LIMIT:
            return BadInput("This launch has too many events to keep; take a smaller x.")
    # what the runtime says of a line follows the thread, what a signal interrupted is said of it
    what = f"{who}: {text}{{at}}." if fault.line else f"{who}{{at}}: {text}."
    return KernelFault(what, "fault", **where)


def _who(fault: Fault) -> str:
    return f"thread {fault.thread} of block ({fault.block},0,0)"


def _where(fault: Fault, path: Path) -> dict[str, Any]:
    """File and line, as the runtime says or as the library's tables have them; block and thread."""
    file, line = fault.file.decode(), int(fault.line)
    if not line and fault.pc:
        file, line = symbols.place(path, fault.pc, bool(fault.pc_is_exact))
    return {"file": file, "line": line, "block": (fault.block, 0, 0), "thread": fault.thread}


def _access(fault: Fault, path: Path, arrays: Mapping[str, EmulatedArray]) -> str:
    """Such as "illegal address: thread 3 of block (0,0,0) loads 4 bytes at x[64], past the end ..."."""
    if fault.is_misaligned and not fault.address:
        return f"misaligned address: {_who(fault)} goes through a misaligned pointer"
    verb = {Access.LOAD: "loads", Access.STORE: "stores"}.get(fault.access, "loads or stores")
    size = f" {fault.size} bytes" if fault.size else ""
    element = _shared_place(fault, path) if fault.in_shared else _global_place(fault, arrays)
    lead = "misaligned address" if fault.is_misaligned else "illegal address"
    return f"{lead}: {_who(fault)} {verb}{size} {element}"


def _global_place(fault: Fault, arrays: Mapping[str, EmulatedArray]) -> str:
    if not fault.address:
        return "through a null pointer"
    for name, array in arrays.items():
        offset = fault.address - array.address
        if -array.guard_bytes <= offset < array.bytes + array.guard_bytes:
            return f"at {_element(name, offset, array.bytes)}"
    return f"at 0x{fault.address:x}, far from every array"


def _shared_place(fault: Fault, path: Path) -> str:
    address = ctypes.c_int64(fault.address).value  # counts from the start of shared memory
    nearest = symbols.nearest_variable(path, address)
    if nearest is None:
        return f"at byte {address} of shared memory"
    return f"at {_element(nearest.name, address - nearest.offset, nearest.bytes)}"


def _element(name: str, offset: int, length: int) -> str:
    index, rest = divmod(offset, FLOAT_BYTES)
    inside = f" + {rest} bytes" if rest else ""
    if 0 <= offset < length:
        return f"{name}[{index}]{inside}"
    side = "before the start" if offset < 0 else "past the end"
    return f"{name}[{index}]{inside}, {side} of its {length // FLOAT_BYTES} elements"
