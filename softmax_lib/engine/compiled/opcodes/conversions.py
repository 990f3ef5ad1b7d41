"""Opcodes that turn one kind of number into another."""

from __future__ import annotations

import re

from softmax_lib.engine.compiled.draft import ALL, Draft, opcode
from softmax_lib.engine.compiled.opcodes.floats import FLUSHED, ROUNDINGS

KINDS = {
    "U8": 0, "S8": 1, "U16": 2, "S16": 3, "U32": 4, "S32": 5, "U64": 6, "S64": 7,
    "F16": 8, "F32": 9, "F64": 10, "BF16": 11,
}  # fmt: skip
IN_SHIFT, OUT_SHIFT = 8, 12
_WHOLE_ROUNDINGS = {"FLOOR": 1, "CEIL": 2, "TRUNC": 3}
_PART = re.compile(r"([-|]*[^|.]*)\.(?:B([0-3])|H([01])(?:_H[01])?)(\|?)$")


def _kinds(draft: Draft) -> list[str]:
    found = [one for one in draft.statement.modifiers if one in KINDS]
    draft.ignore(*found)
    return found


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
        draft.double("a", number)
    else:
        if kind.endswith("64"):
            draft.long("a", number)
        else:
            draft.whole("a", number)
        draft.keep[0] = ALL  # the sign is taken where the number is known


def _set_kinds(draft: Draft, source: str, made: str) -> None:
    draft.variant |= KINDS[source] << IN_SHIFT | KINDS[made] << OUT_SHIFT
    draft.to(0)
    _source(draft, 1, source)


@opcode("F2I", "F2IP")
def _(draft: Draft) -> None:
    draft.operation = "float to whole"
    draft.ignore("NTZ")
    draft.variant = draft.choose(_WHOLE_ROUNDINGS, 0) | FLUSHED * draft.has("FTZ")
    kinds = _kinds(draft)
    made = next((kind for kind in kinds if kind[0] in "US"), "S32")
    source = next((kind for kind in kinds if "F" in kind), "F32")
    _set_kinds(draft, source, made)


@opcode("I2F", "I2FP")
def _(draft: Draft) -> None:
    draft.operation = "whole to float"
    draft.variant = draft.choose(ROUNDINGS, 0)
    kinds = _kinds(draft)
    made = next((kind for kind in kinds if "F" in kind), "F32")
    source = next((kind for kind in kinds if kind[0] in "US"), "S32")
    _set_kinds(draft, source, made)


@opcode("F2F")
def _(draft: Draft) -> None:
    draft.operation = "float to float"
    draft.variant = draft.choose(ROUNDINGS, 0) | FLUSHED * draft.has("FTZ")
    made, source = _kinds(draft)
    _set_kinds(draft, source, made)


@opcode("FRND")
def _(draft: Draft) -> None:
    draft.operation = "float to round"
    draft.variant = draft.choose(_WHOLE_ROUNDINGS, 0) | FLUSHED * draft.has("FTZ")
    kinds = _kinds(draft)
    kind = kinds[0] if kinds else "F32"
    _set_kinds(draft, kind, kind)
