"""What chapter 6 and its evidence state: each phrase as the record, a counter or machine code has it, or whether it holds."""

import math

import torch
from facts.recorded_facts import (
    COLS,
    MATRIX_BYTES,
    ROWS,
    as_long_as_whole,
    asked_bytes,
    close,
    counted,
    edited,
    numbers,
    tie,
    us,
)

from softmax_lib import recorded, run, trace, xray
from softmax_lib.records.measurement import TIE
from softmax_lib.worklog.registry import kernels

SHORT = 512
LENGTHS = (2048, COLS, 131072)
BOTH = ("shared", "shuffle")
FULL, NOT_FULL = (256, 512, 1024), (192, 384, 768)
"""Block sizes that leave no place on a multiprocessor empty, and those that leave a quarter."""

times = recorded.times(ROWS, COLS)
sms = recorded.multiprocessors
waits = {name: counted(name).stalls for name in BOTH}
shared_bytes = {
    name: sum(
        4 * one.elements for one in trace(name, torch.zeros(1, 1024), 1024).arrays if one.is_shared
    )
    for name in BOTH
}
barriers = {name: xray(name, 1, 1024, 1024).total["barriers"] for name in BOTH}
full, not_full = ([us("shuffle", block_size=size) for size in sizes] for sizes in (FULL, NOT_FULL))
most = us("shared") / (1.5 * times["shuffle"].copy_us)
cited = recorded.cited.ms["shared"] / recorded.cited.ms["shuffle"]
plain = kernels["shuffle_plain"].source.text


def hazards(*swaps):
    """What the x-ray finds in the kernel of the chapter's cell after these edits."""
    return list(xray(edited(plain, *swaps), 1, 1024, 256).hazards)


in_one_array = hazards((", sums[WARPS]", ""), ("sums[", "maxima["))
down = "value = fmaxf(value, __shfl_xor", "value = fmaxf(value, __shfl_down"


def gain(cols, size):
    """How much faster `shuffle` is than `shared` with as many threads per block."""
    return us("shared", cols, block_size=size) / us("shuffle", cols, block_size=size)


