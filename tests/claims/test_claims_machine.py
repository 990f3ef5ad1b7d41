"""What the page on machine code claims, of the machine code that comes along and of what runs here."""

from collections import Counter
from functools import cache

import nbformat
import numpy as np
import pytest
from address import ROOT
from listings import BEHIND_SOFTMAX
from machine.fast_cases import ALONE, CASES, launched, recorded, units_apart
from machine.machine_runs import EMULATOR_ULPS, assert_agreed
from machine.random_kernels import random_kernel
from machine.random_witnesses import ASKED, MISCOMPILED, REFUSED
from recorded_facts import us

from softmax_lib import xray, xray_launch, xray_softmax
from softmax_lib.emulator import launch
from softmax_lib.errors import NotEmulated, RowTooLong
from softmax_lib.machine.counters import COUNTERS
from softmax_lib.machine.reads import reads, row_reads
from softmax_lib.registry import rungs
from softmax_lib.xrays.code_agreement import ARBITERS

pytestmark = pytest.mark.full  # of its parts tests/machine takes samples


def cell(name):
    """The text of the page's cell with this id, without its first line, and what is counted in it."""
    notebook = nbformat.read(ROOT / "book" / "machine.ipynb", as_version=4)
    (found,) = (one for one in notebook.cells if one.get("id") == name)
    return found.source.partition("\n")[2]


def changes_of(text):
    """By line what the compiler made of it."""
    arrays = [np.ones(2048, np.float32), np.zeros(64, np.float32)]
    return {change.line: change for change in xray_launch(text, 1, 64, arrays).changes}


def test_merged_loads():
    """Two loads side by side in shared memory become one of 8 bytes: half of the requests."""
    change = changes_of(cell("made"))[6]
    assert change.executed[0] * 2 == change.written[0]
    assert change.what == "merged into loads of 8 bytes"
    apart = cell("made").replace("s[t / 2 * 2 + 1]", "s[t / 2 * 2 ^ 33]")  # the control
    assert 6 not in changes_of(apart)


def test_unrolled_loop():
    """Four turns behind one another: as many requests and more sectors, unless it is told not to."""
    change = changes_of(cell("made"))[7]
    assert change.executed[0] == change.written[0]
    assert change.executed[1] > change.written[1]
    assert change.what.startswith("unrolled by 4:")
    rolled = cell("made").replace("    for", "    #pragma unroll 1\n    for")
    assert not {7, 8} & changes_of(rolled).keys()


BELOW = """
__global__ void below(const float* x, float* y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    %s float first = s[0];
    #pragma unroll 1
    for (int c = t; c < 20; c += 64) y[c] = x[t] * first;
}"""


def test_sunk_load():
    """Of two warps the one that goes into the loop asks; as a volatile it stays, and both do."""
    (change,) = changes_of(BELOW % "").values()
    assert (change.written[0], change.executed[0]) == (2, 1)
    assert change.what.startswith("moved below a branch")
    stays = BELOW.replace("s[0]", "*(volatile float*)s") % ""
    assert changes_of(stays) == {}


TWICE = """
__global__ void twice(const %s float* x, float* y) {
    int t = threadIdx.x;
    float first = __shfl_xor_sync(~0u, x[t], 1);
    y[t] = first + x[t];
}"""


def test_kept_in_a_register():
    """A second load of the same address is left out, but not of a volatile, which has to be loaded."""
    loads = {}
    for kind in ("", "volatile"):
        arrays = [np.ones(64, np.float32), np.zeros(64, np.float32)]
        loads[kind] = xray_launch(TWICE % kind, 1, 64, arrays).total["global_load_requests"]
    assert loads == {"": 2, "volatile": 4}


@pytest.mark.parametrize("kernel", rungs(), ids=lambda kernel: kernel.name)
def test_rungs_ask_as_written(kernel):
    """Each line asks for what the source says, at both shapes."""
    for rows, cols in ((64, 4096), (5, 1030)):
        assert xray(kernel, rows, cols).changes == ()


def test_unrolled_rungs():
    """In a turn of a loop of theirs stand several loads, and of no other rung's."""
    unrolled = set()
    for kernel in rungs():
        found = row_reads(reads(kernel, kernel.choose_block_size(4096), 4096, 90))
        unrolled |= {kernel.name for read in found if read.in_loop and read.loads > 1}
    assert unrolled == {"naive", "online", "float4"}


def most(name, what, **how):
    """The largest of a column of a kernel's machine code."""
    return max(getattr(one, what) for one in xray(name, **how).code)


def test_loads_under_way():
    """16 in the first loop of naive, and one at a time in shuffle."""
    first = [one for one in xray("naive").code if one.line == 18]
    assert max(one.in_flight for one in first) == most("naive", "in_flight") == 16
    assert most("shuffle", "in_flight") == 1


