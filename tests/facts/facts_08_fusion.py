"""What chapter 8 and its evidence state: each phrase as the record, a counter or machine code has it, or whether it holds."""

import numpy as np
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
    step_us,
    us,
)

from softmax_lib import recorded
from softmax_lib.records.measurement import TIE
from softmax_lib.suites.hardware.record import hardware
from softmax_lib.suites.phases.record import phases
from softmax_lib.suites.plan import WAVES
from softmax_lib.worklog.reads import reads
from softmax_lib.worklog.registry import kernels

KIB, SIZES, STEADY = 1024, (256, 512, 1024), slice(25, 60)
CONTROLS = ("reads_twice", "reads_twice_apart", "two_barriers", "expf", "general", "no_barrier")

times = recorded.times(ROWS, COLS)
fusion_us, copy_us = us("fusion"), times["fusion"].copy_us
over = {name: us(f"fusion_{name}") / fusion_us for name in CONTROLS}
dram = {name: counted(name).counters for name in ("unfused", "float4", "fusion", "fusion_reads_twice")}  # fmt: skip
launches = [step_us("unfused", number) / copy_us for number in range(4)]
sizes = [us("fusion", block_size=size) for size in SIZES]
registers = hardware().limits["MaxRegistersPerMultiprocessor"]
moved = {
    name: (np.array(one.read_bytes) / 1e6, np.array(one.written_bytes) / 1e6)
    for name, one in phases().items()
}
"""TB/s read and written in each microsecond, by kernel."""
read, written = moved["fusion"]


def in_flight(name, size):
    """Bytes that a block asks for before it waits, most at any place."""
    return size * asked_bytes(name, size)


def second_read(name):
    """Loads of a control's second read that leave together, where a row fills the registers."""
    (found,) = (one for one in reads(kernels[name], 1024, COLS, 90) if one.lines == (73, 90))
    return found.loads


def line(name, field):
    """Microseconds per further row of each SM, and per launch, of a kernel or of the copies beside it."""
    found = [recorded.select(provider=name, rows=132 * wave, cols=COLS)[0] for wave in WAVES]
    pairs = [
        (wave, getattr(one, field)) for wave, one in zip(WAVES, found, strict=True) if wave >= 8
    ]
    return np.polyfit(*zip(*pairs, strict=True), 1)


def lost_at_first(name):
    """Microseconds of steady traffic that are missing in the first 20."""
    total = sum(moved[name])
    steady = np.median(total[STEADY])
    return (steady - total[:20]).sum() / steady


slopes, beside = zip(
    *(line("fusion", "median_us"), line("fusion_two_barriers", "median_us"), line("fusion", "copy_us")), strict=True
)  # fmt: skip
once_us = beside[0] - beside[2]
whole, one_more = (
    recorded.select(provider="fusion", rows=n, cols=COLS)[0].median_us for n in (1056, 1057)
)
most_flying = max(probe.found["gb_per_s"] for probe in recorded.probed("read bandwidth"))

