"""What stopped a launch, as an exception that knows kind, place, block and thread, and says so in a sentence."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from softmax_lib.engine.errors import (
    BadInput,
    BarrierFault,
    Deadlock,
    EngineError,
    Hang,
    IllegalAddress,
    KernelFault,
    Waiting,
)
from softmax_lib.engine.geometry import Geometry
from softmax_lib.engine.written import symbols
from softmax_lib.engine.written.structs import Access, Fault, FaultKind


class Stretch(NamedTuple):
    """An array, as far as a sentence needs it; an address `guard_bytes` away is still taken for one of it."""

    address: int
    bytes: int
    element_bytes: int
    guard_bytes: int = 0


def exception_for(
    fault: Fault,
    path: Path,
    geometry: Geometry,
    arrays: Mapping[str, Stretch],
    limit_s: float,
) -> EngineError:
    """The exception to raise for `fault` of a launch, with this geometry, of the library at `path`."""
    text, who = fault.text.decode(), geometry.who(fault.block, fault.thread)
    file, line = _place(fault, path)
    block, thread = geometry.block_axes(fault.block), fault.thread
    match fault.kind:
        case FaultKind.BARRIER:
            return BarrierFault("barrier", file, line, block, None, text)
        case FaultKind.DEADLOCK:
            return Deadlock("deadlock", file, line, block, None, text)
        case FaultKind.WAITING:
            place = _touched(fault, path, arrays).removeprefix("at ")
            what = f"{who} waits for {place}" if fault.address else f"{who} waits"
            more = f"{_why_in_vain(geometry)} ({text})"
            return Waiting("waiting", file, line, block, thread, what, more)
        case FaultKind.HANG:
            what = f"hang: no thread finished for {limit_s:g} s: {who} runs"
            return Hang("hang", file, line, block, thread, what, f"; {text}" if text else "")
        case FaultKind.ADDRESS:
            kind = "misaligned" if fault.is_misaligned else "out of bounds"
            what = _access(fault, who, path, arrays)
            return IllegalAddress(kind, file, line, block, thread, what)
        case FaultKind.RECORD_LIMIT:
            return BadInput("This launch has more events than can be followed; take a smaller x.")
    # what the runtime says of a line follows the thread, what a signal interrupted is said of it
    what, more = (f"{who}: {text}", "") if fault.line else (who, f": {text}")
    return KernelFault("fault", file, line, block, thread, what, more)


def _why_in_vain(geometry: Geometry) -> str:
    if geometry.cooperative:
        return ", which no thread that can still run writes"
    return (
        ", which no thread of its own or an earlier block can write any more; later blocks need not "
        "run beside it unless the launch is cooperative"
    )


def _place(fault: Fault, path: Path) -> tuple[str, int]:
    """File and line, as the runtime says or as the library's tables have them."""
    if fault.line or not fault.pc:
        return fault.file.decode(), int(fault.line)
    return symbols.place(path, fault.pc, bool(fault.pc_is_exact))


def _access(fault: Fault, who: str, path: Path, arrays: Mapping[str, Stretch]) -> str:
    """Such as "illegal address: thread 3 of block (0,0,0) loads 4 bytes at x[64], past the end ..."."""
    if fault.is_misaligned and not fault.address:
        return f"misaligned address: {who} goes through a misaligned pointer"
    verb = {Access.LOAD: "loads", Access.STORE: "stores"}.get(fault.access, "loads or stores")
    size = f" {fault.size} bytes" if fault.size else ""
    element = _touched(fault, path, arrays)
    lead = "misaligned address" if fault.is_misaligned else "illegal address"
    return f"{lead}: {who} {verb}{size} {element}"


def _touched(fault: Fault, path: Path, arrays: Mapping[str, Stretch]) -> str:
    if fault.in_shared:
        return _shared_place(fault, path)
    if not fault.address:
        return "through a null pointer"
    for name, array in arrays.items():
        offset = fault.address - array.address
        if -array.guard_bytes <= offset < array.bytes + array.guard_bytes:
            return f"at {_element(name, offset, array.bytes, array.element_bytes)}"
    return f"at 0x{fault.address:x}, far from every array"


def _shared_place(fault: Fault, path: Path) -> str:
    address = ctypes.c_int64(fault.address).value  # counts from the start of shared memory
    nearest = symbols.nearest_variable(path, address)
    if nearest is None:
        return f"at byte {address} of shared memory"
    offset = address - nearest.offset
    return f"at {_element(nearest.name, offset, nearest.bytes, nearest.element_bytes)}"


def _element(name: str, offset: int, length: int, element_bytes: int) -> str:
    index, rest = divmod(offset, element_bytes)
    inside = f" + {rest} bytes" if rest else ""
    if 0 <= offset < length:
        return f"{name}[{index}]{inside}"
    side = "before the start" if offset < 0 else "past the end"
    return f"{name}[{index}]{inside}, {side} of its {length // element_bytes} elements"
