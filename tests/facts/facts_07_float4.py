"""What chapter 7 and its evidence state: each phrase as the record, a counter or machine code has it, or whether it holds."""

import itertools

import torch
from facts.recorded_facts import (
    COLS,
    MATRIX_BYTES,
    ROWS,
    as_long_as_whole,
    asked_bytes,
    best_gb_per_s,
    close,
    code,
    counted,
    curve,
    loads_in_loops,
    numbers,
    over_curve,
    us,
)

from softmax_lib import recorded, run
from softmax_lib.worklog.registry import kernels, rungs

KIB = 1024
WIDTHS, SMALL, USUAL = (4, 16), (1, 2, 4), (1, 2, 4, 8, 16, 32, 64)
SLICE = ("naive", "online", "shared", "shuffle", "constant_stride")
SIZES = (64, 96, 128, 192, 256, 384, 512)

times = recorded.times(ROWS, COLS)
sms = recorded.multiprocessors
(idle,) = recorded.probed("latency", kib=262144)
law_tb_per_s = sms * 8 * KIB / idle.found["ns"] / 1e3
most_tb_per_s = max(probe.found["gb_per_s"] for probe in recorded.probed("read bandwidth")) / 1e3
gains = [us(name) for name in ("shuffle", "constant_stride", "float4_scalar", "float4")]
stride, loads, width = (a / b for a, b in itertools.pairwise(gains))
blocks = {
    (name, size): code(name, size).blocks_a_multiprocessor
    for name, size in (("shuffle", 1024), ("float4", 1024), ("float4", 512))
}
few_threads = [us("float4", block_size=size) for size in SIZES]
at_1024, at_512 = (recorded.profile("float4", ROWS, COLS, size) for size in (1024, 512))


def slowed_by(name, data):
    """How many times as long a kernel takes on such data as on normal ones."""
    size = kernels[name].choose_block_size(COLS)
    plain, other = (us(name, block_size=size, data=of) for of in ("normal", data))
    return other / plain


