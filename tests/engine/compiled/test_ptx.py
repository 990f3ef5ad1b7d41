"""PTX as it is read: scopes, memory, calls, where lanes meet; and what is refused, in one sentence each."""

import numpy as np
import pytest
from engine.compiled.machine_runs import launch_decoded, requests

from softmax_lib import xray
from softmax_lib.engine.compiled.ptx.meetings import Branch, Meetings, find_meetings
from softmax_lib.engine.compiled.ptx.program import translate_module
from softmax_lib.engine.compiled.ptx.reading import literal, read_module
from softmax_lib.engine.errors import Deadlock, NotAvailable

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def run_text(body, threads=32, *, before="", words=32, head=".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<9>;"):  # fmt: skip
    """Run PTX whose kernel has y, an array of words, in %rd1, and its thread's number in %r1."""
    text = f"""{HEAD}{before}
.visible .entry k(.param .u64 k_param_0)
{{
    {head}
    ld.param.u64 %rd2, [k_param_0];
    cvta.to.global.u64 %rd2, %rd2;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd1, %rd2, %rd3;
    {body}
    ret;
}}
"""
    y = np.zeros(words, np.uint32)
    decoded = translate_module(read_module(text), "k", 90)
    return y, launch_decoded(decoded, 1, threads, [y])


# ---- names, memory and calls


TWICE = """
.func (.param .b32 out) twice(.param .b32 in, .param .align 4 .b8 pair[8])
{
    .reg .b32 %r<5>; .reg .pred %p<2>;
    ld.param.u32 %r1, [in]; ld.param.u32 %r2, [pair+4];
    setp.gt.u32 %p1, %r1, 100;
    @%p1 ret;
    add.u32 %r3, %r1, %r2;
    st.param.b32 [out], %r3;
    ret;
}
"""
CALL = "{ .param .b32 a; .param .align 4 .b8 b[8]; .param .b32 c; st.param.b32 [a], %r2; st.param.b32 [b+4], %r1; call.uni (c), twice, (a, b); ld.param.b32 %r2, [c]; }"
TURN = "{ .reg .pred p; mov.u32 %r2, 0; AGAIN: add.u32 %r2, %r2, 1; add.u32 %r3, %r3, 1; setp.lt.u32 p, %r2, 4; @p bra AGAIN; }"
TABLE = (
    ".const .align 4 .b8 table[128] = {1, 0, 0, 0, 255, 255};\n.global .align 4 .u32 held = 1000;\n"
)
PROGRAMS = {
    "a name means what the nearest scope declares": ("""
    mov.u32 %r2, 5;
    { .reg .b32 %r2; mov.u32 %r2, 7; { .reg .b32 %r2; mov.u32 %r2, 9; } st.global.u32 [%rd1], %r2; }
    ld.global.u32 %r3, [%rd1];
    add.u32 %r3, %r3, %r2;
    st.global.u32 [%rd1], %r3;""", [12] * 32, None),
    "a label in a scope is that scope's own": (f"mov.u32 %r3, 0; {TURN} {TURN} st.global.u32 [%rd1], %r3;", [8] * 32, None),
    "variables begin as they are written": ("""
    mul.wide.u32 %rd4, %r1, 4; mov.u64 %rd5, table; add.s64 %rd5, %rd5, %rd4; ld.const.u32 %r2, [%rd5];
    ld.global.u32 %r3, [held]; add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd1], %r2;""", [1001, 66535] + [1000] * 30, None),
    "arrays in shared memory lie apart, and so do those of a thread": ("""
    .shared .align 4 .b8 one[128]; .shared .align 4 .b8 other[128]; .local .align 4 .b8 own[8];
    mul.wide.u32 %rd4, %r1, 4; mov.u64 %rd5, one; mov.u64 %rd6, other;
    add.s64 %rd5, %rd5, %rd4; add.s64 %rd6, %rd6, %rd4;
    st.shared.u32 [%rd5], %r1; st.shared.u32 [%rd6], 100; st.local.u32 [own+4], %r1;
    bar.sync 0;
    xor.b32 %r2, %r1, 31; mul.wide.u32 %rd4, %r2, 4; mov.u64 %rd5, one; add.s64 %rd5, %rd5, %rd4;
    ld.shared.u32 %r3, [%rd5]; ld.shared.u32 %r4, [%rd6]; ld.local.u32 %r5, [own+4];
    add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5;
    st.global.u32 [%rd1], %r3;""", [131] * 32, None),  # 31 - n, 100 and n
    "a function is put in the place of each call": (
        f"mov.u32 %r2, 1; {CALL} {CALL} st.global.u32 [%rd1], %r2;", [1 + 2 * n for n in range(32)], None),
    "what is never reached is not refused": ("st.global.u32 [%rd1], 1; exit; mma.sync.x %r2, %r3, %r4, %r5;", [1] * 32, None),
    "lanes meet behind a loop that each leaves in its own turn": ("""
    mov.u32 %r2, 0;
TURN:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra TURN;
    st.global.u32 [%rd1], %r2;""", [1, *range(1, 32)], [1]),
    "lanes of one way do not wait at the other": ("""
    and.b32 %r2, %r1, 1;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra EVEN;
    st.global.u32 [%rd1], 1;
    bra BOTH;
EVEN:
    st.global.u32 [%rd1], 2;
BOTH:
    st.global.u32 [%rd1], %r1;""", [*range(32)], [1, 1, 1]),
    "a table of labels leads each lane to its own": ("""
    and.b32 %r2, %r1, 3;
    ways: .branchtargets A, B, A, C;
    brx.idx %r2, ways;
A:  mov.u32 %r3, 10; bra END;
B:  mov.u32 %r3, 20; bra END;
C:  mov.u32 %r3, 30;
END:
    st.global.u32 [%rd1], %r3;""", [10, 20, 10, 30] * 8, [1]),
}  # fmt: skip
"""By what is claimed: the text, what each lane stores, and requests of each store."""


