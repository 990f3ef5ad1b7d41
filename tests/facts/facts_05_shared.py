"""What chapter 5 and its evidence state: each phrase as the record, a counter or machine code has it, or whether it holds."""

import itertools
import math

from facts.recorded_facts import (
    COLS,
    MATRIX_BYTES,
    ROWS,
    close,
    code,
    counted,
    curve,
    dram_bytes,
    edited,
    loads_in_loops,
    over_curve,
    scattered_cycles,
    tie,
    us,
)

from softmax_lib import recorded, xray
from softmax_lib.worklog.registry import kernels, rungs

SIZES = (256, 512, 1024)

times = recorded.times(ROWS, COLS)
sms = recorded.multiprocessors
shared_1024 = us("shared", block_size=1024)
online, chunked, shared = map(counted, ("online", "chunked", "shared"))
first, compacted = map(counted, ("neighbours_first", "neighbours_compacted"))
most = us("online") / (1.5 * times["shared"].copy_us)

load_cycles, store_cycles = scattered_cycles()
l1_us = ROWS * COLS / 32 / sms * (2 * load_cycles + store_cycles) / recorded.clock_mhz
more_bytes = dram_bytes(chunked) - dram_bytes(shared)
copied_us = more_bytes / times["chunked"].copy_gb_per_s / 1e3
sizes = [us("shared", block_size=size) for size in SIZES]
small = [us("shared", block_size=size) for size in (32, 64, 128, 256)]
few_in_flight = math.ceil(ROWS / sms) * 32 * 4

steps = [us(a.name) / us(b.name) for a, b in itertools.pairwise(rungs())]
text = kernels["shared"].source.text
loop = "for (int col = tid; col < cols; col += blockDim.x) {"
chunk = "for (int col = tid * cols / BLOCK; col < (tid + 1) * cols / BLOCK; col++) {"
in_chunks = xray(edited(text, (loop, chunk)), 4, COLS)
fold = "if (tid < stride) partial[tid] += partial[tid + stride];\n"
in_race = xray(edited(text, (f"{fold}        __syncthreads();\n", fold)), 4, COLS)
lines = xray("shared", 64, 4096, 512)


def counts(profile, space, operation="load"):
    """Requests of shared memory and the wavefronts they take, or requests and sectors of global memory."""
    passes = "wavefronts" if space == "shared" else "sectors"
    return [profile.counters[f"{space}_{operation}_{what}"] for what in ("requests", passes)]


