"""Opcodes by which blocks of a cluster meet, and those of barriers in shared memory (mbarrier)."""

from __future__ import annotations

from softmax_lib.engine.compiled.draft import Draft, opcodes
from softmax_lib.engine.compiled.opcodes.memory import read_address, settle_width

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
        _settle_address(draft, "c")
        draft.whole("b", 2)
    else:
        is_set = draft.has("EXCH")
        draft.operation = "set mbarrier" if is_set else "arrive at mbarrier"
        if not is_set and not draft.has("ARRIVE"):
            raise draft.refuse()
        draft.ignore("RED")
        draft.variant = 0 if is_set else draft.choose(ARRIVALS, ARRIVALS[""])
        draft.to(0)
        _settle_address(draft, "b")
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


def _settle_address(draft: Draft, slot: str) -> None:
    """Row a, a uniform one as `slot`, and the offset, of the mbarrier that operand 1 leads to."""
    found = read_address(draft, draft.args[1])
    if found.is_pair or found.shift:
        raise draft.refuse()
    draft.rows_of["a"] = draft.register(found.register)
    draft.rows_of[slot] = draft.register(found.uniform)
    draft.offset = found.offset