@pytest.mark.parametrize("claim", PROGRAMS)
def test_ptx_is_run_as_it_is_documented(claim):
    text, expected, stores = PROGRAMS[claim]
    y, counted = run_text(text, before=TABLE + TWICE)
    assert y[: len(expected)].tolist() == expected
    assert stores is None or requests(counted, lambda one: one.opcode == "st") == stores


def test_a_call_that_only_some_lanes_make_is_refused():
    nothing = ".func nothing() { ret; }\n"
    with pytest.raises(NotAvailable, match=r"The PTX of k has @%p1 call\.uni nothing"):
        run_text("setp.eq.u32 %p1, %r1, 0; @%p1 call.uni nothing;", before=nothing)


def test_numbers_are_read_as_ptx_writes_them():
    assert [literal(text) for text in ("12", "-3", "0xff", "0f3F800000", "0d3FF0000000000000", "7U", "WARP_SZ")] == [
        12, -3, 255, 0x3F800000, 0x3FF0000000000000, 7, 32,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="invalid literal"):
        literal("%r1")


# ---- where lanes meet


MEETINGS = {
    "two ways meet where they come together": (8, {1: (4, True), 3: (6, False)}, {1: 6}, {}),
    "lanes that leave a loop for good are not waited for within a turn": (
        10, {2: (6, True), 4: (9, True), 7: (1, True)}, {2: 6}, {1: (9, frozenset(range(1, 8)))}),
    "who branches to the end is gone": (4, {1: (3, True), 3: (4, False)}, {}, {}),
}  # fmt: skip
"""Of so many statements those that lead to another, or may go on too; where their lanes meet, and those of each loop."""


@pytest.mark.parametrize("claim", MEETINGS)
def test_where_lanes_meet(claim):
    count, branches, of_branches, of_loops = MEETINGS[claim]
    branches = {at: Branch((goal,), goes_on) for at, (goal, goes_on) in branches.items()}
    assert find_meetings(count, branches) == Meetings(of_branches, of_loops)


# ---- what cannot be done


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 %r2, %r3, %r4, %r5;", "mma.sync"),
        ("add.sat.s32 %r2, %r3, %r4;", "add.sat.s32"), ("cvt.rna.tf32.f32 %r2, %r3;", "cvt.rna.tf32.f32"),
        ("mov.u32 %r2, %dynamic_smem_size;", "mov.u32 %r2, %dynamic_smem_size"),
        ("atom.global.add.f16 %r2, [%rd1], %r3;", "atom.global.add"), ("barrier.cluster.try;", "barrier.cluster.try"),
        ("mbarrier.arrive.noComplete.shared.b64 %rd1, [%r2], 1;", "mbarrier.arrive.noComplete"),
        ("cp.async.bulk.commit_group;", "cp.async.bulk"), ("mul.lo.f32 %r2, %r3, %r4;", "mul.lo.f32"),
        ("ex2.approx.f64 %rd1, %rd1;", "ex2.approx.f64"), ("bar.arrive.shared 0, 32;", "bar.arrive.shared"),
        ("vote.ballot.b32 %r2, %p1;", "vote.ballot.b32"), ("shfl.idx.b32 %r2, %r3, 0, 31;", "shfl.idx.b32"),
        ("cp.async.ca.shared.local [%r2], [%rd1], 4;", "cp.async.ca.shared.local"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_named(statement, said):
    with pytest.raises(NotAvailable, match=f"The PTX of k has {said}.*, which is not run here"):
        run_text(statement)


@pytest.mark.parametrize(
    ("body", "said"),
    [("ret;", "The PTX has no kernel other"), ("add.u32 %r1, %r2", r"PTX that cannot be read here: add\.u32")],
)  # fmt: skip
def test_a_kernel_that_is_not_there_and_text_that_is_no_ptx_are_named(body, said):
    with pytest.raises(NotAvailable, match=said):
        translate_module(read_module(f"{HEAD}.visible .entry k() {{ {body} }}"), "other", 90)


def test_lanes_that_wait_in_vain_are_a_deadlock():
    with pytest.raises(Deadlock):
        run_text("setp.lt.u32 %p1, %r1, 3; @%p1 bra HERE; bar.sync 0, 64; HERE:")


def test_loads_are_executed_as_often_as_they_ask():
    found = xray("float4", 3, 1030, path="ptx")
    loads = sum(one.warps for one in found.ptx if " ld.global" in f" {one.text.split('@')[0]}")
    assert loads >= found.total["global_load_requests"] > 0
    shared = [one for one in found.ptx if one.text.startswith("ld.shared")]
    assert sum(one.warps for one in shared) == found.total["shared_load_requests"]
