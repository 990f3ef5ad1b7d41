"""How many loads leave before the first is needed, as found in machine code."""

import subprocess
from dataclasses import replace
from types import SimpleNamespace

import pytest

from softmax_lib import kernels
from softmax_lib.engine.compiled import code as machine_code
from softmax_lib.engine.errors import NotAvailable
from softmax_lib.engine.source import Source
from softmax_lib.worklog import reads as module
from softmax_lib.worklog.reads import Read, in_flight_per_thread, reads, row_reads

LISTING = """\
//--------------------- .text.softmax_naive       --------------------------
	//## File "made_up.cu", line 9
        /*0000*/                   S2R R0, SR_TID.X ;
	//## File "made_up.cu", line 10
        /*0010*/                   LDG.E R4, desc[UR4][R2.64] ;
        /*0020*/                   FADD R4, R4, 1 ;
.L_x_1:
	//## File "made_up.cu", line 3 inlined at "made_up.cu", line 12
	//## File "made_up.cu", line 12
        /*0030*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0040*/                   IADD3 R2, P1, R2, 0x10, RZ ;
        /*0050*/              @!P0 LDG.E.128.CONSTANT R8, desc[UR4][R2.64] ;
	//## File "made_up.cu", line 13
        /*0060*/                   FADD R12, R11, R12 ;
        /*0070*/                   CALL.REL.NOINC `($slow) ;
        /*0080*/               @P0 BRA `(.L_x_1) ;
        /*0090*/                   EXIT ;
"""


def read_listing(monkeypatch, text):
    monkeypatch.setattr(module, "code_of", lambda program, arch: SimpleNamespace(text=text))
    return reads(kernels["naive"], 32, 100, 90)


def test_a_batch_ends_where_one_of_its_registers_is_needed(monkeypatch):
    text = LISTING.replace("made_up.cu", "03_naive.cu")
    loop, alone = read_listing(monkeypatch, text)
    assert loop == Read((3, 12), 2, 32, pytest.approx(6 / 8), 1, True)  # 11 is the last of 8 to 11
    assert (alone.lines, alone.loads, alone.in_loop) == ((10,), 1, False)
    sooner = text.replace("FADD R12, R11, R12", "MOV R13, R14").replace(
        "IADD3 R2, P1, R2", "FADD R2, R7"
    )
    loop, *_ = read_listing(monkeypatch, sooner)
    assert (loop.loads, loop.asked_bytes) == (1, 16)


def test_loops_count_before_straight_code_and_by_the_harmonic_mean():
    loops = [Read((1,), 16, 64, 1.0, 0, True), Read((2,), 4, 16, 1.0, 0, True)]
    edge, way, other = (
        Read((n,), loads, 4 * n * loads, 1.0, 0, False) for n, loads in ((1, 1), (4, 8), (4, 5))
    )
    assert row_reads([*loops, edge]) == loops
    assert in_flight_per_thread([*loops, edge]) == pytest.approx(2 / (1 / 64 + 1 / 16))
    assert in_flight_per_thread([edge, way, other]) == 80  # the way that asks for least


@pytest.mark.parametrize(
    ("disassembler", "said"),
    [
        (None, "pip install nvidia-cuda-nvdisasm"),
        ("nvdisasm", "cannot read code for sm_90: nvdisasm fatal: unknown arch"),
    ],
)
def test_without_an_nvdisasm_that_reads_the_code_it_says_so(
    disassembler, said, monkeypatch, tmp_path
):
    answer = SimpleNamespace(returncode=1, stdout="", stderr="nvdisasm fatal: unknown arch\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(machine_code, "disassembler", lambda: disassembler)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: answer)
    changed = Source("naive.cu", f"\n{kernels['naive'].source.text}")  # which does not come along
    with pytest.raises(NotAvailable, match=said):
        reads(replace(kernels["naive"], given_source=changed), 32, 100, 90)
