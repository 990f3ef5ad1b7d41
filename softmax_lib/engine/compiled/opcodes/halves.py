"""Opcodes of two 16-bit numbers in one register."""

from __future__ import annotations

import re

from softmax_lib.engine.compiled.draft import ALL, Draft, half_bits, opcodes
from softmax_lib.engine.compiled.opcodes.floats import COMPARISONS, JOINS, ROUNDINGS

IS_BFLOAT, _TO_FLOAT, FLUSHES, SATURATES, RELU, PASSES_NAN = 64, 128, 256, 512, 1024, 2048
COMPARE_SHIFT, JOIN_SHIFT, FLAG_BITS, _MERGES = 16, 20, 1 << 23, 1 << 22
"""Of a variant, what the numbers are and how they end (cpp/halves.cpp)."""

_WHICH = re.compile(r"(-?)(\|?)(U?R(?:\d+|Z)|c\[[^\]]*\]\[[^\]]*\])(\|?)(?:\.(H0_H0|H1_H1|H1_H0|F32))?(\|?)$")  # fmt: skip
_HALVES = {None: 0, "H1_H0": 0, "H0_H0": 1, "H1_H1": 2, "F32": 3}
BOTH_SIGNS = 0x80008000
"""The sign bits of two numbers in a word."""


BITS = {"FTZ": FLUSHES, "SAT": SATURATES, "RELU": RELU}
_BITS = {
    "MMA": 0, "PACKED": 0, "F16_V2": 0, "BF16_V2": IS_BFLOAT, "BF16": IS_BFLOAT, "F32": _TO_FLOAT,
    "FMZ": FLUSHES, "NAN": PASSES_NAN, **BITS,
}  # fmt: skip


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
            draft.rows_of[slot] = draft.word(register)
            first += 1
        else:
            try:
                high, low = (half_bits(text, is_bfloat) for text in draft.args[first : first + 2])
            except ValueError:
                raise draft.refuse() from None
            draft.rows_of[slot] = draft.rows.immediate(high << 16 | low)
            first += 2
    return first


@opcodes({"HADD2 HADD2_32I": ("half add",), "HMUL2 HMUL2_32I": ("half multiply",)})
def half_arithmetic(draft: Draft, operation: str) -> None:
    draft.operation, draft.variant = operation, draft.flags(_BITS)
    draft.to(0)
    _sources(draft, 1, "ab")
    draft.keep[2] = ALL


@opcodes("HFMA2 HFMA2_32I")
def hfma2(draft: Draft) -> None:
    draft.operation, draft.variant = "half fused", draft.flags(_BITS)
    draft.to(0)
    _sources(draft, 1, "abc")
    if draft.args[1].lstrip("-") == "RZ" and draft.args[2].lstrip("-") == "RZ":
        # 0 * 0 + c: how the compiler loads a constant
        draft.operation, draft.rows_of["a"] = "whole move", draft.rows_of["c"]
        draft.keep, draft.flip, draft.variant = [0, 0, 0], [0, 0, 0], 0


@opcodes({"HMNMX2": ("half extreme", "ab"), "VHMNMX": ("half extreme of three", "abc")})
def half_extreme(draft: Draft, operation: str, slots: str) -> None:
    draft.operation, draft.variant = operation, draft.flags(_BITS)
    draft.to(0)
    draft.reads("s", _sources(draft, 1, slots))


def _compared(draft: Draft) -> int:
    join = draft.choose(JOINS) << JOIN_SHIFT
    return draft.flags(_BITS) | draft.choose(COMPARISONS) << COMPARE_SHIFT | join


@opcodes("HSETP2")
def hsetp2(draft: Draft) -> None:
    draft.operation, draft.variant = "half compare", _compared(draft)
    draft.take("pq")
    draft.reads("s", _sources(draft, 2, "ab"))


@opcodes("HSET2")
def hset2(draft: Draft) -> None:
    draft.operation = "half set"
    draft.variant = _compared(draft) | (0 if draft.has("BF") else FLAG_BITS)
    draft.to(0)
    draft.reads("s", _sources(draft, 1, "ab"))


@opcodes("F2FP")
def f2fp(draft: Draft) -> None:
    draft.operation, draft.variant = "half pack", draft.choose(ROUNDINGS, 0)
    draft.variant |= draft.flags({
        "PACK_AB": 0, "F16": 0, "F32": 0, "BF16": IS_BFLOAT, "RELU": RELU, "MERGE_C": _MERGES,
    })  # fmt: skip
    draft.to(0)
    draft.real("a", 1)
    if draft.variant & _MERGES:
        draft.whole("c", 2)
    else:
        draft.real("b", 2)
