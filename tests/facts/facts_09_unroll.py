"""What chapter 9 and its evidence state: each phrase as the record, a counter or machine code has it, or whether it holds."""

from facts import recorded_facts
from facts.recorded_facts import COLS, ROWS, as_long_as_whole, best_gb_per_s, code, refusal

from softmax_lib import check, recorded, unroll_times, xray
from softmax_lib.engine.errors import KernelFault
from softmax_lib.engine.source import Source
from softmax_lib.worklog.reads import reads, row_reads
from softmax_lib.worklog.registry import kernels, resolve

CHOICES = (1, 2, 4, 8)
VECTOR, KIB, LONGEST = 16, 1024, 131072
SHORT = (2048, 4096, 8192)
SM_REGISTERS = 65536

sms, l2_bytes = recorded.multiprocessors, recorded.content["gpu"]["l2_bytes"]
row_bytes = 2 * 4 * COLS
"""Of a row, read and written."""


def every(**wanted):
    """All settings of the chapter's kernel on one matrix, the fastest first; the worklog's matrix unless told."""
    return unroll_times(**{"kernel": "unroll", "rows": ROWS, **wanted})


def one(unroll, in_flight, block_size=1024, **wanted):
    """The one at this setting."""
    (found,) = every(unroll=unroll, in_flight=in_flight, block_size=block_size, **wanted)
    return found


def longest(unroll, in_flight, block_size=1024):
    """The one on 128 rows of the longest."""
    return one(unroll, in_flight, block_size, rows=128, cols=LONGEST)


def tie(*found, within=0.02):
    """Whether times are level."""
    return recorded_facts.tie(*(of.us for of in found), within=within)


def asked(name, unroll, in_flight, arch=90):
    """Bytes that a thread asks for before it waits, of each loop that reads the row."""
    kernel = kernels[name].setting(UNROLL=unroll, IN_FLIGHT=in_flight)
    return [read.asked_bytes for read in row_reads(reads(kernel, 1024, COLS, arch))]


def edited(old, new, in_flight):
    """The chapter's cell with `old` of its text changed."""
    text = recorded_facts.edited(kernels["unroll_aligned"].source.text, (old, new))
    return resolve(Source("kernel.cu", text)).setting(UNROLL=1, IN_FLIGHT=in_flight)


def found_in(block_size):
    """The factor between the slowest setting and the fastest in such blocks, on the longest rows."""
    found = every(rows=128, cols=LONGEST, block_size=block_size)
    return found[-1].us / found[0].us


def by_blocks(blocks):
    """Times on the whole map with so many blocks on an SM; 3 are three or more."""
    return [of.us for of in every() if min(of.blocks, 3) == blocks]


def hollow_stand_no_lower():
    """No unrolled loop is more than 5 % below one that isn't, of as many threads with as many bytes."""
    found = every(rows=128, cols=LONGEST)
    same = [
        (of.us, plain.us) for plain in found for of in found
        if plain.unroll == 1 < of.unroll and (of.asked_bytes, of.block_size) == (plain.asked_bytes, plain.block_size)
    ]  # fmt: skip
    return len(same) > 10 and all(us > 0.95 * plain for us, plain in same)


before, after, held = one(1, 4), one(2, 4), one(2, 4, kernel="unroll_full")
best = every()[0]
few = {(u, f): one(u, f, 64) for u in CHOICES for f in CHOICES}
of_1024 = every(block_size=1024)
serial = one(1, 8, kernel="unroll_one_after_another")
each = one(1, 8, kernel="unroll_correct_each")
at_1024, at_512 = (recorded.profile("float4", ROWS, COLS, size) for size in (1024, 512))
without_the_test = edited("at < vectors ? x_row[at] : nothing", "x_row[at]", 4)
two_blocks = edited("(BLOCK)", "(BLOCK, 2)", 8)
spilling = xray(two_blocks, 4, COLS).total
on_longest = every(rows=128, cols=LONGEST, unroll=1)
least = [min(of.us for of in on_longest if of.asked_bytes * of.block_size == 2**power) for power in range(11, 18)]  # fmt: skip
"""Times with 2 KiB in flight on an SM that has one row, with 4 and so on to 128."""

