"""Opcodes that load, store, copy and change memory, those that read constants, and barriers in shared memory (mbarrier)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from softmax_lib.engine.compiled.draft import Draft, opcodes

GLOBAL, SHARED, LOCAL = range(3)
GENERIC, WIDE, SIGNED, _NARROW_REGISTER, _FILLS, BYPASSES, TOLD, STRONG = (
    1 << n for n in range(2, 10)
)
"""Of a variant, what an address is and what is done with it (cpp/memory.cpp)."""

_UNCOUNTED = (
    "E", "CONSTANT", "SYS", "GPU", "SM", "CTA", "STRONG", "WEAK", "MMIO", "U", "LU", "EF", "EL", "EN", "NA", "CV", "CI",
    "LTC64B", "LTC128B", "LTC256B", "BYPASS", "ACCESS", "PRIVATE", "RN", "FTZ", "RELAXED",
)  # fmt: skip
"""Caches and order: of an access they change no number of requests or sectors."""

_ADDRESS = re.compile(r"(?:desc\[U?R\d+\])?\[([^\[\]]*)\]$")
_INDEXED = re.compile(r"c\[0x([0-9a-f]+)\]\[(?:(U?R(?:\d+|Z))\+?)?(-?0x[0-9a-f]+)?\]$")
_BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


@dataclass
class Address:
    """Terms of an address: registers, by their names, and what is added."""

    register: str = "RZ"
    uniform: str = "URZ"
    offset: int = 0
    shift: int = 0
    is_pair: bool = False


def read_address(draft: Draft, text: str) -> Address:
    """What stands in brackets."""
    match = _ADDRESS.match(text)
    if match is None:
        raise draft.refuse()
    found = Address()
    for term in match[1].split("+"):
        name, _, suffix = term.partition(".")
        if name.lstrip("-").startswith("0x"):
            found.offset = int(name, 16)
        elif name.startswith("UR"):
            found.uniform = name
        elif name.startswith("R"):
            found.register = name
            found.is_pair = suffix == "64"
            found.shift = {"X4": 2, "X8": 3, "X16": 4}.get(suffix, 0)
        else:
            raise draft.refuse()
        if suffix not in ("", "64", "32", "U32", "X4", "X8", "X16"):
            raise draft.refuse()
    return found


def _settle_address(draft: Draft, number: int, space: int) -> None:
    """Rows a and b, and the offset, from an operand in brackets."""
    found, is_wide = read_address(draft, draft.args[number]), space in (GLOBAL, GENERIC)
    draft.rows_of["a"] = draft.register(found.register)
    draft.rows_of["b"] = draft.register(found.uniform)
    draft.offset, draft.flip[1] = found.offset, found.shift
    draft.variant |= space | WIDE * is_wide
    says_narrow = ".U32" in draft.args[number]
    if is_wide and not found.is_pair and (found.uniform != "URZ" or says_narrow):
        draft.variant |= _NARROW_REGISTER
    draft.is_site = True


def settle_width(draft: Draft) -> None:
    """Bytes of an access."""
    draft.bytes = draft.choose(_BYTES, 4)
    draft.variant |= SIGNED * any(one in draft.statement.modifiers for one in ("S8", "S16"))


@opcodes({"LDG": (GLOBAL,), "LDS": (SHARED,), "LDL": (LOCAL,), "LD": (GENERIC,)})
def load(draft: Draft, space: int) -> None:
    draft.operation, draft.variant = "load", STRONG * draft.has("STRONG")
    draft.ignore(*_UNCOUNTED)
    settle_width(draft)
    number = 1 if draft.is_predicate(0) else 0  # of a page that is not there
    draft.to(number)
    _settle_address(draft, number + 1, space)


@opcodes({"STG": (GLOBAL,), "STS": (SHARED,), "STL": (LOCAL,), "ST": (GENERIC,)})
def store(draft: Draft, space: int) -> None:
    draft.operation, draft.variant = "store", STRONG * draft.has("STRONG")
    draft.ignore(*_UNCOUNTED)
    settle_width(draft)
    _settle_address(draft, 0, space)
    draft.rows_of["d"] = draft.register(draft.args[1])


@opcodes("LDGSTS")
def copy_to_shared(draft: Draft) -> None:
    draft.operation = "copy to shared"
    draft.variant = draft.flags({"ZFILL": _FILLS, "BYPASS": BYPASSES})
    draft.ignore(*_UNCOUNTED)
    settle_width(draft)
    _settle_address(draft, 1, GLOBAL)
    to = read_address(draft, draft.args[0])
    if to.shift:
        raise draft.refuse()
    draft.rows_of["d"] = draft.register(to.register)
    draft.rows_of["c"] = draft.register(to.uniform)
    draft.flip[2] = to.offset & 0xFFFFFFFF
    if len(draft.args) > 2:
        draft.reads("s", 2)


CHANGES = {
    "ADD": 0, "MIN": 1, "MAX": 2, "INC": 3, "DEC": 4, "AND": 5, "OR": 6, "XOR": 7, "EXCH": 8, "CAS": 9,
    "CAST": 11, "POPC": 10,
}  # fmt: skip
NUMBERS = {"S32": 1, "S64": 1, "F32": 2, "F64": 2, "F16x2": 3, "BF16x2": 4, "U64": 0}


@opcodes({"ATOMG RED REDG": (GLOBAL,), "ATOMS": (SHARED,), "ATOM": (GENERIC,)})
def change(draft: Draft, space: int) -> None:
    draft.operation = "change memory"
    wide = {"64", "U64", "S64", "F64"}.intersection(draft.statement.modifiers)
    draft.bytes = 8 if wide else 4
    counts = draft.has("POPC")
    how = CHANGES["POPC"] if counts else draft.choose(CHANGES)
    if counts:
        draft.ignore("INC", "32")
    number = draft.choose(NUMBERS, 0)
    draft.ignore(*_UNCOUNTED, "SPIN", "64", *NUMBERS)
    draft.variant |= (how | number << 4) << 8
    at = next(n for n, text in enumerate(draft.args) if "[" in text)
    for before in range(at):
        if draft.is_predicate(before):
            draft.writes("p", before)
        else:
            draft.to(before)
    _settle_address(draft, at, space)
    draft.flip[0] = draft.rows.zero
    if not counts:
        draft.rows_of["c"] = draft.register(draft.args[at + 1])
    if at + 2 < len(draft.args) and not draft.is_predicate(at + 2):
        draft.flip[0] = draft.register(draft.args[at + 2])


@opcodes("LDC ULDC")
def load_constant(draft: Draft) -> None:
    draft.ignore("IL")
    settle_width(draft)
    draft.to(0)
    match = _INDEXED.match(draft.args[1])
    if draft.bytes in (4, 8) and not (match and match[2] not in (None, "RZ")):
        words = draft.bytes // 4
        draft.whole("a", 1, words)
        draft.operation = "whole move pair" if words == 2 else "whole move"
        draft.bytes = draft.variant = 0
        return
    if match is None:
        raise draft.refuse()
    draft.operation = "load constant"
    draft.rows_of["a"] = draft.register(match[2]) if match[2] else draft.rows.zero
    draft.offset = int(match[3] or "0", 16)
    draft.variant |= int(match[1], 16) << 8


# ---- by which blocks of a cluster meet

TRIES, LOWEST = 1, 2
"""Of a wait for a phase: whether it waits, and that the parity is the lowest bit (cpp/barriers.cpp)."""

ARRIVALS = {"": 1 | 4, "A1T0": 1, "ART0": 2, "A0TR": 4}
"""Of an arrival: bit 0 is one, 1 as many as are told; 2: so many bytes are to come (cpp/barriers.cpp)."""


@opcodes("SYNCS")
def syncs(draft: Draft) -> None:
    draft.ignore("64", "TRANS64")
    if draft.has("CCTL"):
        draft.ignore("IV")
        draft.operation = "nothing"
    elif draft.has("PHASECHK"):
        draft.operation, draft.variant = "await phase", draft.flags({"TRYWAIT": TRIES})
        draft.writes("p", 0)
        _settle_barrier(draft, "c")
        draft.whole("b", 2)
    else:
        is_set = draft.has("EXCH")
        draft.operation = "set mbarrier" if is_set else "arrive at mbarrier"
        if not is_set and not draft.has("ARRIVE"):
            raise draft.refuse()
        draft.ignore("RED")
        draft.variant = 0 if is_set else draft.choose(ARRIVALS, ARRIVALS[""])
        draft.to(0)
        _settle_barrier(draft, "b")
        draft.rows_of["c"] = draft.register(draft.args[2])


@opcodes("STAS")
def stas(draft: Draft) -> None:
    draft.operation = "store and tell"
    settle_width(draft)
    to = read_address(draft, draft.args[0])
    if not to.is_pair or to.uniform != "URZ":
        raise draft.refuse()
    draft.rows_of["a"] = draft.register(to.register)
    draft.rows_of["b"] = draft.rows_of["a"] + 1
    draft.rows_of["d"] = draft.register(draft.args[1])
    draft.offset = to.offset
    draft.is_site = True


def _settle_barrier(draft: Draft, slot: str) -> None:
    """Row a, a uniform one as `slot`, and the offset, of the mbarrier that operand 1 leads to."""
    found = read_address(draft, draft.args[1])
    if found.is_pair or found.shift:
        raise draft.refuse()
    draft.rows_of["a"] = draft.register(found.register)
    draft.rows_of[slot] = draft.register(found.uniform)
    draft.offset = found.offset
