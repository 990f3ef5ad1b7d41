"""Opcodes of single and double precision, and of the special function unit."""

from __future__ import annotations

from softmax_lib.engine.compiled.draft import ALL, Draft, opcode

ROUNDINGS = {"RM": 1, "RP": 2, "RZ": 3, "RN": 0}
FLUSHED, SATURATED = 4, 8

COMPARISONS = {
    "F": 0, "LT": 1, "EQ": 2, "LE": 3, "GT": 4, "NE": 5, "GE": 6, "NUM": 7,
    "NAN": 8, "LTU": 9, "EQU": 10, "LEU": 11, "GTU": 12, "NEU": 13, "GEU": 14, "T": 15,
}  # fmt: skip
"""Bits: less 1, equal 2, greater 4, one is no number 8."""

JOINS = {"AND": 0, "OR": 1, "XOR": 2}

_SPECIAL = {
    "EX2": "special power", "LG2": "special logarithm", "RCP": "special reciprocal",
    "RSQ": "special reciprocal root", "SQRT": "special root", "SIN": "special sine",
    "COS": "special cosine", "TANH": "special tangent", "RCP64H": "double guess reciprocal",
    "RSQ64H": "double guess reciprocal root",
}  # fmt: skip


def _flags(draft: Draft) -> int:
    flags = draft.choose(ROUNDINGS, 0)
    return flags | FLUSHED * draft.has("FTZ") | SATURATED * draft.has("SAT")


_ARITHMETIC = {
    "FADD": ("float add", 2), "FADD32I": ("float add", 2), "FMUL": ("float multiply", 2),
    "FMUL32I": ("float multiply", 2), "FFMA": ("float fused", 3), "FFMA32I": ("float fused", 3),
}  # fmt: skip
_DOUBLE_ARITHMETIC = {
    "DADD": ("double add", 2), "DMUL": ("double multiply", 2), "DFMA": ("double fused", 3),
    "DMNMX": ("double extreme", 2),
}  # fmt: skip


@opcode(*_ARITHMETIC)
def _(draft: Draft) -> None:
    draft.operation, count = _ARITHMETIC[draft.statement.opcode]
    draft.variant = _flags(draft)
    draft.to(0)
    draft.no_number("c")
    draft.reals(1, count)


@opcode("FMNMX")
def _(draft: Draft) -> None:
    draft.operation = "float extreme"
    draft.variant = int(draft.has("FTZ")) | 2 * draft.has("NAN")
    draft.to(0)
    draft.reals(1, 2)
    draft.reads("s", 3)


@opcode("FSEL")
def _(draft: Draft) -> None:
    draft.operation = "float select"
    draft.to(0)
    draft.reals(1, 2)
    draft.reads("s", 3)


@opcode("FSETP")
def _(draft: Draft) -> None:
    draft.operation = "float compare"
    draft.variant = compared(draft) | 16 * draft.has("FTZ")
    draft.reals(2, 2)
    _predicates(draft)


@opcode("FSET")
def _(draft: Draft) -> None:
    draft.operation = "float set"
    draft.variant = compared(draft) | 16 * draft.has("FTZ")
    draft.to(0)
    draft.reals(1, 2)
    draft.reads("s", 3)
    draft.rows_of["c"] = draft.rows.immediate(0x3F800000 if draft.has("BF") else ALL)


@opcode("DSETP")
def _(draft: Draft) -> None:
    if draft.has("MIN", "MAX"):
        draft.operation, draft.variant = "double choose", int("MIN" in draft.statement.modifiers)
        draft.ignore("AND")
    else:
        draft.operation, draft.variant = "double compare", compared(draft)
    draft.double("a", 2)
    draft.double("b", 3)
    _predicates(draft)


def compared(draft: Draft) -> int:
    """How two numbers are compared, and how the outcome joins what was there."""
    return draft.choose(COMPARISONS) | draft.choose(JOINS) << 8


def _predicates(draft: Draft) -> None:
    draft.writes("p", 0)
    draft.writes("q", 1)
    draft.reads("s", 4)


@opcode("FCHK")
def _(draft: Draft) -> None:
    draft.ignore("DIVIDE")
    draft.operation = "float check division"
    draft.writes("p", 0)
    draft.reals(1, 2)


@opcode("MUFU")
def _(draft: Draft) -> None:
    name = next((n for n in draft.statement.modifiers if n in _SPECIAL), None)
    if name is None:
        raise draft.refuse()
    draft.ignore(name)
    draft.operation = _SPECIAL[name]
    draft.to(0)
    if name.endswith("64H"):
        draft.upper_half("a", 1)
    else:
        draft.real("a", 1)
    draft.no_number("b", "c")


@opcode(*_DOUBLE_ARITHMETIC)
def _(draft: Draft) -> None:
    draft.operation, count = _DOUBLE_ARITHMETIC[draft.statement.opcode]
    draft.variant = draft.choose(ROUNDINGS, 0)
    draft.to(0)
    draft.no_number("c")
    for slot, number in zip("abc", range(1, count + 1), strict=False):
        draft.double(slot, number)
    if draft.statement.opcode == "DMNMX":
        draft.reads("s", 3)
