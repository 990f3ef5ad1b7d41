"""What stopped a launch, as an exception with a sentence that names block, threads and file:line."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path

from softmax_lib.emulator import native, symbols
from softmax_lib.emulator.memory import FLOAT_BYTES, EmulatedArray
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
    fault: native.Fault, path: Path, arrays: Mapping[str, EmulatedArray], limit_s: float
) -> SoftmaxLibError:
    """The exception to raise for `fault` of a launch of the library at `path`."""
    text = fault.text.decode()
    if fault.kind == native.FAULT_BARRIER:
        return BarrierFault(f"{text}.")
    if fault.kind == native.FAULT_DEADLOCK:
        return Deadlock(f"{text}.")
    if fault.kind == native.FAULT_HANG:
        return Hang(_hang(fault, text, path, limit_s))
    if fault.kind == native.FAULT_ADDRESS:
        return IllegalAddress(_illegal_address(fault, text, path, arrays))
    if fault.kind == native.FAULT_RECORD_LIMIT:
        return BadInput("This launch has too many events to keep; take a smaller x.")
    return KernelFault(f"{_who(fault)}{_at(fault, path)}: {text}.")


def _who(fault: native.Fault) -> str:
    return f"thread {fault.thread} of block ({fault.block},0,0)"


def _at(fault: native.Fault, path: Path) -> str:
    place = symbols.place(path, fault.pc, bool(fault.pc_is_exact)) if fault.pc else None
    return f" at {place}" if place else ""


def _hang(fault: native.Fault, text: str, path: Path, limit_s: float) -> str:
    others = f"; {text}" if text else ""
    return (
        f"hang: no thread finished for {limit_s:g} s: {_who(fault)} runs{_at(fault, path)}{others}."
    )


def _illegal_address(
    fault: native.Fault, text: str, path: Path, arrays: Mapping[str, EmulatedArray]
) -> str:
    verb = {native.ACCESS_LOAD: "loads", native.ACCESS_STORE: "stores"}.get(
        fault.access, "loads or stores"
    )
    if text == "misaligned" and not fault.address:
        return f"misaligned address: {_who(fault)} goes through a misaligned pointer{_at(fault, path)}."
    size = f" {fault.size} bytes" if fault.size else ""
    where = _shared_place(fault, path) if fault.in_shared else _global_place(fault, arrays)
    kind = "misaligned address" if text == "misaligned" else "illegal address"
    return f"{kind}: {_who(fault)} {verb}{size} {where}{_at(fault, path)}."


def _global_place(fault: native.Fault, arrays: Mapping[str, EmulatedArray]) -> str:
    if not fault.address:
        return "through a null pointer"
    for name, array in arrays.items():
        offset = fault.address - array.address
        if -array.guard_bytes <= offset < array.bytes + array.guard_bytes:
            return f"at {_element(name, offset, array.bytes)}"
    return f"at 0x{fault.address:x}, far from every array"


def _shared_place(fault: native.Fault, path: Path) -> str:
    address = ctypes.c_int64(fault.address).value  # counts from the start of shared memory
    nearest = symbols.nearest_variable(path, address)
    if nearest is None:
        return f"at byte {address} of shared memory"
    return f"at {_element(nearest.name, address - nearest.offset, nearest.bytes)}"


def _element(name: str, offset: int, length: int) -> str:
    index, rest = divmod(offset, FLOAT_BYTES)
    inside = f" + {rest} bytes" if rest else ""
    side = (
        ""
        if 0 <= offset < length
        else f", {'before the start' if offset < 0 else 'past the end'} of its"
    )
    return (
        f"{name}[{index}]{inside}{side} {length // FLOAT_BYTES} elements"
        if side
        else f"{name}[{index}]{inside}"
    )
