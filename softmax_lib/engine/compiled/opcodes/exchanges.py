"""Opcodes by which lanes tell each other something, or learn who they are."""

from __future__ import annotations

from softmax_lib.engine.compiled.draft import Draft, opcode

SHUFFLES = {"UP": 0, "DOWN": 1, "BFLY": 2, "IDX": 3}
SPECIAL = (
    "SR_TID.X", "SR_TID.Y", "SR_TID.Z", "SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z", "SR_LANEID", "SR_EQMASK", "SR_LTMASK",
    "SR_LEMASK", "SR_GTMASK", "SR_GEMASK", "SR_VIRTID", "SR_CLOCKLO", "SR_CLOCKHI", "SR_SWINHI", "SR_CgaCtaId",
    "%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctaid.z", "SRZ",
)  # fmt: skip
_ZEROS = ("SR_SMID", "SR_VIRTCFG")
REDUCTIONS = {"SUM": 0, "MIN": 1, "MAX": 2, "AND": 3, "OR": 4, "XOR": 5}
SIGNED = 8
_VOTES = {"ANY": 0, "ALL": 1, "EQ": 2}
_UNIFORM = 4


@opcode("SHFL")
def _(draft: Draft) -> None:
    draft.operation, draft.variant = "shuffle", draft.choose(SHUFFLES)
    draft.writes("p", 0)
    draft.to(1)
    draft.wholes(2, 3)


@opcode("VOTE", "VOTEU")
def _(draft: Draft) -> None:
    draft.operation = "vote"
    draft.variant = draft.choose(_VOTES) | _UNIFORM * (draft.statement.opcode == "VOTEU")
    number = 0
    if not draft.is_predicate(0):
        draft.to(0)
        number = 1
    if number < len(draft.args) - 1:
        draft.writes("p", number)
        number += 1
    draft.reads("s", number)
    draft.is_uniform = False  # its lanes are those of the warp


@opcode("MATCH")
def _(draft: Draft) -> None:
    draft.operation = "match"
    is_all = draft.has("ALL")
    draft.ignore("ANY")
    draft.variant = int(draft.has("U64")) | 2 * is_all
    number = 0
    if draft.is_predicate(0):
        draft.writes("p", 0)
        number = 1
    draft.to(number)
    draft.whole("a", number + 1)


@opcode("REDUX")
def _(draft: Draft) -> None:
    draft.operation = "reduce"
    draft.variant = draft.choose(REDUCTIONS, 3) | SIGNED * draft.has("S32")
    draft.to(0)
    draft.whole("a", 1)
    draft.is_uniform = False


@opcode("R2UR")
def _(draft: Draft) -> None:
    draft.operation = "make uniform"
    first = int(draft.is_predicate(0))
    if first:
        draft.writes("p", 0)
    draft.to(first)
    draft.whole("a", first + 1)
    draft.is_uniform = False


@opcode("S2R", "S2UR")
def _(draft: Draft) -> None:
    _read_special(draft, draft.args[1])


@opcode("CS2R")
def _(draft: Draft) -> None:
    if draft.has("32") or draft.args[1] != "SRZ":
        if draft.args[1] == "SR_CLOCKLO" and "32" not in draft.statement.modifiers:
            raise draft.refuse()
        return _read_special(draft, draft.args[1])
    draft.operation = "whole move pair"
    draft.to(0)
    return None


def _read_special(draft: Draft, name: str) -> None:
    draft.operation = "read special"
    draft.to(0)
    if name in _ZEROS:
        name = "SRZ"
    if name not in SPECIAL:
        raise draft.refuse()
    draft.variant = SPECIAL.index(name)


@opcode("B2R")
def _(draft: Draft) -> None:
    if not draft.has("RESULT"):
        raise draft.refuse()
    draft.operation = "read barrier"
    draft.to(0)
    if len(draft.args) > 1:
        draft.writes("p", 1)


@opcode("BMOV")
def _(draft: Draft) -> None:
    draft.ignore("32")
    clears = draft.has("CLEAR")
    if draft.args[0].startswith("B") and draft.args[1].startswith("B"):
        draft.operation = "barrier to barrier"
        draft.variant = barrier(draft, 0) | barrier(draft, 1) << 4 | 256 * clears
    elif draft.args[0].startswith("B"):
        draft.operation = "row to barrier"
        draft.variant = barrier(draft, 0)
        draft.whole("a", 1)
    else:
        draft.operation = "barrier to row"
        draft.variant = barrier(draft, 1) | 256 * clears
        draft.to(0)


def barrier(draft: Draft, number: int) -> int:
    """The number of a convergence barrier."""
    name = draft.args[number]
    if not (name.startswith("B") and name[1:].isdigit()):
        raise draft.refuse()
    return int(name[1:])
