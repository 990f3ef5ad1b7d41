"""Opcodes that turn one kind of number into another."""

from __future__ import annotations

import re
from collections.abc import Mapping

from softmax_lib.engine.compiled.draft import ALL, Draft, opcodes, read_double
from softmax_lib.engine.compiled.opcodes.floats import ENDS, ROUNDINGS

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