def rounds(size):
    """How many rounds 1,024 blocks of this size take on all multiprocessors."""
    return math.ceil(ROWS / (2048 // size * sms))


def at_work(size):
    """Threads per multiprocessor on average over the rounds."""
    return ROWS * size / rounds(size) / sms


FACTS = {
    f"shared, runs at {100 * times['shared'].copy_share:.0f} % of a copy's speed": True,
    "It wastes no sector": 32 * counted("shared").counters["global_load_sectors"] == 2 * MATRIX_BYTES,
    "the SMs are nearly full": 57 < counted("shared").warps_per_multiprocessor < 64,
    f"wait at {barriers['shared']} barriers per row": True,
    f"once between warps, {barriers['shuffle']} barriers per row": True,
    "within 1 % (evidence)": as_long_as_whole("shuffle_plain"),
    "the report finds a race on maxima": ["on maxima" in h.words for h in in_one_array if h.kind == "race"] == [True],
    "it finds no hazard at all": hazards(down) == [],
    "--block-size 96, which shared refuses": 96 not in kernels["shared"].legal_block_sizes(COLS) and 96 in kernels["shuffle_plain"].legal_block_sizes(COLS),
    f"{barriers['shared'] - barriers['shuffle']} of {barriers['shared']} barriers are gone": True,
    f"shared memory shrinks from {shared_bytes['shared']:,} bytes to {shared_bytes['shuffle']}": True,
    '"1.0x": 1': min((1, 1.3, most, 10), key=lambda answer: abs(answer - us("shared") / us("shuffle"))) == 1,
    '"1.3x": 1.3': round(cited, 1) == 1.3,
    "Only short rows gain more": us("shared", SHORT) / us("shuffle", SHORT) > us("shared", 2048) / us("shuffle", 2048) > us("shared") / us("shuffle") > us("shared", 131072) / us("shuffle", 131072),
    "it takes rows of 512 floats to gain as much": close(us("shared", SHORT) / us("shuffle", SHORT), cited, 0.02),
    f"they spent {100 * waits['shared']['barrier']:.0f} % of their time, and now it's {100 * waits['shuffle']['barrier']:.0f} %": True,
    f"they waited {100 * waits['shared']['long_scoreboard']:.0f} % of it, and now {100 * waits['shuffle']['long_scoreboard']:.0f} %": True,
    f"two reads and a write would take {1.5 * times['shuffle'].copy_us:.0f} µs, not {times['shuffle'].median_us:.0f}": True,
    "2 blocks fit, which makes four rounds": 2048 // 768 == 2 and -(-ROWS // (2 * sms)) == 4,
    f"there we gain {us('shared', SHORT) / us('shuffle', SHORT):.2f}x": True,
    f"it's even {gain(SHORT, 1024):.2f}x": True,
    "Every CUDA kernel from here on reduces by shuffles": all(
        "block_reduce.cuh" in text or "__shfl_xor_sync" in text
        for one in kernels.values()
        if one.name in ("float4", "fusion", "unroll", "warp", "topk", "topk_warp") and (text := one.source.text)
    ),
    "no barrier is left": xray("warp", 4, 128).total["barriers"] == 0,
    "Up to 256, more threads are faster": (below := [us("shuffle", block_size=size) for size in (32, 64, 96, 128, 192, 256)]) == sorted(below, reverse=True),
    "they take as long as 192": tie(*not_full),
    f"all SMs take {5 * sms} rows. The other {ROWS - 5 * sms} come in a second round": True,
    "1,024 × 384 / (132 × 2) = 1,489 threads at work on an SM": all(f"{at_work(size):,.0f}" == "1,489" for size in NOT_FULL),
    "25 % fewer than with 256, 512 or 1,024 threads": all(f"{at_work(size):,.0f}" == "1,986" for size in FULL) and close(at_work(192), 0.75 * at_work(256), 0.001),
    f"and takes {100 * (sum(not_full) / sum(full) - 1):.0f} % longer": True,
    "The longer the row, the smaller the share of barriers": all(
        (shares := [counted(name, cols).stalls["barrier"] for cols in LENGTHS]) == sorted(shares, reverse=True) for name in BOTH
    ),
    "At every length shuffle waits at them less than shared": all(
        counted("shuffle", cols).stalls["barrier"] < counted("shared", cols).stalls["barrier"] for cols in LENGTHS
    ),
    "both wait for memory above all": all(next(iter(counted(name, cols).stalls)) == "long_scoreboard" for name in BOTH for cols in LENGTHS),
    "The bytes are the same": all(
        32 * counted(name).counters[f"global_{way}_sectors"] == trips * MATRIX_BYTES
        for name in BOTH
        for way, trips in (("load", 2), ("store", 1))
    ),
    "they take more than 1.6 times as long": all(us(name) > 1.6 * 1.5 * times[name].copy_us for name in BOTH),
    "with 32 threads both kernels are within 2 %": close(gain(SHORT, 32), 1, TIE - 1),
    f"with 256 shuffle is {gain(SHORT, 256):.2f}x faster": True,
    "within 2 % up to 512 threads": all(close(gain(COLS, size), 1, 0.02) for size in (32, 64, 128, 256, 512)),
    f"with 1,024 shuffle is {100 * (gain(COLS, 1024) - 1):.0f} % faster": True,
    "That takes five barriers per row, not 2": xray("textbook_reciprocal", 1, 1024, 1024).total["barriers"] == 5,
    "it takes as long, within 2 %": close(us("textbook_reciprocal", block_size=1024), us("shuffle", block_size=1024), TIE - 1),
    f"1,986 threads are {at_work(1024) / 32:.0f} warps; the counters saw {counted('shuffle').warps_per_multiprocessor:.0f}": True,
    "They give the same bits": all(torch.equal(run("shuffle", x), run("shuffle_plain", x)) for x in map(numbers, (1, 11, 1000, 32768))),
    "each thread asks for 4 bytes, and waits": asked_bytes("shuffle_plain") == 4,
}  # fmt: skip
