"""What the page on machine code states, of the machine code that comes along and of what runs here."""

from collections import Counter

import numpy as np
from engine.compiled.machine_runs import assert_agreed
from engine.compiled.random_on_gpu import ASKED, MISCOMPILED, REFUSED
from facts.recorded_facts import cells, edited, us
from listings import BEHIND_SOFTMAX

from softmax_lib import xray, xray_launch, xray_softmax
from softmax_lib.worklog.reads import reads, row_reads
from softmax_lib.worklog.registry import kernels, rungs

ROWS, COLS = 64, 4096
MADE = cells("machine")["made"].partition("\n")[2]
NAMES = ("naive", "naive_divide", "shuffle", "constant_stride", "float4", "fusion", "fusion_expf")
found = {name: xray(name, ROWS, COLS) for name in NAMES}
naive, fusion = found["naive"].code, found["fusion"].code
lines = Counter((one.file, one.line) for one in naive)
turns = {line: [one for one in found["shuffle"].code if one.line == line] for line in (37, 39)}
load = [one for one in turns[37] if one.warps == 8192]
loop = [one for one in naive if one.line == 18 and one.warps == 512]
exponential = [one.text.split()[0] for one in turns[39]]
meets = max(turns[39], key=lambda one: one.warps)
other = xray("fusion", ROWS, COLS - 1).code
t4 = xray("naive", arch=75)
behind = {shape: xray_softmax(*shape) for shape in BEHIND_SOFTMAX}
ptx = [one for one in xray("naive", ROWS, COLS, path="ptx").ptx if one.line == 18]


def most(name, what):
    """The largest of a column of a kernel's machine code."""
    return max(getattr(one, what) for one in found[name].code)


def registers(of):
    return of.steps[0].decoded.cubin.registers


def per_float(name):
    return sum(one.lanes for one in found[name].instructions) / (ROWS * COLS)


def held(name):
    """Floats that a thread has asked for at a time."""
    kernel = kernels[name]
    every = row_reads(reads(kernel, kernel.choose_block_size(COLS), COLS, 90))
    return max(read.asked_bytes for read in every) // 4


def changes(old="", new=""):
    """By line what the compiler made of the editable kernel, after an edit."""
    arrays = [np.ones(2048, np.float32), np.zeros(64, np.float32)]
    launched = xray_launch(edited(MADE, (old, new)), 1, 64, arrays)
    return {change.line: change for change in launched.changes}


def slots(of):
    """Bytes that blocks exchange through global memory."""
    return sum(one.bytes_moved for one in of.lines if one.array == "slots")


joined, unrolled = changes()[6], changes()[7]

FACTS = {
    "sometimes one instruction, sometimes more than a hundred": min(lines.values()) == 1 and max(lines.values()) > 100,
    "becomes seven instructions. Five run in each turn: four compute a 64-bit address, and LDG loads from it": len(turns[37]) == 7 and [one.in_flight for one in load] == [0, 0, 0, 0, 1] and "LDG" in load[-1].text,
    "The other two run once, before the loop": [one.warps for one in turns[37]] == 2 * [2048] + 5 * [8192],
    f"one run {meets.warps:,} times, and the rest {min(one.warps for one in turns[39]):,}": True,
    "MUFU.EX2 is, but": exponential.count("MUFU.EX2") == 1,
    "finds the whole part first (FFMA.SAT, FFMA.RM), multiplies the rest exactly with 1.4427 in two steps": [one.text.split()[0] for one in turns[39] if "FFMA" in one.text][:2] == ["FFMA.SAT", "FFMA.RM"] and sum("FFMA" in one.text for one in turns[39] if " 1.4426" in one.text or "1.925" in one.text) == 2,
    "at the end (SHF, FMUL)": {"SHF.L.U32", "FMUL"} <= set(exponential),
    "BSYNC is where": meets.text.startswith("BSYNC"),
    f"2,048 + 2 × 6,144 = {found['shuffle'].warps + 2 * 3 * found['shuffle'].warps:,}": True,
    "the loop 16 times and puts all loads first": all("LDG" in one.text for one in loop[:16]) and sum("LDG" in one.text for one in loop) == 16 == most("naive", "in_flight"),
    f"live climbs from {loop[0].live} to {most('naive', 'live')}": True,
    "it has {early} loads a turn": sum(one.text.startswith("ld.global") and one.warps == max(one.warps for one in ptx) for one in ptx) == 4,
    f"shuffle has {most('shuffle', 'in_flight')} load in flight": True,
    f"With a constant step it has {most('constant_stride', 'in_flight')}": True,
    "its @!P1 is off in every lane": max(fusion, key=lambda one: one.in_flight).in_flight == 5 and found["fusion"].total["global_load_requests"] * 4 * 128 == 4 * ROWS * COLS,
    f"That's many loads, but few bytes: {4 * most('naive', 'in_flight')} side by side": True,
    f"float4's {most('float4', 'in_flight')} loads are {4 * held('float4')} bytes too, in four places": True,
    "More than half of fusion isn't executed here": sum(one.warps > 0 for one in fusion) < len(fusion) / 2,
    "such as those that don't start on 16 bytes": any(then.warps and not now.warps for now, then in zip(fusion, other, strict=True)),
    "float4 and fusion have 16 floats per thread in hand, shuffle one": [held(name) for name in ("float4", "fusion", "shuffle")] == [16, 16, 1],
    "at least twice as many registers live": min(most(name, "live") for name in ("float4", "fusion")) >= 2 * most("shuffle", "live"),
    f"naive gets {registers(found['naive'])} registers on an H200, and {registers(t4)} on a T4": True,
    f"by its inverse: {per_float('naive_divide') - per_float('naive'):.0f} more": True,
    f"the shorter __expf: {per_float('fusion_expf') - per_float('fusion'):.1f} more": True,
    "executes more per float than naive, and on 1,024 × 32,768 floats it's more than 100 times as fast": per_float("float4") > per_float("naive") and us("naive") > 100 * us("float4"),
    "so half of the requests are left": joined.what == "merged into loads of 8 bytes" and joined.executed[0] * 2 == joined.written[0],
    "It's unrolled by 4": unrolled.what.startswith("unrolled by 4:"),
    "each request takes more sectors": unrolled.executed[0] == unrolled.written[0] and unrolled.executed[1] > unrolled.written[1],
    "The pragma stops the unrolling": set(changes("    for", "    #pragma unroll 1\n    for")) == {6},
    "With ^ 33 the two floats no longer lie side by side": set(changes("s[t / 2 * 2 + 1]", "s[t / 2 * 2 ^ 33]")) == {7},
    "All read and write each float once, 8 bytes": all(of.total["bytes_moved"] == 8 * rows * cols + slots(of) for (rows, cols), of in behind.items()),
    "The grid's blocks also exchange": {of.kernel for of in behind.values() if slots(of)} == {"softmax_grid"},
    "chapters 3 to 8 give the same bits (on 8 × 96 floats)": all(assert_agreed(kernel, 8, 96) is None for kernel in rungs()),
    f"an {ASKED['gpu']['name'].split()[1]} ran {ASKED['asked']:,} random kernels: in all but {len(ASKED['differ'])}": True,
    "In eight of those machine code and GPU agree with each other": len(MISCOMPILED) == 8 and all(ASKED["differ"][str(seed)]["machine code"] == ASKED["differ"][str(seed)]["gpu"] for seed in MISCOMPILED),
    "In five we can't run one of the two": len(REFUSED) == 5,
}  # fmt: skip
