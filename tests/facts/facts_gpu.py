"""What the primer states of the GPU: its memories, warps and blocks as they were measured."""

from itertools import pairwise
from math import ceil
from statistics import mean

import torch
from facts.recorded_facts import cells, close, edited

from softmax_lib import hardware, xray_launch

found = hardware()
levels, limits, sms = found.levels, found.limits, found.multiprocessors
one, eight = found.waits[1], found.waits[8]
threads = limits["MaxThreadsPerMultiProcessor"]
blocks = limits["MaxBlocksPerMultiprocessor"]
shared_kib = limits["MaxSharedMemoryPerMultiprocessor"] // 1024
SIZES = (32, 128, 256, 512, 1024)
SYSTEM_BYTES = 1024
"""Of shared memory, that each block takes for itself."""


def turn_cycles(waits):
    """Mean cycles of a wait but a warp's first, and of the arithmetic after a load."""
    turns = [[turn for turn in waits.turns if turn[0] == warp] for warp in range(waits.warps)]
    waited = [came - asked for of in turns for _, asked, came in of[1:]]
    computed = [asked - came for of in turns for (_, _, came), (_, asked, _) in pairwise(of)]
    return mean(waited), mean(computed)


def room(place):
    """Blocks of a launch that an SM has room for, by its limits."""
    warp_registers = -(-place.registers * 32 // 256) * 256
    return min(
        threads // place.threads,
        blocks,
        limits["MaxRegistersPerMultiprocessor"] // warp_registers // (place.threads // 32),
        limits["MaxSharedMemoryPerMultiprocessor"] // (place.shared_bytes + SYSTEM_BYTES),
    )


def cycles(low, high=1 << 30):
    """What a load takes in arrays of so many KiB."""
    return [of for kib, of in found.latency.items() if low <= kib <= high]


def ran(grid, block, guard="if (i < n) "):
    """Zeros among ten elements, warps, and what was found after an edit of the first kernel."""
    text = edited(cells("gpu")["twice"].split('"""')[1], ("if (i < n) ", guard))
    x, y = torch.arange(10.0), torch.zeros(10)
    result = xray_launch(text, grid, block, [x, y, 10])
    return int((y == 0).sum()), result.warps, [hazard.message for hazard in result.hazards]


(waited, computed), (waited8, computed8) = map(turn_cycles, (one, eight))
(large,) = {of.most for of in found.places if of.shared_bytes == 48 * 1024 and of.blocks == 4096}
small, l1 = found.placed(4096, 32), levels["L1"].cycles

FACTS = {
    f"takes {levels['DRAM'].cycles:.0f} cycles to arrive": True,
    f"time for {levels['DRAM'].cycles / levels['registers'].cycles:.0f} multiplications": True,
    f"room for {sms * threads:,} threads at once": True,
    f"An H200 has {sms} processors": True,
    "A block stays on its SM until its last thread has ended; then the next one takes its place": all(
        len(of.held) == ceil(of.blocks / (sms * room(of))) <= of.rounds < 1.05 * len(of.held) for of in found.places if of.registers == 12
    ),
    "stayed for 20 µs": {of.stay_ns for of in found.places} == {20_000},
    f"up to {threads:,} threads and {blocks} blocks": True,
    "where they keep their numbers, have to fit too": all(of.most == min(room(of), ceil(of.blocks / sms)) for of in found.places),
    "6 blocks leave 126 SMs idle": all(found.placed(6, size).held[0].count(0) == sms - 6 == 126 for size in SIZES),
    "With 132 blocks each SM has one": all(set(found.placed(132, size).held[0]) == {1} for size in SIZES),
    f"With 256 threads, {found.placed(4096, 256).most} blocks fit on an SM, so the {sms * found.placed(4096, 256).most + 1:,}th block": True,
    f"with 1,024 threads only {found.placed(4096, 1024).most} fit, and the {sms * found.placed(4096, 1024).most + 1}th": True,
    f"{sms} × {small.most} = {sms * small.most:,} places, but an occupancy of {100 * small.most * 32 // threads} %": True,
    "get by with one": len(small.held) == 1,
    f"48 KiB of shared memory, {large} fit, not {found.placed(4096, 256).most}: an SM has {shared_kib} KiB": True,
    f"the cell count {ran(3, 4)[1]} warps": True,
    "y stays all zeros": ran(3, 4, "")[0] == 10,
    "stops at thread 2 of block 2, which loads x[10], past the end": "thread 2 of block (2,0,0) loads 4 bytes at x[10], past the end" in ran(3, 4, "")[2][0],
    "the last two elements stay 0, and nobody complains": (ran(2, 4)[0], ran(2, 4)[2]) == (3, []),
    "1 block of 32 does the job with one warp": ran(1, 32) == (1, 1, []),
    "about half a nanosecond": all(0.49 < level.ns / level.cycles < 0.52 for level in levels.values()),
    f"up to 128 KiB, each takes {l1:.0f} cycles": all(close(of, l1, 0.01) for of in cycles(4, 128)),
    f"from 512 KiB to 16 MiB, {levels['L2'].cycles:.0f}": all(close(of, levels["L2"].cycles, 0.01) for of in cycles(512, 16384)),
    "from 128 MiB on, more than 660": min(cycles(131072)) > 660,
    f"it takes about {10 * round(one.cycles / 640):,} cycles for each turn: it computes for about {10 * round(computed / 10)} of them": True,
    f'"3x as long": {8 * 64 * computed / one.cycles:.0f}': True,
    "Each waits and computes nearly as long as alone": close(waited8, waited, 0.1) and close(computed8, computed, 0.05),
    f"Not with 32 warps, says the table: they take only {100 * (found.waits[32].cycles / one.cycles - 1):.0f} % longer than one": True,
    f"an SM holds up to {threads // 32} warps": True,
    f"A multiplication takes {levels['registers'].cycles:.0f} cycles, a load from shared memory or L1 {10 * round(levels['shared memory'].cycles / 10)} to {l1:.0f}, from L2 {levels['L2'].cycles:.0f}, from DRAM {levels['DRAM'].cycles:.0f}": True,
}  # fmt: skip
