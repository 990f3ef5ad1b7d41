"""What an instruction is for, in a reader's words; and what a launch asked for in all, as a record has it of ncu."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from softmax_lib.engine.compiled.launching import Counted
from softmax_lib.engine.compiled.listing import Statement

_OPCODES = {
    "floats": "FADD FADD32I FMUL FMUL32I FFMA FFMA32I FMNMX FSEL FSETP FSET FCHK",
    "doubles": "DADD DMUL DFMA DMNMX DSETP",
    "halves": "HADD2 HADD2_32I HMUL2 HMUL2_32I HFMA2 HFMA2_32I HMNMX2 VHMNMX HSETP2 HSET2",
    "special functions": "MUFU",
    "conversions": "F2I F2IP I2F I2FP F2F FRND F2FP",
    "memory": "LDG STG LDS STS LDL STL LD ST LDGSTS ATOMG ATOMS ATOM RED REDG STAS",
    "constants": "LDC ULDC",
    "exchanges": "SHFL VOTE VOTEU MATCH REDUX",
    "barriers": "BAR B2R WARPSYNC MEMBAR ERRBAR CGAERRBAR CCTL DEPBAR LDGDEPBAR FENCE UCGABAR_ARV UCGABAR_WAIT SYNCS",
    "control": "BRA BRX BRXU CALL RET EXIT KILL BSSY BSYNC BREAK BMOV ENDCOLLECTIVE YIELD NOP LEPC BPT NANOSLEEP",
    "moves": "MOV UMOV MOV32I S2R S2UR CS2R R2UR P2R R2P",
}  # fmt: skip
_KIND_OF = {opcode: kind for kind, opcodes in _OPCODES.items() for opcode in opcodes.split()}

KINDS = (*_OPCODES, "whole numbers")
"""Kinds of instructions; the last one is of what all others are not."""

_SHUFFLES = {"IDX": "shuffle", "UP": "shuffle_up", "DOWN": "shuffle_down", "BFLY": "shuffle_xor"}
_BARRIERS = {"POPC": "barrier_count", "AND": "barrier_and", "OR": "barrier_or"}
_REDUCTIONS = {
    "SUM": "reduce_add", "ADD": "reduce_add", "MIN": "reduce_min", "MAX": "reduce_max", "AND": "reduce_and",
    "XOR": "reduce_xor",
}  # fmt: skip


def kind_of(statement: Statement) -> str:
    """One of `KINDS`."""
    return _KIND_OF.get(statement.opcode, KINDS[-1])


def access_of(statement: Statement) -> str:
    """ "load", "store" or "atomic", of an instruction that asks memory for something."""
    if statement.opcode.startswith(("LD", "ld", "cp")):
        return "load"
    return "store" if statement.opcode.startswith(("ST", "st")) else "atomic"


def call_of(statement: Statement) -> str:
    """What a trace calls it where lanes or warps meet, such as "shuffle_xor"; else ""."""
    modifiers = [one.upper() for one in statement.modifiers]  # PTX has its names in small letters
    named = set(modifiers)
    match statement.opcode.upper():
        case "SHFL":
            return next(_SHUFFLES[one] for one in modifiers if one in _SHUFFLES)
        case "BAR" | "BARRIER" if "WARP" in named:
            return "syncwarp"
        case "BAR" | "BARRIER" if named.isdisjoint(("ARV", "ARRIVE")):
            return next((_BARRIERS[one] for one in modifiers if one in _BARRIERS), "barrier")
        case "VOTE" | "VOTEU":
            is_ballot = "BALLOT" in named or statement.operands[0].lstrip("U").startswith("R")
            return "all" if "ALL" in named else "ballot" if is_ballot else "any"
        case "ACTIVEMASK":
            return "ballot"
        case "MATCH":
            return "match_all" if "ALL" in named else "match_any"
        case "REDUX":
            return next((_REDUCTIONS[one] for one in modifiers if one in _REDUCTIONS), "reduce_or")
        case "WARPSYNC":
            return "syncwarp"
    return ""


# ---- counters

_ACCESSES = ("load", "store", "atomic", "reduction")

COUNTERS = (
    "instructions",
    *(f"global_{kind}_{unit}" for kind in _ACCESSES for unit in ("requests", "sectors")),
    *(f"shared_{kind}_requests" for kind in ("load", "store")),
    *(f"shared_{kind}_{unit}" for kind in _ACCESSES[:3] for unit in ("wavefronts", "conflicts")),
    *(f"local_{kind}_{unit}" for kind in ("load", "store") for unit in ("requests", "sectors")),
)
"""Those that ncu counts too: instructions are those of warps."""


def add_up(steps: Iterable[Counted]) -> Counter[str]:
    """Counters of all steps together, by `COUNTERS` and a few more names."""
    found: Counter[str] = Counter()
    for counted in steps:
        found["instructions"] += int(counted.executed["warps"].sum())
        for site, number in enumerate(counted.decoded.sites):
            statement = counted.decoded.statements[number]
            gives_nothing = statement.opcode.startswith(("RED", "red"))
            access = "reduction" if gives_nothing else access_of(statement)
            for column, counts in enumerate(counted.counts[site]):
                for unit in ("requests", "sectors", "wavefronts", "conflicts"):
                    found[f"{counted.space_of(column)}_{access}_{unit}"] += int(counts[unit])
    return found
