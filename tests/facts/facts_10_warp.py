"""What chapter 10 and its evidence state: each phrase as the record, a counter or arithmetic has it, or whether it holds."""

import numpy as np
from facts.recorded_facts import as_long_as_whole, beside_the_fastest, close, tie

from softmax_lib import recorded, warp_times, xray
from softmax_lib.engine.source import WARP
from softmax_lib.records.measurement import TIE
from softmax_lib.show.drawings import row_lanes
from softmax_lib.worklog.registry import kernels

LONG, FEW, SHORTEST, POST = (131072, 128), (32768, 128), (524288, 32), (128, 96)
SAME_SIZE = {32: 524288, 64: 262144, 96: 174762, 128: 131072, 256: 65536, 512: 32768, 1024: 16384}
"""Rows of each length whose matrix has 2^24 floats."""
LANES = kernels["warp"].choices


def times(matrix, who="warp", **wanted):
    """What was timed of one on a matrix of short rows, the fastest first."""
    rows, cols = matrix
    return warp_times(part="short", rows=rows, cols=cols, who=who, **wanted)


def best(matrix, who="warp", **wanted):
    """Time at the best setting."""
    return times(matrix, who, **wanted)[0].us


def us(matrix, block_size, lanes=32, turns=1, who="warp"):
    """Time of chapter 10's kernel, or of a control."""
    return best(matrix, who, block_size=block_size, lanes=lanes, turns=turns)


def copy_us(matrix):
    return times(matrix)[0].copy_us


def start_us(blocks, threads=32):
    """Time of so many blocks that do nothing, between those that were measured."""
    probes = recorded.probed("block starts", threads=threads)
    points = sorted((probe.at["blocks"], probe.found["us"]) for probe in probes)
    assert points[0][0] <= blocks <= points[-1][0]
    return float(np.interp(blocks, *zip(*points, strict=True)))


def starts_a_us(threads):
    """How many blocks start in a microsecond, once they start one after the other."""
    return (65536 - 8192) / (start_us(65536, threads) - start_us(8192, threads))


def over_the_line():
    """Time with 32 lanes and up to 512 threads, over that of its empty blocks or a copy, whichever is longer."""
    return [
        one.us / max(start_us(one.blocks), one.copy_us)
        for matrix in (LONG, FEW)
        for one in times(matrix, lanes=32, turns=1)
        if one.blocks <= 65536 and one.block_size <= 512
    ]


def never_behind(name, lengths):
    """Whether no kernel of the book is faster than this one, by more than a tie, on rows of these lengths."""
    found = beside_the_fastest(name).items()
    return {cols for (_, cols), _ in found} >= {*lengths} and all(
        ratio < TIE for (_, cols), ratio in found if cols in lengths
    )


def lanes_level_in_128(cols):
    """The lanes that tie with the best in blocks of 128 threads."""
    found = {one.lanes: one.us for one in times((SAME_SIZE[cols], cols), block_size=128, turns=1)}
    return {lanes for lanes, time in found.items() if time < TIE * min(found.values())}


def saved(matrix, who, **wanted):
    """What share of the time of four kernels one kernel saves, in per cent."""
    return 100 * (1 - best(matrix, who, **wanted) / best(matrix, "unfused"))


def by_shared_memory(matrix):
    """Time where lanes meet in shared memory, over the time where they shuffle."""
    return best(matrix, "warp_shared") / best(matrix, lanes=32, turns=1)


rate = 10 * round(starts_a_us(32) / 10)
counts = {lanes: xray(kernels["warp"].setting(LANES=lanes), 32, 96, 128).total for lanes in LANES}
plain = {
    lanes: xray(kernels["warp_plain"].setting(LANES=lanes), 64, 128).total for lanes in (4, 8, 32)
}
gains = [us(LONG, 32) / us(LONG, size) for size in (64, 128)]
in_larger = [saved(m, "shared", block_size=256) for m in (FEW, *((r, c) for c, r in SAME_SIZE.items()))]  # fmt: skip
half_full = [
    us(matrix, 256, who="warp_half_full") / us(matrix, 256) for matrix in (LONG, FEW)
]  # fmt: skip
on_the_post = [one.us for one in times(POST, lanes=32, turns=1)]

plane = {name: beside_the_fastest(name) for name in ("torch", "softmax()", "Triton, simple")}
sizes = [rows * cols for rows, cols in plane["softmax()"]]
late = [of for of in plane["softmax()"].values() if of > TIE]

