"""Opcodes by which lanes tell each other something, or learn who they are."""

from __future__ import annotations

from softmax_lib.engine.compiled.draft import Draft, make, opcodes

SHUFFLES = {"UP": 0, "DOWN": 1, "BFLY": 2, "IDX": 3}
SPECIAL = (
    "SR_TID.X", "SR_TID.Y", "SR_TID.Z", "SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z", "SR_LANEID", "SR_EQMASK", "SR_LTMASK",
    "SR_LEMASK", "SR_GTMASK", "SR_GEMASK", "SR_VIRTID", "SR_CLOCKLO", "SR_CLOCKHI", "SR_SWINHI", "SR_CgaCtaId",
    "%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctaid.z", "SRZ",
)  # fmt: skip
_ZEROS = ("SR_SMID", "SR_VIRTCFG")
REDUCTIONS = {"SUM": 0, "ADD": 0, "MIN": 1, "MAX": 2, "AND": 3, "OR": 4, "XOR": 5}
SIGNED = 8
_VOTES = {"ANY": 0, "ALL": 1, "EQ": 2}


opcodes({
    "SHFL": ("shuffle", "pdabc", SHUFFLES),
    "MATCH": ("match", "Pda", {"ANY": 0, "U64": 1, "ALL": 2}),
    "R2UR": ("make uniform", "Pda"),
})(make)  # fmt: skip


@opcodes({"VOTE": (0,), "VOTEU": (4,)})
def vote(draft: Draft, variant: int) -> None:
    draft.operation, draft.variant = "vote", draft.choose(_VOTES) | variant
    number = 0
    if not draft.is_predicate(0):
        draft.to(0)
        number = 1
    if number < len(draft.args) - 1:
        draft.writes("p", number)
        number += 1
    draft.reads("s", number)


@opcodes("REDUX")
def redux(draft: Draft) -> None:
    draft.operation = "reduce"
    draft.variant = draft.choose(REDUCTIONS, 3) | draft.flags({"S32": SIGNED})
    draft.take("da")


@opcodes("S2R S2UR")
def s2r(draft: Draft) -> None:
    draft.operation, name = "read special", draft.args[1]
    draft.to(0)
    if name in _ZEROS:
        name = "SRZ"
    if name not in SPECIAL:
        raise draft.refuse()
    draft.variant = SPECIAL.index(name)


@opcodes("CS2R")
def cs2r(draft: Draft) -> None:
    is_word = draft.has("32")
    if is_word or draft.args[1] != "SRZ":
        if draft.args[1] == "SR_CLOCKLO" and not is_word:
            raise draft.refuse()
        return s2r(draft)
    draft.operation = "whole move pair"
    draft.to(0)
    return None


@opcodes("B2R")
def b2r(draft: Draft) -> None:
    if not draft.has("RESULT"):
        raise draft.refuse()
    draft.operation = "read barrier"
    draft.take("dP")


@opcodes("BMOV")
def bmov(draft: Draft) -> None:
    clears = draft.flags({"32": 0, "CLEAR": 256})
    to_barrier, of_barrier = draft.args[0].startswith("B"), draft.args[1].startswith("B")
    draft.variant = barrier(draft, 0 if to_barrier else 1)
    if to_barrier and of_barrier:
        draft.operation = "barrier to barrier"
        draft.variant |= barrier(draft, 1) << 4 | clears
    elif to_barrier:
        draft.operation = "row to barrier"
        draft.whole("a", 1)
    else:
        draft.operation = "barrier to row"
        draft.variant |= clears
        draft.to(0)


def barrier(draft: Draft, number: int) -> int:
    """The number of a convergence barrier."""
    name = draft.args[number]
    if not (name.startswith("B") and name[1:].isdigit()):
        raise draft.refuse()
    return int(name[1:])
