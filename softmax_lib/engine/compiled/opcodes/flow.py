"""Opcodes that change where a warp goes on, and those that only keep an order."""

from __future__ import annotations

import re

from softmax_lib.engine.compiled.draft import ALL, NO_BITS, Draft, make, opcodes
from softmax_lib.engine.compiled.opcodes.exchanges import barrier

_INDEXED = re.compile(r"(U?R\d+)\s+(-?0x[0-9a-f]+)$")
_RETURN = re.compile(r"(R\d+)\s+`\(.*\)$")


@opcodes({
    "NOP ERRBAR CGAERRBAR CCTL DEPBAR LDGDEPBAR PREEXIT ACQBULK FENCE CCTLL": ("nothing",),
    "BPT": ("trap",),
})  # fmt: skip
def do_with_any_modifier(draft: Draft, operation: str) -> None:
    draft.operation = operation
    draft.ignore(*draft.statement.modifiers)


@opcodes("MEMBAR")
def membar(draft: Draft) -> None:
    draft.variant = int(draft.has("CTA"))
    do_with_any_modifier(draft, "fence")


opcodes({
    "NANOSLEEP": ("sleep",),
    "YIELD": ("sleep", "", NO_BITS, 1),  # no more than a hint
    "LEPC": ("nothing",),  # what it is for, a call of what is not here, is refused
    "ENDCOLLECTIVE": ("end collect",),
    "UCGABAR_ARV": ("arrive cluster",),
    "UCGABAR_WAIT": ("await cluster",),
})(make)  # fmt: skip


@opcodes("BRA")
def bra(draft: Draft) -> None:
    draft.ignore("U", "INC", "DEC")
    diverged, converged = draft.has("DIV"), draft.has("CONV")
    draft.operation = "branch"
    if diverged or converged:
        draft.operation = "branch if diverged" if diverged else "branch if converged"
        _lanes(draft, 0)
    elif len(draft.args) > 1:
        draft.reads("s", 0)
    draft.target = draft.place(len(draft.args) - 1)


def _lanes(draft: Draft, number: int) -> None:
    """The lanes that an operand names, or all where there is none."""
    if number < len(draft.args) and not draft.args[number].startswith("`"):
        draft.whole("a", number)
    else:
        draft.flip[0] = ALL


@opcodes("BRX BRXU")
def brx(draft: Draft) -> None:
    match = _INDEXED.match(draft.args[-1])
    if match is None:
        raise draft.refuse()
    draft.operation = "branch indexed"
    draft.rows_of["a"] = draft.register(match[1])
    draft.offset = draft.statement.address + 16 + int(match[2], 16)


@opcodes("CALL")
def call(draft: Draft) -> None:
    is_relative = draft.has("REL")
    draft.ignore("NOINC", "ABS")
    draft.operation = "call"
    by_register = _RETURN.match(draft.args[0])
    if is_relative and draft.args[0].startswith("`"):
        draft.target = draft.place(0)
    elif is_relative and by_register:
        draft.operation, draft.rows_of["a"] = "return", draft.register(by_register[1])
    else:
        draft.operation = "no code here"


@opcodes("RET")
def ret(draft: Draft) -> None:
    is_relative = draft.has("REL")
    draft.ignore("NODEC")
    match = _RETURN.match(draft.args[0])
    if match is None or not is_relative:
        raise draft.refuse()
    draft.operation = "return"
    draft.rows_of["a"] = draft.register(match[1])


@opcodes("EXIT KILL")
def exit_(draft: Draft) -> None:
    draft.operation = "exit"
    if draft.args:
        draft.reads("s", 0)


@opcodes("BSSY")
def bssy(draft: Draft) -> None:
    draft.operation, draft.variant = "set barrier", barrier(draft, 0)


@opcodes({"BSYNC": ("join barrier",), "BREAK": ("leave barrier",)})
def bsync(draft: Draft, operation: str) -> None:
    draft.operation = operation
    draft.variant = barrier(draft, len(draft.args) - 1)
    if len(draft.args) > 1:
        draft.reads("s", 0)


@opcodes("WARPSYNC")
def warpsync(draft: Draft) -> None:
    is_all, collects = draft.has("ALL"), draft.has("COLLECTIVE")
    draft.variant = APART * (draft.has("EXCLUSIVE") or collects)
    draft.operation = "collect" if collects else "warp sync"
    if is_all:
        draft.flip[0] = ALL
    else:
        _lanes(draft, 0)
    if collects:
        draft.target = draft.place(len(draft.args) - 1)


APART = 1
"""That lanes which name others do what follows without them."""

VOTES = {"POPC": 2, "AND": 3, "OR": 4}
"""What a barrier of a block tells of what its threads bring (cpp/barriers.cpp)."""


@opcodes("BAR")
def bar(draft: Draft) -> None:
    draft.ignore("DEFER_BLOCKING", "ALL", "SYNC")
    draft.operation = "block barrier"
    votes, arrives = draft.has("RED"), draft.has("ARV")
    draft.variant = draft.choose(VOTES) if votes else int(arrives)
    numbers = [n for n in range(len(draft.args)) if not draft.is_predicate(n)]
    for slot, number in zip("ab", numbers, strict=False):
        draft.whole(slot, number)
    if votes:
        draft.reads("s", len(draft.args) - 1)
