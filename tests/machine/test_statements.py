"""Single statements of machine code, as nvdisasm prints them, run on lanes with numbers of their own."""

import numpy as np
import pytest

from softmax_lib.engine.compiled.code import _plain
from softmax_lib.engine.compiled.cubin import Cubin, Parameter
from softmax_lib.engine.compiled.launching import Threads, launch
from softmax_lib.engine.compiled.listing import read_listing
from softmax_lib.engine.compiled.memory import Memory
from softmax_lib.engine.compiled.program import decode_listing

AT = 0x210
"""Where parameters begin."""


def run(*statements, words=4):
    """What is in R8 after `statements`: R0 has the lane's number, R1 and R2 words of x, and R8 begins as a third one."""
    loads = [f"LDG.E R{register}, [R4.64+{4 * n:#x}]" for n, register in enumerate((1, 2, 8))]
    lines = [
        "S2R R0, SR_TID.X", f"MOV R3, {12:#x}", f"IMAD.WIDE R4, R0, R3, c[0x0][{AT:#x}]", *loads,
        *statements, f"IMAD.WIDE R6, R0, 0x4, c[0x0][{AT + 8:#x}]", "STG.E [R6.64], R8", "EXIT",
    ]  # fmt: skip
    text = "\n".join(f"/*{16 * n:04x}*/ {line} ;" for n, line in enumerate(lines))
    parameters = (Parameter(0, 8), Parameter(8, 8))
    cubin = Cubin("k", 16, parameters, AT, 0, 0, {}, (), b"", ())
    decoded = decode_listing(read_listing(f"//-- .text.k --\n{text}\n", "k"), cubin, 90)
    assert not decoded.refused
    x, y, memory = np.array(WORDS, np.uint32).reshape(-1), np.zeros(len(WORDS), np.uint32), Memory()
    placed = [memory.place("x", x), memory.place("y", y)]
    launch(decoded, Threads((1, 1, 1), (len(WORDS), 1, 1)), placed, memory)
    return [int(one) for one in y]


WORDS = [(0x00010002, 0x00050003, 10), (0x80008000, 0x00018000, 0), (0, 0xFFFFFFFF, 77), (0x7FFF0001, 0x10001, 5)]  # fmt: skip


def halves(f):
    """f of the halves of the first two words, of each lane."""
    return [f(a >> 16, b >> 16) % 65536 << 16 | f(a & 65535, b & 65535) % 65536 for a, b, _ in WORDS]  # fmt: skip


def test_each_half_of_a_word_has_a_sign_of_its_own():
    assert run("VIADD.16x2 R8, R1, -R2") == halves(lambda a, b: a - b)


def test_a_sum_may_go_where_what_it_is_added_to_was():
    differences = [
        sum(abs((a >> 8 * n & 255) - (b >> 8 * n & 255)) for n in range(4)) + c for a, b, c in WORDS
    ]
    assert run("VABSDIFF4.U8.ACC R8, R1, R2, R8") == differences


def test_the_least_of_three_halves_may_go_where_one_of_them_was():
    def least(a, b, c):
        return min(a >> 16, b >> 16, c >> 16) << 16 | min(a & 65535, b & 65535, c & 65535)

    assert run("VIMNMX3.U16x2 R8, R1, R2, R8, PT") == [least(*words) for words in WORDS]


def test_the_opposite_of_what_is_shifted_carries_where_that_is_nothing():
    carries = [int(a << 16 & 0xFFFFFFFF == 0) for a, _, _ in WORDS]
    assert run("LEA R8, P0, -R1, RZ, 0x10", "SEL R8, R3, RZ, P0") == [12 * one for one in carries]
    assert run("LEA R8, P0, -R1, RZ, 0x10") == [-(a << 16) % 2**32 for a, _, _ in WORDS]


def test_uniform_predicates_become_bits():
    found = run("ISETP.GT.AND P1, PT, R1, RZ, PT", "P2R R8, PR, RZ, 0x2")
    assert found == [2 * int(0 < a < 2**31) for a, _, _ in WORDS]
    assert run("UISETP.NE.AND UP6, UPT, URZ, 0x1, UPT", "UP2UR UR8, UPR, URZ, 0x40", "MOV R8, UR8") == [64] * 4  # fmt: skip


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
