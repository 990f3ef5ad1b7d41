"""Opcodes of two 16-bit numbers in one register."""

from __future__ import annotations

import re

from softmax_lib.engine.compiled.draft import ALL, Draft, half_bits, opcode
from softmax_lib.engine.compiled.opcodes.floats import COMPARISONS, JOINS, ROUNDINGS

IS_BFLOAT, _TO_FLOAT, FLUSHES, SATURATES, RELU, PASSES_NAN = 64, 128, 256, 512, 1024, 2048
COMPARE_SHIFT, JOIN_SHIFT, FLAG_BITS, _MERGES = 16, 20, 1 << 23, 1 << 22
"""Of a variant, what the numbers are and how they end (cpp/halves.cpp)."""

_WHICH = re.compile(r"(-?)(\|?)(U?R(?:\d+|Z)|c\[[^\]]*\]\[[^\]]*\])(\|?)(?:\.(H0_H0|H1_H1|H1_H0|F32))?(\|?)$")  # fmt: skip
_HALVES = {None: 0, "H1_H0": 0, "H0_H0": 1, "H1_H1": 2, "F32": 3}
BOTH_SIGNS = 0x80008000
"""The sign bits of two numbers in a word."""


def _flags(draft: Draft) -> int:
    draft.ignore("MMA", "PACKED", "F16_V2")
    return (
        IS_BFLOAT * draft.has("BF16_V2", "BF16")
        | _TO_FLOAT * draft.has("F32")
        | FLUSHES * draft.has("FTZ", "FMZ")
        | SATURATES * draft.has("SAT")
        | RELU * draft.has("RELU")
        | PASSES_NAN * draft.has("NAN")
    )


def _sources(draft: Draft, first: int, slots: str) -> int:
    """Two 16-bit numbers each; those of the instruction take two operands. Gives the number of the next operand."""
    is_bfloat = bool(draft.variant & IS_BFLOAT)
    for slot in slots:
        index = "abc".index(slot)
        draft.keep[index] = ALL
        match = _WHICH.match(draft.args[first])
        if match:
            sign, bar, register, bar2, which, bar3 = match.groups()
            draft.flip[index] = BOTH_SIGNS if sign else 0
            draft.keep[index] = 0x7FFF7FFF if bar or bar2 or bar3 else ALL
            draft.variant |= _HALVES[which] << 2 * index
            if register.startswith("c["):
                held = draft.args
                draft.args = (*held[:first], register, *held[first + 1 :])
                flip, keep = draft.flip[index], draft.keep[index]
                draft.whole(slot, first)
                draft.args, draft.flip[index], draft.keep[index] = held, flip, keep
            else:
                draft.rows_of[slot] = draft.register(register)
            first += 1
        else:
            try:
                high, low = (half_bits(text, is_bfloat) for text in draft.args[first : first + 2])
            except ValueError:
                raise draft.refuse() from None
            draft.rows_of[slot] = draft.rows.immediate(high << 16 | low)
            first += 2
    return first


_OF_TWO = {
    "HADD2": "half add", "HADD2_32I": "half add", "HMUL2": "half multiply", "HMUL2_32I": "half multiply",
}  # fmt: skip


@opcode(*_OF_TWO)
def _(draft: Draft) -> None:
    draft.operation, draft.variant = _OF_TWO[draft.statement.opcode], _flags(draft)
    draft.to(0)
    _sources(draft, 1, "ab")
    draft.no_number("c")


@opcode("HFMA2", "HFMA2_32I")
def _(draft: Draft) -> None:
    draft.variant = _flags(draft)
    draft.to(0)
    _sources(draft, 1, "abc")
    draft.operation = "half fused"
    if draft.args[1].lstrip("-") == "RZ" and draft.args[2].lstrip("-") == "RZ":
        # 0 * 0 + c: how the compiler loads a constant
        draft.operation, draft.rows_of["a"] = "whole move", draft.rows_of["c"]
        draft.keep, draft.flip, draft.variant = [0, 0, 0], [0, 0, 0], 0


_EXTREMES = {"HMNMX2": ("half extreme", "ab"), "VHMNMX": ("half extreme of three", "abc")}


@opcode(*_EXTREMES)
def _(draft: Draft) -> None:
    draft.operation, slots = _EXTREMES[draft.statement.opcode]
    draft.variant = _flags(draft)
    draft.to(0)
    after = _sources(draft, 1, slots)
    draft.reads("s", after)


@opcode("HSETP2")
def _(draft: Draft) -> None:
    draft.operation, draft.variant = "half compare", _flags(draft)
    draft.variant |= draft.choose(COMPARISONS) << COMPARE_SHIFT | draft.choose(JOINS) << JOIN_SHIFT
    draft.writes("p", 0)
    draft.writes("q", 1)
    after = _sources(draft, 2, "ab")
    draft.reads("s", after)


@opcode("HSET2")
def _(draft: Draft) -> None:
    draft.operation = "half set"
    as_floats = draft.has("BF")
    draft.variant = _flags(draft) | (0 if as_floats else FLAG_BITS)
    draft.variant |= draft.choose(COMPARISONS) << COMPARE_SHIFT | draft.choose(JOINS) << JOIN_SHIFT
    draft.to(0)
    after = _sources(draft, 1, "ab")
    draft.reads("s", after)


@opcode("F2FP")
def _(draft: Draft) -> None:
    draft.operation = "half pack"
    draft.ignore("PACK_AB", "F16", "F32")
    merges = draft.has("MERGE_C")
    draft.variant = (
        draft.choose(ROUNDINGS, 0)
        | IS_BFLOAT * draft.has("BF16")
        | RELU * draft.has("RELU")
        | _MERGES * merges
    )
    draft.to(0)
    draft.real("a", 1)
    if merges:
        draft.whole("c", 2)
    else:
        draft.real("b", 2)
