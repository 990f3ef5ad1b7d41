"""Opcodes of whole numbers, of logic and of moves, and their twins on the uniform registers."""

from __future__ import annotations

from softmax_lib.engine.compiled.draft import Draft, opcode
from softmax_lib.engine.compiled.opcodes.floats import JOINS

_COMPARISONS = {"F": 0, "LT": 1, "EQ": 2, "LE": 3, "GT": 4, "NE": 5, "GE": 6, "T": 7}
_UNSIGNED, _EXTENDED = 8, 16


def _carries_out(draft: Draft) -> int:
    """Notes the predicates behind the first operand, and gives the number of the operand behind them."""
    draft.to(0)
    number = 1
    for name in ("p", "q"):
        if draft.is_predicate(number):
            draft.writes(name, number)
            number += 1
    return number


def _predicates_in(draft: Draft, number: int) -> None:
    for name, at in zip("st", range(number, len(draft.args)), strict=False):
        draft.reads(name, at)


@opcode("IADD3", "UIADD3")
def _(draft: Draft) -> None:
    draft.operation, draft.variant = "whole add", int(draft.has("X"))
    first = _carries_out(draft)
    draft.wholes(first, 3)
    if draft.variant:
        draft.read = {"s": 7, "t": 7}
        draft.flipped = {"s": 1, "t": 1}  # false, where none is named
        _predicates_in(draft, first + 3)


_PARTS = {"16x2": 16, "8x4": 8}
_SIGNED_PARTS = 32
_EXTREME_PARTS = {"U16x2": 16, "S16x2": 16 | _SIGNED_PARTS}


@opcode("VIADD", "IADD")
def _(draft: Draft) -> None:
    parts = draft.choose(_PARTS, 0)
    draft.operation, draft.variant = "parts add" if parts else "whole add", parts
    draft.to(0)
    draft.wholes(1, 2)


@opcode("IMAD", "UIMAD")
def _(draft: Draft) -> None:
    draft.ignore("MOV", "IADD", "SHL")  # what it is used for
    is_wide, is_upper, is_signed = draft.has("WIDE"), draft.has("HI"), not draft.has("U32")
    has_carry = draft.has("X")
    first = _carries_out(draft)
    draft.wholes(first, 2)
    if is_wide or is_upper:
        draft.operation = "wide multiply add"
        draft.variant = int(is_signed) | 2 * is_upper | 4 * has_carry
        draft.whole("c", first + 2, words=2)
        if draft.flip[2]:
            draft.variant |= 8
            draft.flip[2] = draft.keep[2] = 0
    else:
        draft.operation, draft.variant = "whole multiply add", int(has_carry)
        draft.whole("c", first + 2)
    if has_carry:
        draft.reads("s", first + 3)


@opcode("LEA", "ULEA")
def _(draft: Draft) -> None:
    draft.operation = "whole shift add"
    is_upper, extends, has_carry = draft.has("HI"), draft.has("SX32"), draft.has("X")
    first = _carries_out(draft)
    draft.wholes(first, 2)
    at = first + 2
    if is_upper and not extends:
        draft.whole("c", at)
        at += 1
        if draft.flip[0] or draft.flip[2]:
            raise draft.refuse()
    draft.variant = draft.literal(at) & 31 | 256 * is_upper | 512 * extends | 1024 * has_carry
    if has_carry:
        draft.reads("s", at + 1)


@opcode("LOP3", "ULOP3")
def _(draft: Draft) -> None:
    draft.ignore("LUT")
    draft.operation = "whole logic"
    first = 0
    if draft.is_predicate(0):
        draft.writes("p", 0)
        first = 1
    draft.to(first)
    draft.wholes(first + 1, 3)
    draft.variant = draft.literal(first + 4) & 255 | 256 * draft.has("PAND")
    draft.reads("s", first + 5)


@opcode("PLOP3", "UPLOP3")
def _(draft: Draft) -> None:
    draft.ignore("LUT")
    draft.operation = "predicate logic"
    draft.writes("p", 0)
    draft.writes("q", 1)
    draft.reads("s", 2)
    draft.reads("t", 3)
    draft.rows_of["d"], draft.rows_of["c"] = draft.predicate(4)
    draft.variant = draft.literal(5) & 255 | (draft.literal(6) & 255) << 8


_OF_UNIFORM = 256


@opcode("P2R", "UP2UR")
def _(draft: Draft) -> None:
    draft.operation = "predicates to row"
    draft.to(0)
    is_uniform = draft.statement.opcode == "UP2UR"
    if draft.args[1] != ("UPR" if is_uniform else "PR"):
        raise draft.refuse()
    draft.whole("b", 2)
    draft.variant = draft.literal(3) & 127 | _OF_UNIFORM * is_uniform


@opcode("R2P")
def _(draft: Draft) -> None:
    draft.operation = "row to predicates"
    if draft.args[0] != "PR":
        raise draft.refuse()
    draft.whole("a", 1)
    draft.variant = draft.literal(2)


@opcode("ISETP", "UISETP")
def _(draft: Draft) -> None:
    draft.operation = "whole compare"
    draft.variant = (
        draft.choose(_COMPARISONS)
        | draft.choose(JOINS) << 8
        | _UNSIGNED * draft.has("U32")
        | _EXTENDED * draft.has("EX")
    )
    draft.writes("p", 0)
    draft.writes("q", 1)
    draft.wholes(2, 2)
    draft.reads("s", 4)
    if draft.variant & _EXTENDED:
        draft.reads("t", 5)


