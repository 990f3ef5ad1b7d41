"""Opcodes of single and double precision, of the special function unit, and those that turn one kind of number into another."""

from __future__ import annotations

import re
from collections.abc import Mapping

from softmax_lib.engine.compiled.draft import ALL, Draft, make, opcodes, read_double

ROUNDINGS = {"RM": 1, "RP": 2, "RZ": 3, "RN": 0}
FLUSHED, SATURATED = 4, 8
ENDS = {"FTZ": FLUSHED, "SAT": SATURATED}
"""What becomes of small numbers, and of those outside of 0 to 1."""

COMPARISONS = {
    "F": 0, "LT": 1, "EQ": 2, "LE": 3, "GT": 4, "NE": 5, "GE": 6, "NUM": 7,
    "NAN": 8, "LTU": 9, "EQU": 10, "LEU": 11, "GTU": 12, "NEU": 13, "GEU": 14, "T": 15,
}  # fmt: skip
"""Bits: less 1, equal 2, greater 4, one is no number 8."""

JOINS = {"AND": 0, "OR": 1, "XOR": 2}


_ENDINGS = ROUNDINGS | ENDS

opcodes({
    "FADD FADD32I": ("float add", "dAB", _ENDINGS),
    "FMUL FMUL32I": ("float multiply", "dAB", _ENDINGS),
    "FFMA FFMA32I": ("float fused", "dABC", _ENDINGS),
    "FMNMX": ("float extreme", "dABs", {"FTZ": 1, "NAN": 2}),
    "FSEL": ("float select", "dABs"),
    "FCHK": ("float check division", "pAB", {"DIVIDE": 0}),
    "DADD": ("double add", "dAB", ROUNDINGS, 0, 2, read_double),
    "DMUL": ("double multiply", "dAB", ROUNDINGS, 0, 2, read_double),
    "DFMA": ("double fused", "dABC", ROUNDINGS, 0, 2, read_double),
    "DMNMX": ("double extreme", "dABs", ROUNDINGS, 0, 2, read_double),
})(make)  # fmt: skip


def compared(draft: Draft) -> int:
    """How two numbers are compared, and how the outcome joins what was there."""
    return draft.choose(COMPARISONS) | draft.choose(JOINS) << 8 | draft.flags({"FTZ": 16})


@opcodes("FSETP")
def fsetp(draft: Draft) -> None:
    draft.operation, draft.variant = "float compare", compared(draft)
    draft.take("pqABs")


@opcodes("FSET")
def fset(draft: Draft) -> None:
    draft.operation, draft.variant = "float set", compared(draft)
    draft.take("dABs")
    draft.rows_of["c"] = draft.rows.immediate(0x3F800000 if draft.has("BF") else ALL)


@opcodes("DSETP")
def dsetp(draft: Draft) -> None:
    if draft.has("MIN", "MAX"):
        draft.operation, draft.variant = "double choose", int("MIN" in draft.statement.modifiers)
        draft.ignore("AND")
    else:
        draft.operation, draft.variant = "double compare", compared(draft)
    draft.take("pqABs", 2, read_double)


_SPECIAL = {
    "EX2": "special power", "LG2": "special logarithm", "RCP": "special reciprocal",
    "RSQ": "special reciprocal root", "SQRT": "special root", "SIN": "special sine",
    "COS": "special cosine", "TANH": "special tangent", "RCP64H": "double guess reciprocal",
    "RSQ64H": "double guess reciprocal root",
}  # fmt: skip


@opcodes("MUFU")
def mufu(draft: Draft) -> None:
    name = next((n for n in draft.statement.modifiers if n in _SPECIAL), None)
    if name is None:
        raise draft.refuse()
    draft.ignore(name)
    draft.operation = _SPECIAL[name]
    # of a double it takes the upper word
    draft.take("dA", 1, (lambda text: read_double(text) >> 32) if name.endswith("64H") else None)


# ---- from one kind of number to another

KINDS = {
    "U8": 0, "S8": 1, "U16": 2, "S16": 3, "U32": 4, "S32": 5, "U64": 6, "S64": 7,
    "F16": 8, "F32": 9, "F64": 10, "BF16": 11,
}  # fmt: skip
IN_SHIFT, OUT_SHIFT = 8, 12
_WHOLE_ROUNDINGS = {"FLOOR": 1, "CEIL": 2, "TRUNC": 3}
_PART = re.compile(r"([-|]*[^|.]*)\.(?:B([0-3])|H([01])(?:_H[01])?)(\|?)$")


def _source(draft: Draft, number: int, kind: str) -> None:
    """The number that comes in; of a small one, the byte or half that it is."""
    match = _PART.match(draft.args[number])
    if match:
        draft.args = (*draft.args[:number], match[1] + match[4], *draft.args[number + 1 :])
        draft.variant |= int(match[2] or match[3]) << 4
    if kind == "F32":
        draft.real("a", number)
    elif kind in ("F16", "BF16"):
        draft.half("a", number, is_bfloat=kind == "BF16")
    elif kind == "F64":
        draft.real("a", number, 2, read_double)
    else:
        if kind.endswith("64"):
            draft.long("a", number)
        else:
            draft.whole("a", number)
        draft.keep[0] = ALL  # the sign is taken where the number is known


@opcodes({
    "F2I F2IP": ("float to whole", _WHOLE_ROUNDINGS, "F32", "S32"),
    "I2F I2FP": ("whole to float", ROUNDINGS, "S32", "F32"),
    "F2F": ("float to float", ROUNDINGS, "F32", "F32"),
    "FRND": ("float to round", _WHOLE_ROUNDINGS, "F32", "F32"),
})  # fmt: skip
def convert(
    draft: Draft, operation: str, roundings: Mapping[str, int], source: str, made: str
) -> None:
    """From `source` to `made`, where no modifier says another kind of that sort; it says first what is made."""
    draft.operation = operation
    draft.ignore("NTZ", *KINDS)
    draft.variant = draft.choose(roundings, 0) | draft.flags({"FTZ": ENDS["FTZ"]})
    kinds = [one for one in draft.statement.modifiers if one in KINDS]
    made = next((one for one in kinds if ("F" in one) == ("F" in made)), made)
    source = next((one for one in kinds[::-1] if ("F" in one) == ("F" in source)), source)
    draft.variant |= KINDS[source] << IN_SHIFT | KINDS[made] << OUT_SHIFT
    draft.to(0)
    _source(draft, 1, source)
