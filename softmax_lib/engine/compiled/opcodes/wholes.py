"""Opcodes of whole numbers, of logic and of moves, and their twins on the uniform registers."""

from __future__ import annotations

from collections.abc import Mapping

from softmax_lib.engine.compiled.draft import Draft, make, opcodes
from softmax_lib.engine.compiled.opcodes.floats import JOINS

_COMPARISONS = {"F": 0, "LT": 1, "EQ": 2, "LE": 3, "GT": 4, "NE": 5, "GE": 6, "T": 7}
_EXTENDED = 16

PERMUTATIONS = {"F4E": 1, "B4E": 2, "RC8": 3, "ECL": 4, "ECR": 5, "RC16": 6}
"""Ways to choose bytes other than by selectors (cpp/wholes.cpp)."""


opcodes({
    "MOV UMOV MOV32I": ("whole move", "da"),
    "IABS": ("whole size", "da"),
    "POPC UPOPC": ("whole count bits", "da"),
    "BREV UBREV": ("whole reverse bits", "da"),
    "BMSK UBMSK": ("whole mask", "dab", {"C": 0, "W": 1}),
    "VABSDIFF": ("whole difference", "dabc", {"U32": 1}),
    "SEL USEL": ("whole select", "dabs"),
    "PRMT UPRMT": ("whole permute", "dabc", PERMUTATIONS),
    "SHF USHF": (
        "whole shift", "dabc",
        {"L": 0, "R": 1, "HI": 2, "U32": 0, "U64": 4, "S32": 8, "S64": 4 | 8, "W": 16},
    ),
    "FLO UFLO": ("whole find bit", "da", {"U32": 1, "SH": 2}, 1),
    "SGXT USGXT": ("whole extend", "dab", {"U32": 1, "W": 2}, 1),
})(make)  # fmt: skip


@opcodes("IADD3 UIADD3")
def iadd3(draft: Draft) -> None:
    draft.operation, draft.variant = "whole add", int(draft.has("X"))
    behind = draft.take("dPQabc")
    if draft.variant:
        draft.flipped = {"s": 1, "t": 1}  # false, where none is named
        for name, at in zip("st", range(behind, len(draft.args)), strict=False):
            draft.reads(name, at)


_PARTS = {"16x2": 16, "8x4": 8}
_SIGNED_PARTS = 32
_EXTREME_PARTS = {"U16x2": 16, "S16x2": 16 | _SIGNED_PARTS}


@opcodes("VIADD IADD")
def viadd(draft: Draft) -> None:
    draft.variant = draft.choose(_PARTS, 0)
    draft.operation = "parts add" if draft.variant else "whole add"
    draft.take("dab")


@opcodes("IMAD UIMAD")
def imad(draft: Draft) -> None:
    draft.ignore("MOV", "IADD", "SHL")  # what it is used for
    is_wide, is_upper, is_signed = draft.has("WIDE"), draft.has("HI"), not draft.has("U32")
    has_carry = draft.has("X")
    at = draft.take("dPQab")
    if is_wide or is_upper:
        draft.operation = "wide multiply add"
        draft.variant = int(is_signed) | 2 * is_upper | 4 * has_carry
        draft.whole("c", at, words=2)
        if draft.flip[2]:
            draft.variant |= 8
            draft.flip[2] = draft.keep[2] = 0
    else:
        draft.operation, draft.variant = "whole multiply add", int(has_carry)
        draft.whole("c", at)
    if has_carry:
        draft.reads("s", at + 1)


@opcodes("LEA ULEA")
def lea(draft: Draft) -> None:
    draft.operation = "whole shift add"
    is_upper, extends, has_carry = draft.has("HI"), draft.has("SX32"), draft.has("X")
    at = draft.take("dPQab")
    if is_upper and not extends:
        draft.whole("c", at)
        at += 1
        if draft.flip[0] or draft.flip[2]:
            raise draft.refuse()
    draft.variant = draft.literal(at) & 31 | 256 * is_upper | 512 * extends | 1024 * has_carry
    if has_carry:
        draft.reads("s", at + 1)


@opcodes("LOP3 ULOP3")
def lop3(draft: Draft) -> None:
    draft.ignore("LUT")
    draft.operation = "whole logic"
    at = draft.take("Pdabc")
    draft.variant = draft.literal(at) & 255 | 256 * draft.has("PAND")
    draft.reads("s", at + 1)


@opcodes("PLOP3 UPLOP3")
def plop3(draft: Draft) -> None:
    draft.ignore("LUT")
    draft.operation = "predicate logic"
    draft.take("pqst")
    draft.rows_of["d"], draft.rows_of["c"] = draft.predicate(4)
    draft.variant = draft.literal(5) & 255 | (draft.literal(6) & 255) << 8


_OF_UNIFORM = 256


@opcodes({"P2R": ("PR", 0), "UP2UR": ("UPR", _OF_UNIFORM)})
def p2r(draft: Draft, predicates: str, variant: int) -> None:
    draft.operation = "predicates to row"
    draft.to(0)
    if draft.args[1] != predicates:
        raise draft.refuse()
    draft.whole("b", 2)
    draft.variant = draft.literal(3) & 127 | variant


@opcodes("R2P")
def r2p(draft: Draft) -> None:
    draft.operation = "row to predicates"
    if draft.args[0] != "PR":
        raise draft.refuse()
    draft.whole("a", 1)
    draft.variant = draft.literal(2)


@opcodes("ISETP UISETP")
def isetp(draft: Draft) -> None:
    draft.operation = "whole compare"
    draft.variant = draft.choose(_COMPARISONS) | draft.choose(JOINS) << 8
    draft.variant |= draft.flags({"U32": 8, "EX": _EXTENDED})
    draft.take("pqabs")
    if draft.variant & _EXTENDED:
        draft.reads("t", 5)


@opcodes({
    "IMNMX VIMNMX UIMNMX": ("", "extreme", "dabs", {"U32": 1, "RELU": 4, "S32": 0}),
    "VIADDMNMX": ("add ", "extreme", "dabcs", {"U32": 1, "RELU": 4}, 2),
    "VIMNMX3": ("", "extreme of three", "dabcs", {"U32": 1}),
})  # fmt: skip
def vimnmx(
    draft: Draft, adds: str, what: str, slots: str, bits: Mapping[str, int], variant: int = 0
) -> None:
    if parts := draft.choose(_EXTREME_PARTS, 0):
        draft.operation, draft.variant = f"parts {adds}{what}", parts
    else:
        draft.operation, draft.variant = f"whole {what}", draft.flags(bits) | variant
    draft.take(slots)


@opcodes("VABSDIFF4")
def vabsdiff4(draft: Draft) -> None:
    draft.operation = "parts differences" if draft.has("ACC") else "parts difference"
    draft.variant = 8 | draft.choose({"U8": 0, "S8": _SIGNED_PARTS})
    draft.take("dabc")


@opcodes("IDP")
def idp(draft: Draft) -> None:
    draft.operation, draft.variant = "whole dot", draft.flags({"4A": 0, "2A": 4, "LO": 0, "HI": 8})
    kinds = [one for one in draft.statement.modifiers if one[0] in "US" and one[1:].isdigit()]
    draft.ignore(*kinds)
    if len(kinds) != 2:
        raise draft.refuse()
    draft.variant |= int(kinds[0][0] == "S") | 2 * (kinds[1][0] == "S")
    draft.take("dabc")
