"""Opcodes that change where a warp goes on, and those that only keep an order."""

from __future__ import annotations

import re

from softmax_lib.engine.compiled.draft import ALL, Draft, opcode
from softmax_lib.engine.compiled.opcodes.exchanges import barrier

_INDEXED = re.compile(r"(U?R\d+)\s+(-?0x[0-9a-f]+)$")
_RETURN = re.compile(r"(R\d+)\s+`\(.*\)$")


@opcode(
    "NOP", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "DEPBAR", "LDGDEPBAR", "PREEXIT", "ACQBULK",
    "FENCE", "CCTLL",
)  # fmt: skip
def _(draft: Draft) -> None:
    draft.operation = "nothing"
    draft.ignore(*draft.statement.modifiers)


@opcode("NANOSLEEP", "YIELD")
def _(draft: Draft) -> None:
    draft.operation = "sleep"
    draft.variant = int(draft.statement.opcode == "YIELD")  # no more than a hint


@opcode("BRA")
def _(draft: Draft) -> None:
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


@opcode("BRX", "BRXU")
def _(draft: Draft) -> None:
    match = _INDEXED.match(draft.args[-1])
    if match is None:
        raise draft.refuse()
    draft.operation = "branch indexed"
    draft.rows_of["a"] = draft.register(match[1])
    draft.offset = draft.statement.address + 16 + int(match[2], 16)


@opcode("CALL")
def _(draft: Draft) -> None:
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


@opcode("LEPC")
def _(draft: Draft) -> None:
    draft.operation = "nothing"  # what it is for, a call of what is not here, is refused


@opcode("RET")
def _(draft: Draft) -> None:
    is_relative = draft.has("REL")
    draft.ignore("NODEC")
    match = _RETURN.match(draft.args[0])
    if match is None or not is_relative:
        raise draft.refuse()
    draft.operation = "return"
    draft.rows_of["a"] = draft.register(match[1])


@opcode("EXIT", "KILL")
def _(draft: Draft) -> None:
    draft.operation = "exit"
    if draft.args:
        draft.reads("s", 0)


@opcode("BSSY")
def _(draft: Draft) -> None:
    draft.operation, draft.variant = "set barrier", barrier(draft, 0)


_OF_BARRIER = {"BSYNC": "join barrier", "BREAK": "leave barrier"}


@opcode(*_OF_BARRIER)
def _(draft: Draft) -> None:
    draft.operation = _OF_BARRIER[draft.statement.opcode]
    draft.variant = barrier(draft, len(draft.args) - 1)
    if len(draft.args) > 1:
        draft.reads("s", 0)


@opcode("WARPSYNC")
def _(draft: Draft) -> None:
    is_all, collects = draft.has("ALL"), draft.has("COLLECTIVE")
    draft.ignore("EXCLUSIVE")
    draft.operation = "collect" if collects else "warp sync"
    if is_all:
        draft.flip[0] = ALL
    else:
        _lanes(draft, 0)
    if collects:
        draft.target = draft.place(len(draft.args) - 1)


@opcode("ENDCOLLECTIVE")
def _(draft: Draft) -> None:
    draft.operation = "end collect"


VOTES = {"POPC": 2, "AND": 3, "OR": 4}
"""What a barrier of a block tells of what its threads bring (cpp/run.cpp)."""


@opcode("BAR")
def _(draft: Draft) -> None:
    draft.ignore("DEFER_BLOCKING", "ALL")
    draft.operation = "block barrier"
    votes, arrives = draft.has("RED"), draft.has("ARV")
    draft.ignore("SYNC")
    draft.variant = draft.choose(VOTES) if votes else int(arrives)
    numbers = [n for n in range(len(draft.args)) if not draft.is_predicate(n)]
    for slot, number in zip("ab", numbers, strict=False):
        draft.whole(slot, number)
    if votes:
        draft.reads("s", len(draft.args) - 1)


@opcode("BPT")
def _(draft: Draft) -> None:
    draft.ignore(*draft.statement.modifiers)
    draft.operation = "trap"