FACTS = {
    f"float4, runs at {100 * times['float4'].copy_share:.0f} % of a copy's speed": True,
    f"An SM has {registers:,} of them": True,
    "We give a row half of those": registers == 2 * COLS,
    f"{kernels['fusion'].largest_per_thread(1024)} in each of 1,024 threads": True,
    "six trips of 16 bytes": [sum(kernels[name].traffic(COLS)) for name in ("unfused", "float4", "fusion")] == [6, 3, 2],
    f"{in_flight('fusion_aligned', 1024) // 1024} bytes in flight per thread": True,
    "On aligned rows both take the same time, within 2 %": as_long_as_whole("fusion_aligned", TIE - 1),
    "says that fusion saves 30 to 50 % of the time": 1 - fusion_us / us("unfused") > 0.5,
    "the trips go from six to two, and DRAM makes all of them": dram["unfused"]["dram_read_bytes"] > 0.99 * 4 * MATRIX_BYTES,
    "time goes by trips": close(us("unfused") / fusion_us, 3, 0.05),
    "DRAM reads the matrix four times and writes it twice": close(dram["unfused"]["dram_read_bytes"], 4 * MATRIX_BYTES, 0.001)
    and close(dram["unfused"]["dram_write_bytes"], 2 * MATRIX_BYTES, 0.03),
    f"all {MATRIX_BYTES / 1e6:.0f} MB go by, and L2 holds {recorded.content['gpu']['l2_bytes'] / 1e6:.0f}": True,
    "each launch takes what its bytes take, within 10 %": all(close(took, due, 0.1) for took, due in zip(launches, (0.5, 1, 0.5, 1), strict=True)),
    f"Over float4 we gain {us('float4') / fusion_us:.2f}x": True,
    f"Put it back into fusion and it takes {100 * (over['reads_twice'] - 1):.0f} % longer": True,
    "float4's time again": close(us("fusion_reads_twice"), us("float4"), TIE - 1),
    f"fusion runs at {100 * times['fusion'].copy_share:.0f} % of a copy's speed": True,
    f"And the other {100 * (1 - times['fusion'].copy_share):.0f} %": True,
    "naive took more than a hundred times as long": us("naive") > 100 * fusion_us,
    "At least half of what we lose to a copy is lost in the first 20 µs": (
        lost_at_first("fusion") - lost_at_first("copy") >= 0.5 * (len(read) - len(moved["copy"][0]))
        and all(one.noted_us < 1.05 * one.plain_us for one in phases().values())
    ),
    f"the times are within {100 * (max(sizes) / min(sizes) - 1):.0f} % of each other": True,
    "leaves no room for a second block": {(of.blocks_a_multiprocessor, of.limit) for of in (code("fusion", size) for size in SIZES)} == {(1, "registers")},
    f"at least {min(in_flight('fusion', size) for size in SIZES) // KIB} KiB in flight": True,
    "found 32 KiB to be enough": max(best_gb_per_s(of, 32 * KIB) for of in (4, 16)) > 0.96 * most_flying,
    "Below 256 threads it's more than 128 floats for each": kernels["fusion"].max_cols(128) < COLS <= kernels["fusion"].max_cols(256),
    "Half of an SM's registers, and 128 of a thread's, may hold the row": 2 * kernels["fusion"].max_cols(1024) == registers
    and kernels["fusion"].largest_per_thread(32) == 128,
    "costs 12 %, more than any other change": max(over.values()) == over["reads_twice"],
    f"DRAM hardly notices: it reads {100 * (dram['fusion_reads_twice']['dram_read_bytes'] / dram['fusion']['dram_read_bytes'] - 1):.0f} % more": True,
    "the second read has one vector in flight": second_read("fusion_reads_twice") == 1,
    "with it eight leave together": second_read("fusion_reads_twice_apart") == 8,
    "That saves a third of the 12 %": close((over["reads_twice"] - over["reads_twice_apart"]) / (over["reads_twice"] - 1), 1 / 3, 0.05),
    f"A second one costs {100 * (over['two_barriers'] - 1):.0f} %": True,
    f"no wait at all would gain {100 * (1 - over['no_barrier']):.0f} %": True,
    "costs less than 2 %": all(0.99 < over[name] < 1.02 for name in ("general", "expf")),
    f"{recorded.multiprocessors} rows are at work at a time": True,
    "1,057, take no longer than 1,056": close(one_more, whole, 0.01),
    "A further row costs as much as in a copy, within 2 %": max(slopes) < 1.02 * min(slopes),
    f"{once_us:.1f} µs of {fusion_us - copy_us:.1f} on the chapter's matrix": True,
    "At first every SM reads and nobody writes": written[:6].max() < 0.1 < 3 < read[3:7].max(),
    "some µs later all write and nobody reads": read[7:10].max() < 0.1 < 4 < written[8:10].min(),
    "until some read while others write, as a copy does from its first µs on": min(read[30:60].min(), written[30:60].min()) > 1
    and all(one[1:60].min() > 1 for one in moved["copy"]),
    "half the sectors, and no fewer bytes from DRAM": 2 * dram["fusion"]["global_load_sectors"] == dram["float4"]["global_load_sectors"]
    and close(dram["fusion"]["dram_read_bytes"], dram["float4"]["dram_read_bytes"], 0.01),
}  # fmt: skip