FACTS = {
    f"online, runs at {100 * times['online'].copy_share:.0f} % of a copy's speed": True,
    "most of the 132 SMs idle": sms == 132 and sms > 2 * ROWS / 32,
    "each load touches 32 sectors, where four would do": (counts(online, "global")[1] / counts(online, "global")[0], counts(shared, "global")[1] / counts(shared, "global")[0]) == (32, 4),
    "An SM holds two blocks of 1,024 threads": code("shared").blocks_a_multiprocessor == 2,
    "0 % are wasted": xray("shared", 4, COLS).total["bytes_asked"] == xray("shared", 4, COLS).total["bytes_moved"],
    f"{100 * (1 - in_chunks.total['bytes_asked'] / in_chunks.total['bytes_moved']):.0f} % of the bytes moved are wasted": True,
    "finds a race on partial": ["on partial" in h.words for h in in_race.hazards if h.kind == "race"] == [True],
    "96 threads are refused": 96 not in kernels["shared"].legal_block_sizes(COLS),
    "where it got one at most": close(online.warps_per_multiprocessor, 1, 0.02),
    '"50x": 50': min((8, 50, most, 512), key=lambda answer: abs(answer - us("online") / us("shared"))) == 50,
    "one warp on an SM to nearly sixty": 57 < shared.warps_per_multiprocessor < 60,
    "memory's latency holds them back": next(iter(shared.stalls)) == "long_scoreboard",
    "each thread still asks for 4 bytes and waits": all(loads_in_loops("shared", arch) == 2 * [(1, 4, 0)] for arch in (75, 80, 90)),
    "No other step of the ladder gains as much": steps.index(max(steps)) == 1,
    f"A block per row brings {us('online') / us('chunked'):.1f}x": True,
    f"holds {chunked.warps_per_multiprocessor:.0f} on average": True,
    f"Neighbouring addresses bring another {us('chunked') / us('shared'):.1f}x": True,
    f"it moves {more_bytes / 1e6:.0f} MB more for chunked": True,
    f"which a copy does in {copied_us:.0f} µs, and the difference is {us('chunked') - us('shared'):.0f} µs": True,
    "keeps it busy for 32 cycles, and such a store for 64": close(load_cycles, 32, 0.01) and close(store_cycles, 64, 0.01),
    f"{2 * load_cycles + store_cycles:.0f} cycles for every 32 floats of a row, and in all that's {l1_us:.0f} of the {us('chunked'):.0f} µs": True,
    "its loads take four times as many wavefronts": counts(compacted, "shared")[0] == counts(shared, "shared")[0]
    and close(counts(compacted, "shared")[1], 4 * counts(shared, "shared")[1], 0.03),
    f"it costs only {100 * (us('neighbours_compacted') / shared_1024 - 1):.0f} %": True,
    "the trees make a tenth as many loads as the loops over the row": close(counts(shared, "shared")[0], 0.1 * counts(shared, "global")[0], 0.03),
    "in those warps wait for memory most of the time": shared.stalls["long_scoreboard"] > 0.5,
    "It makes four times as many requests, by half-empty warps": close(counts(first, "shared")[0], 4 * counts(shared, "shared")[0], 0.02),
    "no bank conflict, but divergence": close(*counts(first, "shared"), 0.03),
    f"takes {100 * (us('neighbours_first') / shared_1024 - 1):.0f} % longer": True,
    "256, 512 and 1,024 threads are within 2 % of each other": tie(*sizes),
    "make seven or eight per SM, and eight of 256 threads fill it": (ROWS // sms, -(-ROWS // sms)) == (7, 8) and code("shared", 256).blocks_a_multiprocessor == 8,
    f"it takes {small[0] / small[-1]:.1f} times as long": True,
    "a copy is still more than twice as fast": us("shared") > 2 * times["shared"].copy_us,
    f"the {xray('shared', 4, COLS, 1024).total['barriers'] // 4:.0f} barriers per row": True,
    "takes 4 sectors, and one to shared memory one wavefront": lines.total["bytes_asked"] == lines.total["bytes_moved"] and close(*counts(shared, "shared"), 0.03),
    "asks L1 for as many sectors as online, eight times those of shared": all(
        counts(chunked, "global", way)[1] == counts(online, "global", way)[1] == 8 * counts(shared, "global", way)[1]
        for way in ("load", "store")
    ),
    f"L1 serves {100 * chunked.l1_hit_share:.0f} % of them; it could be seven of eight": True,
    f"{dram_bytes(chunked) / dram_bytes(shared):.2f} times as many bytes for chunked": True,
    "and most of what shared saves": l1_us > 0.5 * (us("chunked") - us("shared")),
    "above all for room in the queue for loads and stores": next(iter(chunked.stalls)) == "lg_throttle",
    f"would take a copy {100 * copied_us / us('chunked'):.0f} % of the time": True,
    "asks for four floats before it waits": all(loads_in_loops("chunked", arch) == 2 * [(4, 16, 0)] for arch in (75, 80, 90)),
    "Up to 256 threads per block shared gets faster with each doubling": all(b < 0.7 * a for a, b in itertools.pairwise(small)),
    f"shared is at {100 * 2 * MATRIX_BYTES / small[0] / 1e3 / curve(few_in_flight):.0f} % of that curve": True,
    f"with 1,024 at {100 * over_curve('shared', 1024):.0f} %": True,
}  # fmt: skip