def test_live_registers():
    """At least twice as many in fusion and float4 as in shuffle; the former have 16 floats at a time, it has one."""
    for name in ("fusion", "float4"):
        assert most(name, "live") >= 2 * most("shuffle", "live")
    held = {}
    for name in ("fusion", "float4", "shuffle"):
        kernel = next(one for one in rungs() if one.name == name)
        found = row_reads(reads(kernel, kernel.choose_block_size(4096), 4096, 90))
        held[name] = max(read.asked_bytes for read in found) // 4
    assert held == {"fusion": 16, "float4": 16, "shuffle": 1}


def test_none_to_hundreds():
    """Lines without an instruction, and lines with more than a hundred."""
    lines = Counter((one.file, one.line) for one in xray("naive").code)
    assert ("03_naive.cu", 16) not in lines
    assert max(lines.values()) > 100


def test_two_lines():
    """Of naive's instructions nine tenths are of the two lines that have the most."""
    found = xray("naive")
    lines: Counter = Counter()
    for one in found.code:
        lines[one.file, one.line] += one.warps
    two = sum(count for _, count in lines.most_common(2))
    assert two / found.total["instructions"] == pytest.approx(0.9, abs=0.03)


def test_long_division():
    """The function of naive's division is there, and no warp comes to it."""
    code = xray("naive").code
    calls = [one for one in code if "CALL" in one.text]
    assert calls
    assert all(one.warps == 0 and "rcp" in one.text for one in calls)
    target = calls[0].text.partition("(")[2].rstrip(")")
    assert any(one.label == target and one.warps == 0 for one in code)


def test_code_for_other_rows():
    """Less than half of fusion is executed on whole rows, and on others most of that is not."""
    whole, ragged = xray("fusion", 64, 4096), xray("fusion", 64, 4095)
    assert [one.text for one in whole.code] == [one.text for one in ragged.code]
    ran, then = ({one.address for one in found.code if one.warps} for found in (whole, ragged))
    assert len(ran) < len(whole.code) / 2
    assert len(ran & then) < len(ran) / 2
    assert then - ran


def test_instructions_are_not_time():
    """naive executes fewer instructions for each float than float4, and takes more than five times as long."""
    assert xray("naive").total["instructions"] < xray("float4").total["instructions"]
    assert us("naive") > 5 * us("float4")


def test_registers_by_gpu():
    """Nearly as many instructions on each GPU; on a T4 a third more registers."""
    found = [xray("naive", arch=arch) for arch in (75, 80, 90)]
    lengths = [len(one.code) for one in found]
    assert max(lengths) < 1.02 * min(lengths)
    old, middle, new = (one.steps[0].decoded.cubin.registers for one in found)
    assert middle == new
    assert old == pytest.approx(4 / 3 * new, rel=0.05)


# ---- three witnesses


def test_three_witnesses():
    """The kernels of the chapters; the others are in tests/machine/test_witnesses.py."""
    assert EMULATOR_ULPS == 2**3
    for kernel in rungs():
        assert_agreed(kernel, 8, 96)


def test_ten_thousand():
    """What the record says of them; the mistake is there in a kernel that multiplies shorts."""
    assert ASKED["asked"] == 10_000
    assert "H100" in ASKED["gpu"]["name"]
    assert (len(ASKED["differ"]), len(REFUSED), len(MISCOMPILED)) == (13, 5, 8)
    assert "(short)((int)(0u - (unsigned)i2))" in random_kernel(8763).source.text


def test_changes_of_the_assembler():
    """In PTX the kernel asks for what its source asks for, in machine code not."""
    arrays = [np.ones(2048, np.float32), np.zeros(64, np.float32)]
    changes = {
        path: xray_launch(cell("made"), 1, 64, arrays, path=path).changes
        for path in ("ptx", "machine")
    }
    assert changes["ptx"] == ()
    assert {one.line for one in changes["machine"]} == {6, 7}


def test_ptx_counts_the_same():
    """Requests, sectors, wavefronts and all the rest; instructions are the assembler's alone."""
    for kernel in rungs():
        ptx, machine = (xray(kernel, 64, 4096, path=path).total for path in ("ptx", "machine"))
        assert ptx == {name: machine[name] for name in ptx}
        assert machine.keys() - ptx.keys() == {"instructions"}


# ---- what softmax() launches


@cache
def compared():
    """Of each launch in which no block polls our counters, and both recorded ones, by name."""
    return [(launched(case)[0], recorded(case)) for case in ALONE]


def per_float(found):
    return sum(one.lanes for one in found.instructions) / (found.rows * found.cols)


def test_each_moved_once():
    """In and out: 8 bytes a float, and of a grid less than a fiftieth more, which are its slots."""
    for rows, cols in BEHIND_SOFTMAX:
        found = xray_softmax(rows, cols)
        slots = sum(one.bytes_moved for one in found.lines if one.array == "slots")
        assert found.total["bytes_moved"] == 8 * rows * cols + slots
        assert 0 < slots < 8 * rows * cols / 50 if found.kernel == "softmax_grid" else not slots


