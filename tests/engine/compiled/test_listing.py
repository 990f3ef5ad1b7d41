"""nvdisasm's text becomes numbers, or is refused by name and line."""

import numpy as np
import pytest
from engine.compiled.machine_runs import launch_decoded, listing

from softmax_lib.engine.compiled import code, program
from softmax_lib.engine.compiled.code import _plain
from softmax_lib.engine.compiled.cubin import Cubin, Parameter, read_cubin
from softmax_lib.engine.compiled.listing import read_listing
from softmax_lib.engine.compiled.program import decode_listing
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.worklog.registry import kernels

HEAD = "//--------------------- .text.made               --------------------------\n"


WORDS = [(0x00010002, 0x00050003, 10), (0x80008000, 0x00018000, 0), (0, 0xFFFFFFFF, 77), (0x7FFF0001, 0x10001, 5)]  # fmt: skip
"""Of each four lanes, what R1, R2 and R8 of `run` begin as."""


def run(*statements, register="R0", **how):
    """What is in a register of 32 lanes after `statements`: R0 begins as the lane's number, R1, R2 and R8 as `WORDS`."""
    lines = [
        "S2R R0, SR_TID.X", "MOV R3, 0xc", "IMAD.WIDE R4, R0, R3, c[0x0][0x210]", "S2R R9, SR_TID.X",
        *(f"LDG.E R{n}, [R4.64+{4 * at:#x}]" for at, n in enumerate((1, 2, 8))),
        *statements,
        "IMAD.WIDE R6, R9, 0x4, c[0x0][0x218]", f"STG.E [R6.64], {register}", "EXIT",
    ]  # fmt: skip
    facts = Cubin("made", 16, (Parameter(0, 8), Parameter(8, 8)), 0x210, 0, 0, {}, (), b"", ())
    decoded = decode_listing(listing(*lines, **how), facts, 90)
    x, y = np.array(WORDS * 8, np.uint32).ravel(), np.zeros(32, np.uint32)
    launch_decoded(decoded, 1, 32, [x, y])
    return y


def test_places_lead_from_the_innermost_to_where_that_was_inlined():
    places = '//## File "b.cuh", line 3 inlined at "a.cu", line 9\n//## File "a.cu", line 9\n'
    text = f"{HEAD}made:\n{places}        /*0000*/  EXIT ;\n"
    assert read_listing(text, "made").statements[0].places == (("b.cuh", 3), ("a.cu", 9))


def test_a_kernel_that_is_not_there_and_a_line_that_cannot_be_read_are_named():
    with pytest.raises(NotAvailable, match="no kernel other"):
        read_listing(HEAD, "other")
    with pytest.raises(NotAvailable, match="cannot be read here"):
        read_listing(HEAD + "made:\n        /*0000*/  what is this\n", "made")


@pytest.mark.parametrize(
    "text",
    [
        "TURN.TWICE R0, R1", "FADD.TWICE R0, R1, R2", "FADD R0, X1, R2", "FADD X0, R1, R2", "S2R R0, SR_WEATHER",
        "CS2R R2, SR_CLOCKLO", "MUFU.ROOT R0, R1", "ISETP.LT.U32.AND R1, PT, R1, 0x5, PT", "LDG R0, R2",
        "LDG.E R0, desc[UR4][R2.X32]", "LDG.E R0, desc[UR4][B2]", "LDGSTS.E [R1.X4], desc[UR4][R2.64]",
        "LDC.U8 R0, R1", "LEA.HI R0, -R1, 0x1, RZ, 0x2", "P2R R0, P1, RZ, 0x7f", "IDP.4A.S8 R0, R1, R2, RZ",
        "BSSY P0, `(.text.made)", "BRA `(.L_nowhere)", "BRX R2", "RET.ABS R2 `(.text.made)",
        "SYNCS.TURN.TRANS64 RZ, [UR4], R1", "STAS [R2.X4], R1",
    ],
)  # fmt: skip
def test_what_is_not_known_is_refused_by_name_and_line_where_it_is_executed(text):
    with pytest.raises(NotAvailable) as told:
        run(text, places=[("a/x.cu", 7)])
    assert str(told.value) == f"The machine code of x.cu:7 has {text}, which is not run here."


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (("MOV R0, 0x5", "@!PT TURN.TWICE R0, R1"), 5),  # what no lane executes may be unknown
        (("MOV R1, 0x7", "IADD3 R0, -R1, 0xa, RZ"), 3),
        (("MOV R1, 0xffffffff", "IADD3 R2, P0, R1, 0x1, RZ", "IADD3.X R0, RZ, RZ, RZ, P0, !PT"), 1),
        (("MOV R1, 0x3", "LEA R0, R1, 0x1, 0x4"), 49),
        (("MOV R1, 0x80000000", "LEA.HI R0, R1, 0x1, RZ, 0x2"), 3),
        (("MOV R1, 0x7", "R2P PR, R1, 0x5", "P2R R0, PR, RZ, 0x7f"), 5),
        (("MOV R1, -0x3", "ISETP.EQ.AND P0, PT, R1, -R1, PT", "P2R R0, PR, RZ, 0x7f"), 0),
        (("MOV R1, 0x40400000", "FADD R0, -|R1|, -RZ"), 0xC0400000),
        (("MOV R1, 0xc2fd0000", "MUFU.EX2 R0, R1"), 0),  # 2^-126.5 is no normal number
        (("HFMA2.MMA R0, -RZ, RZ, 1.5, 2",), 0x3E004000),
    ],
)
def test_an_instruction_does_what_its_name_says(statements, expected):
    """Where no form of PTX becomes it: those are tried in test_ptx_forms.py, by the machine code of each."""
    assert run(*statements)[0] == expected


