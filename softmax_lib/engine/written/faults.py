"""What stopped a launch, as an exception that knows kind, place, block and thread, and says so in a sentence."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from pathlib import Path

from softmax_lib.engine import errors
from softmax_lib.engine.geometry import Geometry
from softmax_lib.engine.source import Source, blank_comments
from softmax_lib.engine.written import symbols
from softmax_lib.engine.written.assembly import GAP_BYTES, own_arrays
from softmax_lib.engine.written.memory import GUARD_BYTES
from softmax_lib.engine.written.stretches import Stretch
from softmax_lib.engine.written.structs import Access, Fault, FaultKind


def exception_for(
    fault: Fault,
    path: Path,
    geometry: Geometry,
    arrays: Sequence[Stretch],
    variables: Sequence[Stretch],
    limit_s: float,
    source: Source,
) -> errors.EngineError:
    """The exception to raise for `fault` of a launch, with this geometry, of the library at `path`.

    An address in the guard zones of one of the `arrays` is still taken for one of it.
    """
    near = _near(fault, arrays, GUARD_BYTES) or _near(fault, variables, GAP_BYTES)
    text, who = fault.text.decode(), geometry.who(fault.block, fault.thread)
    file, line = _place(fault, path)
    block, thread = geometry.block_axes(fault.block), fault.thread
    match fault.kind:
        case FaultKind.BARRIER:
            return errors.BarrierFault("barrier", file, line, block, None, text)
        case FaultKind.DEADLOCK:
            return errors.Deadlock("deadlock", file, line, block, None, text)
        case FaultKind.WAITING:
            place = _touched(fault, path, near).removeprefix("at ")
            what = f"{who} waits for {place}" if fault.address else f"{who} waits"
            more = f"{_why_in_vain(geometry)} ({text})"
            return errors.Waiting("waiting", file, line, block, thread, what, more)
        case FaultKind.HANG:
            what = f"hang: no thread finished for {limit_s:g} s: {who} runs"
            return errors.Hang("hang", file, line, block, thread, what, f"; {text}" if text else "")
        case FaultKind.ADDRESS:
            kind = "misaligned" if fault.is_misaligned else "out of bounds"
            what = _access(fault, who, path, near)
            if fault.is_local:
                what = f"illegal address: {who} {_verb(fault)} outside of {_local_array(source, file, line)}"
            if near and fault.access == Access.STORE and _is_constant(near, fault.address):
                what = f"{who} writes {near.at(fault.address)}"
                more = ", a constant, which no kernel can write"
                return errors.KernelFault("fault", file, line, block, thread, what, more)
            return errors.IllegalAddress(kind, file, line, block, thread, what)
        case FaultKind.RECORD_LIMIT:
            return errors.BadInput(
                "This launch has more events than can be followed; take a smaller x."
            )
    # what the runtime says of a line follows the thread, what a signal interrupted is said of it
    what, more = (f"{who}: {text}", "") if fault.line else (who, f": {text}")
    return errors.KernelFault("fault", file, line, block, thread, what, more)


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
    # else a call from there would return to it
    return symbols.read(path).place(fault.pc if fault.pc_is_exact else fault.pc - 1)


def _access(fault: Fault, who: str, path: Path, near: Stretch | None) -> str:
    """Such as "illegal address: thread 3 of block (0,0,0) loads 4 bytes at x[64], past the end ..."."""
    if fault.is_misaligned and not fault.address:
        return f"misaligned address: {who} goes through a misaligned pointer"
    size = f" {fault.size} bytes" if fault.size else ""
    lead = "misaligned address" if fault.is_misaligned else "illegal address"
    return f"{lead}: {who} {_verb(fault)}{size} {_touched(fault, path, near)}"


def _verb(fault: Fault) -> str:
    return {Access.LOAD: "loads", Access.STORE: "stores"}.get(fault.access, "loads or stores")


def _local_array(source: Source, file: str, line: int) -> str:
    """What the array is called that has an index in this line, if there is but one."""
    texts = {source.file_name: source.device_text, **source.device_headers}
    text = blank_comments(texts.get(file, ""))
    words = "".join(text.splitlines()[line - 1 : line])
    found = own_arrays(text) & set(re.findall(r"(\w+)\s*\[", words))
    return found.pop() if len(found) == 1 else "an array"


def _touched(fault: Fault, path: Path, near: Stretch | None) -> str:
    if fault.in_shared:
        return _shared_place(fault, path)
    if not fault.address:
        return "through a null pointer"
    if near is None:
        return f"at 0x{fault.address:x}, far from every array"
    return f"at {near.at(fault.address)}"


def _near(fault: Fault, stretches: Sequence[Stretch], guard_bytes: int) -> Stretch | None:
    """The first of them that the fault's address is in, or less than so many bytes away from."""
    for reach in (0, guard_bytes):
        for one in stretches:
            if -reach <= fault.address - one.address < one.bytes + reach:
                return one
    return None


def _is_constant(near: Stretch, address: int) -> bool:
    return not near.is_writable and 0 <= address - near.address < near.bytes


def _shared_place(fault: Fault, path: Path) -> str:
    address = ctypes.c_int64(fault.address).value  # counts from the start of shared memory
    variables = sorted(symbols.read(path).shared, key=lambda v: v.address)
    before = [variable for variable in variables if variable.address <= address]
    if not variables:
        return f"at byte {address} of shared memory"
    return f"at {(before or variables[:1])[-1].at(address)}"