FACTS = {
    f"{100 * times['shuffle'].copy_share:.0f} % of a copy's speed": True,
    f"takes {idle.found['ns']:.0f} ns to answer": True,
    "each thread asks for 4 bytes": loads_in_loops("shuffle") == 2 * [(1, 4, 0)],
    "An SM is full with 2,048 threads": blocks["shuffle", 1024] == 2,
    f"{sms} × 8 KiB / {idle.found['ns']:.0f} ns = {law_tb_per_s:.1f} TB/s": True,
    f"with as many bytes in flight, gets {best_gb_per_s(4, 8 * KIB) / 1e3:.1f} TB/s": True,
    f"With more in flight it gets {most_tb_per_s:.1f} TB/s": True,
    "So shuffle asks for half of what this memory could deliver": close(best_gb_per_s(4, 8 * KIB) / 1e3 / most_tb_per_s, 0.5, 0.1),
    "From 32 KiB on the curve is nearly flat": all(best_gb_per_s(of, 64 * KIB) < 1.06 * best_gb_per_s(of, 32 * KIB) for of in WIDTHS),
    "That's 64 bytes in flight per thread, not 4": (asked_bytes("float4_aligned"), asked_bytes("shuffle")) == (64, 4),
    "only one block of 1,024 threads fits on an SM, not two": (blocks["float4", 1024], blocks["shuffle", 1024]) == (1, 2),
    f"That's still {1024 * asked_bytes('float4') / KIB:.0f} KiB in flight": True,
    "shuffle moved them at less than half speed": times["shuffle"].copy_share < 0.5,
    "the caches serve the second read": at_1024.counters["dram_read_bytes"] < 1.01 * MATRIX_BYTES,
    "on rows four times as long they can't, and there you'd be right": (
        counted("float4", 4 * COLS).counters["dram_read_bytes"] > 1.8 * 4 * MATRIX_BYTES
        and close(us("shuffle", 4 * COLS) / us("float4", 4 * COLS), us("shuffle") / (1.5 * times["float4"].copy_us), 0.05)
    ),
    f"// {loads_in_loops('constant_stride')[0][0]} loads in flight": True,
    f"That's {stride:.2f}x": True,
    f"sixteen loads bring another {loads:.2f}x": True,
    f"Added last, it brings {100 * (width - 1):.0f} %": True,
    f"2,048 threads with 16 bytes each make {2048 * asked_bytes('constant_stride') / KIB:.0f} KiB in flight": True,
    f"one float4 a turn would have brought {us('shuffle') / us('float4_one'):.1f}x": True,
    f"one block fills an SM, and {sms} rows are at work": True,
    f"Read and written that's {2 * 4 * sms * COLS / 1e6:.0f} MB": True,
    "Most of this gain is theirs": us("constant_stride") - us("float4", block_size=512) < 0.2 * (us("constant_stride") - us("float4_scalar")),
    f"there we gain {us('shuffle', 4 * COLS) / us('float4', 4 * COLS):.1f}x in all": True,
    "in half of the cycles in which it could have issued one, none was ready": close(counted("shuffle").issue_share, 0.5, 0.1),
    "That brought most of our 2x": stride > (us("shuffle") / us("float4")) ** 0.5 and round(gains[0] / gains[-1], 1) == 2.0,
    "On aligned rows it gives the same bits as the short one": all(
        torch.equal(run("float4", x), run("float4_aligned", x)) for x in map(numbers, (4, 1000, 32768))
    ),
    "Blocks of 32 threads made shuffle nearly six times slower": 5.5 < us("shuffle", block_size=32) / us("shuffle") < 6,
    f"from there to 512 all times are within {100 * (max(few_threads) / min(few_threads) - 1):.0f} % of each other": True,
    f"About {ROWS / sms:.0f} such blocks share an SM": True,
    "From 512 on the time falls again, most at 1,024": us("float4", block_size=768) - us("float4", block_size=1024)
    > us("float4", block_size=512) - us("float4", block_size=768) > 0,
    "Both are within 10 % of each other": all(close(best_gb_per_s(4, KIB * kib), best_gb_per_s(16, KIB * kib), 0.1) for kib in USUAL),
    "Up to 4 KiB they follow Little's law within 20 %": all(
        close(best_gb_per_s(of, KIB * kib), sms * KIB * kib / idle.found["ns"], 0.2) for of in WIDTHS for kib in SMALL
    ),
    "16 bytes in flight, not 4": all(
        (loads_in_loops("constant_stride", arch), loads_in_loops("shuffle", arch)) == (2 * [(4, 16, 0)], 2 * [(1, 4, 0)])
        for arch in (75, 80, 90)
    ),
    "Instructions per float fall too": counted("constant_stride").instructions_per_element < counted("shuffle").instructions_per_element,
    "From naive to constant_stride all are 20 to 40 % below it": all(0.6 < over_curve(name) < 0.82 for name in SLICE),
    f"float4 is {5 * round(20 * (1 - over_curve('float4', 1024)))} % below the line": True,
    f"it's {5 * round(20 * (1 - over_curve('float4', 512)))} % below": True,
    "fusion is at less than half, and so would a copy be": over_curve("fusion") < 0.5 and times["fusion"].copy_gb_per_s / 2 < 0.5 * curve(32 * KIB),
    "The division and the barriers are worth less than 5 % each": close(us("textbook"), us("textbook_reciprocal"), 0.05)
    and close(us("textbook_reciprocal"), us("shuffle"), 0.05),
    "has one vector in flight, as many bytes as constant_stride, and takes nearly as long": (
        loads_in_loops("float4_one") == 2 * [(1, 16, 0)] and close(us("constant_stride"), us("float4_one"), 0.1)
    ),
    f"The matrix has {MATRIX_BYTES / 1e6:.0f} MB, and with 1,024 threads DRAM delivers {at_1024.counters['dram_read_bytes'] / 1e6:.0f} MB": True,
    f"L1 serves {100 * 32 * at_1024.counters['global_load_hit_sectors'] / MATRIX_BYTES:.0f} % of it": True,
    f"L2 holds {recorded.content['gpu']['l2_bytes'] / 1e6:.0f}": True,
    "has room for three blocks, not one": (blocks["float4", 512], blocks["float4", 1024]) == (3, 1),
    f"it takes {5 * round(20 * (us('float4', block_size=512) / us('float4', block_size=1024) - 1))} % longer": True,
    "DRAM reads nearly twice as much": 1.8 < at_512.counters["dram_read_bytes"] / at_1024.counters["dram_read_bytes"] < 2,
    "float4 is hardly faster than constant_stride": 0.95 < us("float4", block_size=512) / us("constant_stride") < 1,
    "costs little in textbook, and 20 %": close(us("textbook"), us("textbook_reciprocal"), 0.05)
    and close(us("constant_stride_divide") / us("constant_stride"), 1.2, 0.03),
    "with a call in the loop one load leaves at a time": all(
        loads_in_loops("constant_stride_divide", arch) == [(4, 16, 0), (1, 4, 1)] for arch in (75, 80, 90)
    ),
    "shuffle_divide takes longer on the spread and masked scores, and shuffle doesn't": all(
        slowed_by("shuffle_divide", data) > 1.15 and all(close(slowed_by(one.name, data), 1, 0.04) for one in rungs())
        for data in ("spread", "masked")
    ),
    "within 3 % of each other": as_long_as_whole("float4_aligned", 0.03),
}  # fmt: skip