FACTS = {
    f"{100 * recorded.times(ROWS, COLS)['float4'].copy_share:.0f} % of a copy's speed": True,
    f"a sweep over {len(every())} settings": True,
    "only two or three loads leave together": asked("unroll", 8, 1) == [3 * VECTOR, 2 * VECTOR],
    "Set IN_FLIGHT to 8, and all eight do": asked("unroll", 1, 8) == 2 * [8 * VECTOR],
    "With up to 32 registers per thread, two blocks of 1,024 threads fit, and the SM is full; with more, one does": {
        (of.registers > 32, of.blocks) for of in of_1024
    } == {(False, 2), (True, 1)},
    f"leave together, {one(8, 1).asked_bytes / VECTOR:.1f} on average": True,
    "With 1,024 of them the compiler may use up to 65,536 / 1,024 = 64 registers a thread": SM_REGISTERS // 1024 == 64 == best.registers,
    "both take the same time, within 3 %": as_long_as_whole("unroll_aligned", 0.03),
    "32 bytes in flight in the first loop and 16 in the second": asked("unroll_aligned", 8, 1) == [32, 16],
    "One turn of eight has 128 in both": asked("unroll_aligned", 1, 8) == [128, 128],
    "only 80 bytes are in flight": {read.asked_bytes for read in row_reads(reads(two_blocks, 1024, COLS, 90))} == {80},
    f"{100 * (1 - spilling['bytes_asked'] / spilling['bytes_moved']):.0f} % of the bytes moved are spilled values": True,
    "a thread reads past the end of x": "past the end of its 72 elements" in refusal(KernelFault, check, without_the_test, lengths=(1,)),
    "Now the compiler wants 44 registers a thread instead of 32": (after.registers, before.registers) == (44, 32),
    "so one block fits on an SM, not two": (after.blocks, before.blocks) == (1, 2),
    "Each thread still has 64 bytes in flight": after.asked_bytes == before.asked_bytes == 64,
    "but the SM has 64 KiB instead of 128": [1024 * of.blocks * of.asked_bytes / KIB for of in (after, before)] == [64, 128],
    "Nothing spills to memory, two blocks fit again": (held.asked_bytes, held.registers, held.spill_bytes, held.blocks) == (64, 32, 0, 2),
    "and the gain is gone": tie(held, before),
    f"{sms} rows of {COLS:,} floats are at work at a time": True,
    f"Read and written, that's {sms * row_bytes / 1e6:.0f} MB": True,
    f"L2 holds up to {l2_bytes / 1e6:.0f} MB": True,
    "DRAM reads the matrix once, {} MB; with three of 512 it reads {} MB".format(*(round(recorded.profile("float4", ROWS, COLS, size).counters["dram_read_bytes"] / 1e6) for size in (1024, 512))): True,
    f"and takes {best.others['float4']:.0f} µs, not {before.us:.0f}": True,
    f"float4 itself compiles to {code('float4').registers} registers": True,
    f"Two blocks per SM make {2 * sms * row_bytes / 1e6:.0f} MB": True,
    "there both settings take the same time": all(tie(*(one(unroll, 4, rows=128, cols=cols) for unroll in (1, 2))) for cols in (COLS, LONGEST)),
    "32 KiB keep it busy": best_gb_per_s(VECTOR, 64 * KIB) < 1.06 * best_gb_per_s(VECTOR, 32 * KIB),
    "Unrolling alone helps most with 64 threads per block: 1.3x": {round(few[1, 1].us / few[u, 1].us, 1) for u in CHOICES[1:]} == {1.3},
    "Two loads leave together there, not one": {few[u, 1].asked_bytes for u in CHOICES[1:]} == {2 * few[1, 1].asked_bytes},
    f"{ROWS:,} rows make only about {ROWS / sms:.0f} for each. That's {round(ROWS / sms) * 64 * VECTOR / KIB:.0f} KiB in flight": True,
    "From two vectors up it gains nothing": all(few[u, f].us > 0.98 * few[1, f].us for u in CHOICES for f in CHOICES[1:]),
    "With 1,024 threads there are 32 KiB from the start": one(1, 1).blocks * 1024 * VECTOR == 32 * KIB,
    "every setting with one is faster than every setting with two": max(by_blocks(1)) < min(by_blocks(2)),
    f"The winner has {best.block_size:,} threads and {'eight' * (best.in_flight == 8)} vectors in flight, {'twice' * (best.unroll == 2)} written out: {best.us:.0f} µs": True,
    f"beats float4 by {100 * (best.others['float4'] / best.us - 1):.0f} %": True,
    f"beats the winner by {100 * (best.us / best.others['fusion'] - 1):.0f} %": True,
    "the fastest asks for the whole row in one turn": all(
        4 * of.block_size * of.in_flight == cols for cols in SHORT for of in every(rows=128, cols=cols)[:1]
    ),
    "From two vectors in flight up, it's what the kernel asks for": all(
        of.asked_bytes == VECTOR * of.in_flight for of in (*every(), *every(rows=128)) if of.in_flight > 1
    ),
    "With one vector it's 2 to 2.4": {round(of.asked_bytes / VECTOR, 1) for of in every(in_flight=1) if of.unroll > 1} == {2, 2.4},
    "six and eight loads leave together on a T4, three and two on an H200": (asked("unroll", 8, 1, 75), asked("unroll", 8, 1))
    == ([6 * VECTOR, 8 * VECTOR], [3 * VECTOR, 2 * VECTOR]),
    "With eight vectors it spills, and is up to " f"{max(one(u, 8, kernel='unroll_full').us / one(u, 8).us for u in CHOICES):.1f}x slower": True,
    f"Eight vectors take {100 * (serial.us / one(1, 8).us - 1):.0f} % longer that way": True,
    "with one block per SM as before and at most a sixth more instructions": serial.blocks == one(1, 8).blocks == 1
    and serial.instructions / one(1, 8).instructions < 7 / 6,
    "so that no two of a turn are in flight": serial.asked_bytes == VECTOR,
    "lets four to five of eight vectors leave together, and the time is in between": 4 < each.asked_bytes / VECTOR < 5
    and one(1, 8).us < each.us < serial.us,
    "those are faster than all with more": max(by_blocks(2)) < min(by_blocks(3)),
    "settings with as many blocks are within 8 % of each other": all(
        tie(*(of for of in of_1024 if of.blocks == blocks), within=0.08) for blocks in (1, 2)
    ),
    "takes as long as the settings with four vectors and one block, within 2 %": all(
        one(u, 4).blocks == 1 and abs(one(u, 4).us / best.others["float4"] - 1) < 0.02 for u in CHOICES[1:]
    ),
    "DRAM reads nearly twice as much": 1.8 < at_512.counters["dram_read_bytes"] / at_1024.counters["dram_read_bytes"] < 2,
    "time falls with the bytes in flight until 32 KiB per SM": least == sorted(least, reverse=True) and least[0] > 4 * least[4],
    "beyond, less than 6 % is left to gain": least[4] / least[-1] < 1.06,
    "more threads beat more loads per thread": all(
        longest(1, loads // 2, 2 * threads).us < longest(1, loads, threads).us
        for loads, threads in ((2, 128), (4, 256), (8, 256), (4, 128), (8, 128))
    ),
    "512 threads with one vector take " f"{100 * (1 - longest(1, 1, 512).us / longest(1, 4, 128).us):.0f} % less time than 128 with four": True,
    f"With 128 threads the search finds a factor of {found_in(128):.1f}, with 1,024 one of {found_in(1024):.2f}": True,
    "None is more than 5 % below a filled one": hollow_stand_no_lower(),
    "1,024 threads with eight vectors take " f"{one(1, 8, rows=128, cols=2048).us / every(rows=128, cols=2048)[0].us:.1f}x as long as the best": True,
    "has one load in flight; with a constant it has four": [
        {read.loads for read in row_reads(reads(kernels[name], 1024, COLS, 90))} for name in ("shuffle", "constant_stride")
    ] == [{1}, {4}],
    "The short one's write loop lets one load leave when it's written out, the full one's two": all(
        (asked("unroll_aligned", u, 1)[1], asked("unroll", u, 1)[1]) == (VECTOR, 2 * VECTOR) for u in CHOICES[1:]
    ),
    "Every SM has one row at most": max(of.rows for of in every(rows=128)) <= sms,
}  # fmt: skip
