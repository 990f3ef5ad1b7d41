"""Registers that instructions read and write, and which ones are live in between."""

import pytest
from engine.compiled.machine_runs import listing
from full_tables import some

from softmax_lib.engine.compiled.code import files_in, read_file
from softmax_lib.engine.compiled.listing import read_listing
from softmax_lib.engine.compiled.registers import (
    live_after,
    loads_in_flight,
    predicates_written,
    read,
    written,
)
from softmax_lib.engine.folders import listing_folder


@pytest.mark.parametrize(
    ("text", "writes", "reads"),
    [
        ("FADD R4, R5, -R6", {4}, {5, 6}), ("FFMA R4, |R4|, 0.5, R9", {4}, {4, 9}),
        ("FSETP.GT.AND P0, PT, R10, R5, PT", set(), {10, 5}), ("IADD3 R5, P2, R5, 0x400, RZ", {5}, {5}),
        ("IMAD.WIDE.U32 R2, R7, UR6, R4", {2, 3}, {7, 4, 5}), ("IMAD.HI.U32 R7, R7, R11, R6", {7}, {7, 11, 6}),
        ("LDG.E.CONSTANT R3, desc[UR4][R2.64+0x10]", {3}, {2, 3}),
        ("@!P1 LDG.E.128 R4, desc[UR14][R22.64]", {4, 5, 6, 7}, {22, 23}),
        ("STG.E.128 desc[UR14][R28.64], R12", set(), {28, 29, 12, 13, 14, 15}),
        ("STS.64 [R19+UR4], R4", set(), {19, 4, 5}), ("LDS.U.64 R16, [R18]", {16, 17}, {18}),
        ("ATOMG.E.ADD.STRONG.GPU PT, R5, desc[UR4][R2.64], R7", {5}, {2, 3, 7}),
        ("RED.E.ADD.64.STRONG.GPU desc[UR4][R2.64], R6", set(), {2, 3, 6, 7}),
        ("SHFL.BFLY PT, R3, R0, 0x10, 0x1f", {3}, {0}), ("DADD R4, R6, -R8", {4, 5}, {6, 7, 8, 9}),
        ("F2F.F64.F32 R4, R2", {4, 5}, {2}), ("F2F.F32.F64 R4, R2", {4}, {2, 3}),
        ("F2I.U64.TRUNC R2, R2", {2, 3}, {2}), ("I2F.U64.RP R8, R6", {8}, {6, 7}),
        ("MUFU.RCP R6, R0", {6}, {0}), ("CS2R R12, SRZ", {12, 13}, set()),
        ("RET.REL.NODEC R8 `(made)", set(), {8, 9}), ("VOTE.ANY R10, PT, P1", {10}, set()),
        ("R2UR UR4, R2", set(), {2}), ("LEA.HI.X R10, R2, UR9, R3, 0x2, P0", {10}, {2, 3}),
    ],
)  # fmt: skip
def test_registers_of_an_instruction(text, writes, reads):
    (statement,) = listing(text).statements
    assert (written(statement), read(statement)) == (writes, reads)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ISETP.GE.AND P0, PT, R4, R7, P3", {"P0", "PT"}), ("IADD3 R5, P2, R5, 0x400, RZ", {"P2"}),
        ("IADD3.X R10, RZ, R10, RZ, P2, !PT", set()), ("SEL R7, RZ, 0x1, !P0", set()),
        ("SHFL.BFLY PT, R3, R0, 0x10, 0x1f", {"PT"}),
    ],
)  # fmt: skip
def test_conditions_that_an_instruction_may_write(text, names):
    assert predicates_written(listing(text).statements[0]) == names


LIVE = {
    "a register is live from its write to its last use": ("""
        MOV R1, 0x1
        MOV R2, 0x2
        FADD R3, R1, R2
        STS [R2], R3
        EXIT""", [{1}, {1, 2}, {2, 3}, set(), set()]),
    "around a loop what the next turn needs stays": ("""
        MOV R1, 0x1
        MOV R2, 0x2
        .L_x_0:
        IADD3 R2, R2, R1, RZ
        ISETP.GE.AND P0, PT, R2, 0x9, PT
        @!P0 BRA `(.L_x_0)
        EXIT""", [{1}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, set()]),
    "under a condition a write ends only what is read under it": ("""
        MOV R1, 0x1
        @!P1 LDS R2, [R1]
        @!P1 FADD R1, R1, R2
        STS [RZ], R1
        EXIT""", [{1}, {1, 2}, {1}, set(), set()]),
    "a branch knows its condition": ("""
        @P0 MOV R4, 0x1
        @P0 BRA `(.L_x_0)
        MOV R4, 0x2
        .L_x_0:
        STS [RZ], R4
        EXIT""", [{4}, {4}, {4}, set(), set()]),
    "a function needs its own and its caller keeps the others": ("""
        MOV R1, 0x1
        MOV R2, 0x2
        CALL.REL.NOINC `($made$half)
        STS [R1], R3
        EXIT
        $made$half:
        FMUL R3, R2, 0.5
        RET.REL.NODEC R8 `(made)""", [{1}, {1, 2}, {1, 3}, set()]),
}  # fmt: skip


@pytest.mark.parametrize("claim", LIVE)
def test_what_is_needed_later_is_live(claim):
    text, expected = LIVE[claim]
    found = live_after(listing(*text.strip().splitlines()))
    assert [set(one) for one in found[: len(expected)]] == expected


def test_loads_are_under_way_until_one_of_their_registers_is_needed():
    code = """
        LDG.E.64 R2, desc[UR4][R8.64]
        LDG.E R4, desc[UR4][R8.64]
        FADD R5, R3, 1
        LDG.E R6, desc[UR4][R8.64]
        MOV R4, 0x1
        FADD R6, R6, R6
        EXIT"""
    assert loads_in_flight(listing(*code.splitlines()[1:])) == [1, 2, 1, 2, 1, 0, 0]


FILES = {
    f"{path.parent.stem}/{path.stem}": path
    for archive in sorted(listing_folder().glob("sm_*"))
    for path in sorted(files_in(archive))
}


@pytest.mark.parametrize("name", some(FILES, every=8))
def test_no_more_registers_are_live_than_a_thread_has(name):
    for held in list(read_file(FILES[name]).values())[:2]:
        for kernel, facts in held["cubins"].items():
            code = read_listing(held["text"], kernel)
            most = max(map(len, live_after(code)))
            assert 0 < most <= facts["registers"]