def test_more_than_fusion():
    """softmax() executes more instructions a float than fusion, but for the rows of 64."""
    more = {
        (rows, cols): per_float(xray_softmax(rows, cols)) > per_float(xray("fusion", rows, cols))
        for rows, cols in BEHIND_SOFTMAX[:-1]
    }
    assert [shape for shape, is_more in more.items() if not is_more] == [(4096, 64)]
    with pytest.raises(RowTooLong):
        xray("fusion", 1, 32769)


def test_read_twice():
    """A row of 20 million floats: 4 bytes in, once more, and out."""
    found = xray_softmax(1, 20_000_000)
    slots = sum(one.bytes_moved for one in found.lines if one.array == "slots")
    assert found.kernel == "softmax_grid"
    assert found.total["bytes_moved"] - slots == pytest.approx(12 * 20_000_000, rel=1e-4)


def test_asm_runs():
    """PTX between lines of C++, which the emulator refuses."""
    source = xray_softmax(64, 8192).program.source
    text = 'extern "C" __global__ void k(float* y) { asm volatile("nanosleep.u32 1;"); y[0] = 1; }'
    y = np.zeros(1, np.float32)
    assert "asm volatile(" in source.text
    with pytest.raises(NotEmulated, match="inline PTX"):
        launch(text, 1, 1, [y])
    assert not xray_launch(text, 1, 1, [y]).hazards_sought
    assert y == 1


def test_two_lanes_send():
    """Two of each warp's lanes, one for each of two blocks, all into memory of a cluster."""
    found = xray_softmax(64, 8192)
    (send,) = (one for one in found.lines if one.space == "cluster")
    text = found.program.source.text.splitlines()
    assert send.line == 29
    assert "void send(" in "".join(text[: send.line]).rpartition("__device__")[2]
    assert "send(mine" in text[62]
    assert found.warps == 4 * 128
    assert (found.blocks, send.requests, send.lanes_a_request) == (128, found.warps, 2)


def test_wait_once():
    """At the cluster's barrier, in line 62."""
    found = xray_softmax(64, 8192)
    assert "barrier.cluster.wait" in found.program.source.text.splitlines()[61]
    (waits,) = (one for one in found.code if "UCGABAR_WAIT" in one.text)
    assert (waits.line, waits.warps) == (62, found.warps)


def test_no_barrier():
    """None of a block; each warp waits for a phase of an mbarrier."""
    found = xray_softmax(64, 8192)
    assert found.total["barriers"] == 0
    (waits,) = (one for one in found.code if "PHASECHK" in one.text and one.warps)
    assert waits.warps == found.warps


def test_h200_counted():
    """Of 44 launches in two precisions and directions 38 poll nothing; tests/machine/test_fast.py compares each."""
    assert (len(CASES), len(ALONE)) == (44, 38)
    assert {case.task.size for case in CASES} == {2, 4}
    assert {case.task.backward for case in CASES} == {True, False}
    exact = [one for one in COUNTERS if one not in ("instructions", *ARBITERS)]
    assert all(both[one] == (ours[one], ours[one]) for ours, both in compared() for one in exact)
    more = {
        case: (ours["instructions"], max(both["instructions"]))
        for case, (ours, both) in zip(ALONE, compared(), strict=True)
    }
    assert max(theirs - ours for ours, theirs in more.values()) == 6
    assert all(theirs == ours or ours > 2e6 for ours, theirs in more.values())
    assert {case.stem for case, (ours, theirs) in more.items() if theirs > ours} == {"cluster"}


def test_wavefronts_of_fast():
    """In 24 of 38 all are equal in both recordings; elsewhere at most a seventh more, and two numbers."""
    equal = 0
    for ours, both in compared():
        pairs = {name: both[name] for name in ARBITERS if {*both[name]} != {ours[name]}}
        equal += not pairs
        for name, counts in pairs.items():
            if name.endswith("wavefronts"):
                assert ours[name] < max(counts) <= ours[name] * 8 / 7
        assert not pairs or any(first != second for first, second in pairs.values())
    assert equal == 24


def test_two_witnesses():
    """One launch of each kind; tests/machine/test_fast.py has all of them."""
    kinds = {(case.stem, case.task.size): case for case in CASES}
    for (_, size), case in kinds.items():
        assert units_apart(case) <= (0 if size == 4 else 1)


def test_four_loads_in_ptx():
    """Between a label and the branch back to it, of the line of the first loop; sixteen in machine code, one after the other."""
    ptx = [one for one in xray("naive", 64, 4096, path="ptx").ptx if one.line == 18]
    most = max(one.warps for one in ptx)
    turn = [one.text for one in ptx if one.warps == most]
    assert sum(text.startswith("ld.global") for text in turn) == 4
    assert "bra" in turn[-1]
    code = [one for one in xray("naive", 64, 4096).code if one.line == 18]
    most = max(one.warps for one in code)
    assert sum("LDG" in one.text for one in code if one.warps == most) == 16