FACTS = {
    "fusion, is nearly as fast as a copy": recorded.times(1024, 32768)["fusion"].copy_share > 0.9,
    f"{100 * copy_us(LONG) / best(LONG, 'fusion'):.0f} % of a copy's speed": True,
    "one row per block, and 32 threads": times(LONG, "fusion")[0].block_size == 32 and row_lanes().choice == (32, 32, 128),
    "its load still touches four sectors of 32 bytes, with every byte wanted": (
        plain[8]["global_load_sectors"] == 4 * plain[8]["global_load_requests"] and 32 * plain[8]["global_load_sectors"] == 4 * 64 * 128
    ),
    "With 4 lanes, half of each sector comes unasked": plain[4]["global_load_sectors"] == 2 * plain[8]["global_load_sectors"],
    "With 8 lanes, three shuffles reduce four rows at once": plain[8]["shuffles"] == 2 * 3 * 64 // 4,
    "there's no barrier, and no shared memory": all(one["barriers"] == one["shared_load_requests"] == 0 for one in plain.values()),
    "With one turn both kernels take the same time, within 1 %": as_long_as_whole("warp_plain"),
    f"{100 * (1 - plain[4]['bytes_asked'] / plain[4]['bytes_moved']):.0f} % of the bytes moved are wasted": True,
    f"that's {us(LONG, 32):.0f} µs, as long as fusion takes": close(us(LONG, 32), best(LONG, "fusion")),
    f"A copy takes {copy_us(LONG):.0f} µs": True,
    "With large blocks, a half-empty SM costs 1.3x": {round(of, 1) for of in half_full} == {1.3},
    "two rows per block don't get there yet. Four do": us(LONG, 64) > 1.2 * copy_us(LONG) and us(LONG, 128) < TIE * copy_us(LONG),
    f"An H200 starts {rate:,} blocks per µs": True,
    "it doesn't matter whether they have 32 threads or 256": close(starts_a_us(32), starts_a_us(256), 0.01),
    f"With 1,024 it's {10 * round(starts_a_us(1024) / 10):,}": True,
    f"131,072 / {rate:,} = {131072 / rate:.0f} µs to start, and we measured {us(LONG, 32):.0f}": True,
    "Half the blocks, half the time": close(gains[0], 2, 0.05),
    f"32,768 blocks start in {start_us(32768):.0f} µs": True,
    f"about {int(copy_us(LONG) * rate / 1000)},000 blocks can start": True,
    f"give a block {100 * round(2**24 / (copy_us(LONG) * rate) / 100)} floats or more": True,
    f"it's {us(LONG, 32) / us(LONG, 32, turns=2):.1f}x faster too": round(gains[0], 1) == 1.9,
    "the blocks matter more": us(LONG, 32) / us(LONG, 32, turns=2) > 1.4 * max(half_full),
    "Rows of 128 floats are quick with 8, 16 or 32 lanes": tie(*(best(LONG, lanes=lanes, turns=1) for lanes in (8, 16, 32))),
    "8 lanes in blocks of 128 threads are the fastest, and level with a copy": (
        (times(SHORTEST)[0].lanes, times(SHORTEST)[0].block_size) == (8, 128) and best(SHORTEST) < TIE * copy_us(SHORTEST)
    ),
    "With 32 lanes the best block takes twice as long as a copy": close(best(SHORTEST, lanes=32, turns=1) / copy_us(SHORTEST), 2, 0.03),
    "Neither limit explains that": best(SHORTEST, lanes=32, turns=1) > 1.5 * start_us(65536) > 1.5 * copy_us(SHORTEST) and times(SHORTEST, lanes=32, turns=1)[0].blocks == 65536,
    "takes part in ten shuffles": plain[32]["shuffles"] == 64 * 10,
    "from 8 lanes on, 160 µs for 262,144 blocks, and 81 for 131,072": all(
        len(found := [one.us for one in times(SHORTEST, turns=1) if one.blocks == blocks and one.lanes >= 8]) == fields
        and all(close(of, took, 0.01) for of in found)
        for blocks, fields, took in ((262144, 2, 160), (131072, 3, 81))
    ),
    "No kernel of the chapters is faster than these": never_behind("warp, 8 lanes", (16, 32, 64)) and never_behind("warp, 32 lanes", (128, 256)) and never_behind("fusion", (1024, 2048, 4096, 8192)),
    "With fewer, each sector is asked for twice or more": [plain[lanes]["global_load_sectors"] // plain[8]["global_load_sectors"] for lanes in (8, 4)] == [1, 2],
    f"Four rows per block, not one, brought {gains[1]:.1f}x": True,
    f"is within {100 * (max(over_the_line()) - 1):.0f} % of the higher of the two": min(over_the_line()) >= 1,
    "The line stays above the blue one": all(us(LONG, 32, turns=turns) > us(LONG, 32 * turns) for turns in (2, 4, 8, 16, 32)),
    "On 32768 rows it rises steeply at its left end": us(FEW, 32, turns=32) > us(FEW, 32, turns=16) > us(FEW, 32, turns=8),
    f"fewer blocks than the {32 * recorded.multiprocessors:,} that fit on all SMs": True,
    "With 512 it is full again, and takes as long as without": all(close(us(m, 512, who="warp_half_full"), us(m, 512)) for m in (LONG, FEW)),
    "blocks of 32 threads take 12 to 13 % longer than blocks of 128": [f"{us(m, 32, turns=4) / us(m, 128, turns=4):.2f}" for m in (FEW, LONG)] == ["1.12", "1.13"],
    "All settings ask equally often": len({one["global_load_requests"] for one in counts.values()}) == 1,
    "From 8 lanes on each sector is asked for once": all((one["global_load_sectors"] == 32 * 96 // 8) == (lanes >= 8) for lanes, one in counts.items()),
    f"131072 × 128 floats take {best(LONG, lanes=4) / best(LONG):.1f}x as long": True,
    "More lanes mean more shuffles": sorted(one["shuffles"] for one in counts.values()) == [one["shuffles"] for one in counts.values()],
    "8 lanes tie with the fastest setting on rows of 32 to 256 floats": all(
        best((SAME_SIZE[cols], cols), lanes=8, turns=1) < TIE * best((SAME_SIZE[cols], cols), turns=1) for cols in (32, 64, 96, 128, 256)
    ),
    "that holds up to 96; rows of 128 and 256 want a warp": all((8 in lanes_level_in_128(cols)) == (cols <= 96) for cols in SAME_SIZE)
    and all(32 in lanes_level_in_128(cols) for cols in (128, 256)),
    "8 lanes up to 64 floats, and 32 at 128 and 256, are within 0.3 % of their best in blocks of 128 threads": all(
        us((SAME_SIZE[cols], cols), 128, lanes=lanes) < 1.003 * best((SAME_SIZE[cols], cols), lanes=lanes, turns=1)
        for cols, lanes in ((32, 8), (64, 8), (128, 32), (256, 32))
    ),
    "64, 96 and 128 floats take as long": tie(*(best((SAME_SIZE[cols], cols)) for cols in (64, 96, 128))),
    "still take over twice as long as a copy": 2 < us(SHORTEST, 512) / copy_us(SHORTEST) < 2.3 and 512 * 32 // WARP == 512,
    f"With 16 lanes the same blocks have twice the rows, and take {100 * (1 - us(SHORTEST, 512, lanes=16) / us(SHORTEST, 512)):.0f} % less": True,
    f"That matrix has {4 * POST[0] * POST[1] // 1024} KiB, and to copy it takes {copy_us(POST):.1f} µs, of which {start_us(132):.1f} are an empty launch": True,
    "for a warp per row no block size makes a difference of more than 10 %": tie(*on_the_post, within=0.1) and len(on_the_post) == 6,
    f"saves {saved(POST, 'shared'):.0f} % of the time of unfused, and warp saves {saved(POST, 'warp'):.0f} %": True,
    f"shared saves {min(in_larger):.0f} to {max(in_larger):.0f} %": True,
    f"it saves {saved(FEW, 'shared'):.0f} % on 32768 × 128": True,
    f"{100 * (by_shared_memory(POST) - 1):.0f} % slower on the post's matrix": True,
    "a third slower on 524288 × 32": close(by_shared_memory(SHORTEST), 4 / 3),
    "no slower from 256 columns on": all(close(by_shared_memory((SAME_SIZE[cols], cols)), 1) for cols in (256, 512, 1024)),
    "on 124 matrices of 2¹⁴ to 2²⁶ floats": (len(sizes), min(sizes), max(sizes)) == (124, 2**14, 2**26),
    "torch is ahead on none and within a tie on six": min(plane["torch"].values()) > 1 and sum(of < TIE for of in plane["torch"].values()) == 6,
    "Triton's is ahead on twelve": sum(of < 1 / TIE for of in plane["Triton, simple"].values()) == 12,
    "takes {:.0f} to {:.0f} % less than the winner from 65,536 columns on".format(*sorted(100 * (1 - of(ratio for (_, cols), ratio in plane["softmax()"].items() if cols >= 65536)) for of in (min, max))): True,
    f"is behind on {len(late)} small matrices, by up to {100 * (max(late) - 1):.0f} %": True,
    "At 512 and at 16,384 columns the number of rows decides": not never_behind("warp, 32 lanes", (512,)) and not never_behind("fusion", (512,)) and not never_behind("fusion", (16384,)) and not never_behind("float4", (16384,)),
}  # fmt: skip