@opcode("SEL", "USEL")
def _(draft: Draft) -> None:
    draft.operation = "whole select"
    draft.to(0)
    draft.wholes(1, 2)
    draft.reads("s", 3)


@opcode("IMNMX", "VIMNMX", "UIMNMX")
def _(draft: Draft) -> None:
    draft.operation = "whole extreme"
    parts = draft.choose(_EXTREME_PARTS, 0)
    if parts:
        draft.operation, draft.variant = "parts extreme", parts
    else:
        draft.variant = int(draft.has("U32")) | 4 * draft.has("RELU")
        draft.ignore("S32")
    draft.to(0)
    draft.wholes(1, 2)
    draft.reads("s", 3)


@opcode("VIADDMNMX")
def _(draft: Draft) -> None:
    draft.operation = "whole extreme"
    parts = draft.choose(_EXTREME_PARTS, 0)
    if parts:
        draft.operation, draft.variant = "parts add extreme", parts
    else:
        draft.variant = int(draft.has("U32")) | 2 | 4 * draft.has("RELU")
    draft.to(0)
    draft.wholes(1, 3)
    draft.reads("s", 4)


@opcode("VIMNMX3")
def _(draft: Draft) -> None:
    parts = draft.choose(_EXTREME_PARTS, 0)
    draft.operation, draft.variant = "whole extreme of three", int(draft.has("U32"))
    if parts:
        draft.operation, draft.variant = "parts extreme of three", parts
    draft.to(0)
    draft.wholes(1, 3)
    draft.reads("s", 4)


@opcode("SHF", "USHF")
def _(draft: Draft) -> None:
    draft.operation = "whole shift"
    is_right = draft.has("R")
    draft.ignore("L")
    is_long, is_signed = draft.has("U64", "S64"), draft.has("S32")
    is_signed |= "S64" in draft.statement.modifiers
    draft.ignore("U32")
    draft.variant = (
        int(is_right) | 2 * draft.has("HI") | 4 * is_long | 8 * is_signed | 16 * draft.has("W")
    )
    draft.to(0)
    draft.wholes(1, 3)


_OF_ONE = {
    "MOV": "whole move", "UMOV": "whole move", "MOV32I": "whole move", "IABS": "whole size",
    "POPC": "whole count bits", "UPOPC": "whole count bits", "BREV": "whole reverse bits",
    "UBREV": "whole reverse bits",
}  # fmt: skip


@opcode(*_OF_ONE)
def _(draft: Draft) -> None:
    draft.operation = _OF_ONE[draft.statement.opcode]
    draft.to(0)
    draft.whole("a", 1)


@opcode("FLO", "UFLO")
def _(draft: Draft) -> None:
    draft.operation = "whole find bit"
    draft.variant = int(not draft.has("U32")) | 2 * draft.has("SH")
    draft.to(0)
    draft.whole("a", 1)


PERMUTATIONS = {"F4E": 1, "B4E": 2, "RC8": 3, "ECL": 4, "ECR": 5, "RC16": 6}
"""Ways to choose bytes other than by selectors (cpp/wholes.cpp)."""


@opcode("PRMT", "UPRMT")
def _(draft: Draft) -> None:
    draft.operation = "whole permute"
    draft.variant = draft.choose(PERMUTATIONS, 0)
    draft.to(0)
    draft.wholes(1, 3)


@opcode("SGXT", "USGXT")
def _(draft: Draft) -> None:
    draft.operation = "whole extend"
    draft.variant = int(not draft.has("U32")) | 2 * draft.has("W")
    draft.to(0)
    draft.wholes(1, 2)


@opcode("BMSK", "UBMSK")
def _(draft: Draft) -> None:
    draft.operation = "whole mask"
    draft.variant = int(draft.has("W"))
    draft.ignore("C")
    draft.to(0)
    draft.wholes(1, 2)


@opcode("VABSDIFF")
def _(draft: Draft) -> None:
    draft.operation = "whole difference"
    draft.variant = int(draft.has("U32"))
    draft.to(0)
    draft.wholes(1, 3)


@opcode("VABSDIFF4")
def _(draft: Draft) -> None:
    draft.operation = "parts differences" if draft.has("ACC") else "parts difference"
    draft.variant = 8 | draft.choose({"U8": 0, "S8": _SIGNED_PARTS})
    draft.to(0)
    draft.wholes(1, 3)


@opcode("IDP")
def _(draft: Draft) -> None:
    draft.operation = "whole dot"
    is_wide, takes_upper = draft.has("2A"), draft.has("HI")
    draft.ignore("4A", "LO")
    kinds = [one for one in draft.statement.modifiers if one[0] in "US" and one[1:].isdigit()]
    draft.ignore(*kinds)
    if len(kinds) != 2:
        raise draft.refuse()
    draft.variant = (
        int(kinds[0][0] == "S") | 2 * (kinds[1][0] == "S") | 4 * is_wide | 8 * takes_upper
    )
    draft.to(0)
    draft.wholes(1, 3)
