"""What chapter 3 and its evidence state: each phrase as the record, a counter or machine code has it, or whether it holds."""

from facts import recorded_facts
from facts.recorded_facts import (
    COLS,
    MATRIX_BYTES,
    ROWS,
    close,
    counted,
    refusal,
    scattered_cycles,
    us,
)

from softmax_lib import check, hardware, recorded, xray
from softmax_lib.engine.errors import KernelFault
from softmax_lib.engine.xrays.lines import SECTOR_BYTES
from softmax_lib.show.drawings.warp_requests import COLUMN, ROW, sectors
from softmax_lib.worklog.registry import kernels
from softmax_lib.worklog.requests import predict_traffic

SIZES = (32, 64, 128, 256, 512, 1024)
COUNTS = (1, 2, 4, 8, 16, 32)
GUARD = ("    if (row >= rows) return;\n", "")
NO_MAXIMUM = ("x_row[col] - row_max", "x_row[col]")
COLUMNS = ("x + (long long)row * cols", "x + row"), ("x_row[col]", "x_row[col * rows]")

naive = kernels["naive"]
times = recorded.times(ROWS, COLS)
copy_us, sms = times["naive"].copy_us, recorded.multiprocessors
profile, anywhere = counted("naive"), counted("naive", COLS + 1)
warps = ROWS // 32
gain = us("naive") / recorded.times(32768, 1024)["naive"].median_us
l1_us = 4 * ROWS * COLS / 32 * 40 / sms / recorded.clock_mhz
by_size = {size: us("naive", block_size=size) for size in (*SIZES, 192, 384, 768)}
ratios = [by_size[2 * size] / by_size[size] for size in SIZES[:-1]]
per_request = {
    size: by_size[size] * recorded.clock_mhz / (size // 32 * 4 * COLS) for size in by_size
}
many = recorded.times(32768, 1024)["naive"]
every = recorded.select(provider="naive", dtype="float32", l2="cold")
best = recorded.times(32768, 128)["naive"]
full = recorded_facts.code("naive").blocks_a_multiprocessor * 1024 // 32
load, store = scattered_cycles()
mean_cycles = (3 * load + store) / 4
levels = hardware().levels


def edited(*swaps):
    """The text of the kernel with what a reader is asked to change."""
    return recorded_facts.edited(naive.source.text, *swaps)


def counts(*swaps):
    """Bytes that the cell's launch asks for and moves, after an edit."""
    total = xray(edited(*swaps), 64, 4096).total
    return total["bytes_asked"], total["bytes_moved"]


def touched(reads, turns):
    """Sectors that L1 looks up in so many turns, and those that memory sends."""
    each = [sectors(reads, turn) for turn in range(1, turns + 1)]
    return sum(map(len, each)), len(set().union(*each))


def probed(stores):
    """Cycles of L1 for a load or a store, by lines."""
    return [
        recorded.probed("scattered request", lines=lines, stores=stores)[0].found["cycles"]
        for lines in COUNTS
    ]


def fullest_cycles(timing):
    """Cycles per request where most warps are."""
    blocks = -(-timing.case.rows // timing.case.block_size)
    most = -(-blocks // sms) * timing.case.block_size // 32
    return timing.median_us * recorded.clock_mhz / (most * 4 * timing.case.cols), most


def waiting_ns(found):
    """Time that warps wait for loads."""
    return found.counters["duration_ns"] * found.stalls["long_scoreboard"]


sectors_at_l1 = sum(profile.counters[f"global_{way}_sectors"] for way in ("load", "store"))

FACTS = {
    f"{warps} warps for {sms} SMs": True,
    f"and runs at {100 * times['naive'].copy_share:.0f} % of a copy's speed": True,
    f"PyTorch gets {100 * times['torch'].copy_share:.0f} %": True,
    f"32 floats lie in {touched(ROW, 1)[0]} sectors": True,
    f"and {SECTOR_BYTES * touched(ROW, 1)[0]:,} move": True,
    "Memory isn't asked again before turn 9": touched(ROW, 9)[1] > touched(ROW, 8)[1] == touched(ROW, 1)[1],
    "A turn touches four sectors": touched(COLUMN, 1)[0] == 4,
    "After eight turns memory has sent 32 sectors either way": touched(ROW, 8)[1] == touched(COLUMN, 8)[1] == 32,
    "each load of the rows had 32 cache lines for L1 to look up, and each of the columns one": (touched(ROW, 8)[0], touched(COLUMN, 8)[0]) == (8 * 32, 8 * 4),
    "three reads and a write per element": naive.traffic(cols=COLS) == (3, 1),
    "the report names the thread, the address and the line": "thread 18 of block (0,0,0) loads 4 bytes at x[18]" in refusal(KernelFault, check, edited(GUARD), lengths=(1,)),
    "every check fails": all(one.failure for one in check(edited(NO_MAXIMUM), lengths=(1, 31)).attempts),
    "asked for three times, not four": (counts(NO_MAXIMUM)[0], counts()[0]) == (3 * 4 * 64 * 4096, 4 * 4 * 64 * 4096),
    f"fall from {counts()[1]:,} to {counts(*COLUMNS)[1]:,}": True,
    "reads waste nothing now, only the write does": counts(*COLUMNS)[1] == (3 + 8) * 4 * 64 * 4096,
    f"each with room for {full} warps": True,
    f"So {sms - warps} SMs get nothing to do": True,
    f'"{gain:.0f}x": {gain:.0f}, "32x": 32': True,
    "128 warps would do for it": close(us("naive") / recorded.times(4096, 8192)["naive"].median_us, sms / 32, 0.02),
    "each has about 8 warps": round(32768 / 32 / sms) == 8,
    f"A lone warp spends {100 * profile.stalls['long_scoreboard']:.0f} % of its cycles waiting for loads": True,
    "naive stays below 10 % of a copy's speed on every matrix we timed": max(one.copy_share for one in every) < 0.1,
    "24 times: three passes": predict_traffic(naive, ROWS, COLS, 32).sector_bytes == (24 + 8) * MATRIX_BYTES,
    f"NVIDIA's profiler counts {profile.counters['dram_read_bytes'] / MATRIX_BYTES:.1f}": True,
    "that keeps L1 busy for 32 cycles": all(close(cycles, lines, 0.01) for lines, cycles in zip(COUNTS[1:], probed(0)[1:], strict=True)),
    "a store takes twice that": [close(scattered_cycles()[0], 32, 0.01), close(scattered_cycles()[1], 64, 0.01)] == [True, True],
    f"(3 × 32 + 64) / 4 = {mean_cycles:.0f} cycles per request": True,
    "that's 0.64 ms for our matrix, ten times as long as a copy": close(l1_us / 1000, 0.64, 0.01) and close(l1_us / copy_us, 10, 0.05),
    f"of the {recorded.times(32768, 1024)['naive'].median_us / 1000:.2f} ms, L1 alone needs {l1_us / 1000:.2f}": True,
    f"makes naive {100 * (us('naive', COLS + 1) / us('naive') - 1):.0f} % slower": True,
    "with 512 threads per block it makes it a third faster": close(us("naive", COLS + 1, block_size=512) / us("naive", block_size=512), 2 / 3, 0.03),
    "though DRAM reads no more": close(anywhere.counters["dram_read_bytes"], profile.counters["dram_read_bytes"], 0.01),
    "Our matrix has run with 32 threads per block so far": times["naive"].case.block_size == 32,
    "From 256 threads on": [close(ratio, 2, 0.05) for ratio in ratios] == [False, False, False, True, True],
    "Before that they fill each other's waits": max(ratios[:3]) < 1.7,
    f"and take only {100 * (by_size[64] / by_size[32] - 1):.0f} % longer": True,
    "so 32 is best": min(by_size, key=by_size.get) == 32,
    "an SM has one warp": close(profile.warps_per_multiprocessor, 1, 0.01),
    f"From DRAM one takes {levels['DRAM'].cycles:.0f} cycles, from L1 {levels['L1'].cycles:.0f}": True,
    "from 192 threads on it's within 10 % of the 40 cycles": all(close(per_request[size], 40, 0.1) for size in per_request if size >= 192),
    "From 256 threads on it's a little less than 40 cycles": all(per_request[size] < mean_cycles for size in per_request if size >= 256),
    "the difference is 32 cycles, within 3 %": all(
        close((by_size[size] - us("online", block_size=size)) * recorded.clock_mhz / (size // 32 * COLS), 32, 0.03) for size in (384, 512, 768, 1024)
    ),
    "the fullest SM has eight warps and spends 47 cycles": fullest_cycles(many)[1] == 8 and round(fullest_cycles(many)[0]) == 47,
    "naive does best on 32,768 rows of 128 floats": best == max(every, key=lambda one: one.copy_share),
    "even there a copy is ten times as fast": round(1 / best.copy_share) == 10,
    f"so L1 looks up {SECTOR_BYTES * sectors_at_l1 / (2 * MATRIX_BYTES):.0f} times the least": True,
    "seven of eight sectors that loads want are in L1": close(profile.l1_hit_share, 7 / 8, 0.001),
    f"three reads and a write take {2 * copy_us / 1000:.2f} ms of the {us('naive') / 1000:.1f}": True,
    "and takes ten times as long as naive": close(us("per_element", 4096) / us("naive", 4096), 10, 0.05),
    "As many of its sectors are in L1 as before": close(anywhere.l1_hit_share, profile.l1_hit_share, 0.001),
    "Nearly all of the extra time is waiting for loads": waiting_ns(anywhere) - waiting_ns(profile)
    > 0.9 * (anywhere.counters["duration_ns"] - profile.counters["duration_ns"]),
    "32 sectors per load": profile.counters["global_load_sectors"] == 32 * profile.counters["global_load_requests"],
}  # fmt: skip