def halves(f):
    """f of the upper halves of three words, and of the lower ones."""
    return lambda *words: f(*(one >> 16 for one in words)) % 65536 << 16 | f(*(one & 65535 for one in words)) % 65536  # fmt: skip


OF_WORDS = {
    "each half of a word has a sign of its own": (("VIADD.16x2 R8, R1, -R2",), halves(lambda a, b, c: a - b)),
    "a sum may go where what it is added to was": (
        ("VABSDIFF4.U8.ACC R8, R1, R2, R8",),
        lambda a, b, c: sum(abs((a >> 8 * n & 255) - (b >> 8 * n & 255)) for n in range(4)) + c),
    "the least of three halves may go where one of them was": (("VIMNMX3.U16x2 R8, R1, R2, R8, PT",), halves(min)),
    "the opposite of what is shifted": (("LEA R8, P0, -R1, RZ, 0x10",), lambda a, b, c: -(a << 16) % 2**32),
    "carries where that is nothing": (
        ("LEA R8, P0, -R1, RZ, 0x10", "SEL R8, R3, RZ, P0"), lambda a, b, c: 12 * (a << 16 & 0xFFFFFFFF == 0)),
    "predicates become bits": (
        ("ISETP.GT.AND P1, PT, R1, RZ, PT", "P2R R8, PR, RZ, 0x2"), lambda a, b, c: 2 * (0 < a < 2**31)),
    "and so do uniform ones": (
        ("UISETP.NE.AND UP6, UPT, URZ, 0x1, UPT", "UP2UR UR8, UPR, URZ, 0x40", "MOV R8, UR8"), lambda a, b, c: 64),
}  # fmt: skip


@pytest.mark.parametrize("claim", OF_WORDS)
def test_lanes_with_words_of_their_own(claim):
    statements, expected = OF_WORDS[claim]
    assert run(*statements, register="R8")[:4].tolist() == [expected(*words) for words in WORDS]


@pytest.mark.parametrize(
    ("printed", "encoding", "kept"),
    [
        ("FSEL R12, R10, -QNAN , P0", 0xFFFFFFFC0A0C7808, "FSEL R12, R10, 0xfffffffc , P0"),
        ("FSEL R12, R10, +QNAN , P0", 0x7FC000010A0C7808, "FSEL R12, R10, 0x7fc00001 , P0"),
        ("FSEL R12, R10, -QNAN , P0", 0xFFFFFFFF0A0C7808, "FSEL R12, R10, -QNAN , P0"),
        ("HADD2 R4, R5, -QNAN , QNAN ", 0xFFFC7FFF05047430, "HADD2 R4, R5, -QNAN , QNAN "),
        ("MOV R5, 0xfffffffc", 0xFFFFFFFC00057802, "MOV R5, 0xfffffffc"),
    ],
)
def test_what_is_no_number_keeps_its_bits(printed, encoding, kept):
    assert _plain(f"/*0010*/ {printed} ; /* {encoding:#018x} */") == f"/*0010*/ {kept} ;"


def test_lanes_that_part_meet_again():
    y = run(
        "S2R R1, SR_LANEID", "ISETP.LT.U32.AND P0, PT, R1, 0x5, PT", "MOV R0, 0x1", "@P0 MOV R0, 0x2",
        "VOTE.ANY R2, PT, P0", "IMAD R0, R2, 0x10, R0",
    )  # fmt: skip
    assert y.tolist() == [0x1F2] * 5 + [0x1F1] * 27


def test_a_listing_of_another_nvdisasm_is_run_with_a_warning_that_names_both(monkeypatch):
    monkeypatch.setattr(code, "disassembler_version", lambda: "99.1")
    with pytest.warns(UserWarning, match=r"99\.1.*13\.5\.37"):
        made = code.compile_code(kernels["naive"].program(32, 64), 90)
    assert made.made_by.endswith(", nvdisasm 99.1")
    with pytest.raises(NotAvailable, match="no kernel made"):
        program.decode(made, "made")


def test_an_arch_that_is_not_run_is_refused_with_those_that_are():
    with pytest.raises(NotAvailable, match="sm_120 is not run here; sm_75, sm_80"):
        read_cubin(b"", "made", 120)
