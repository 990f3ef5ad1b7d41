"""What the lanes of a warp do together, against plain Python: matches, reductions, votes, shuffles."""

from functools import reduce
from itertools import product
from operator import and_, xor

import pytest
from engine.launched import FULL, Rows, evaluate, zeros

LANES = range(32)
X = tuple((7 * lane * lane + 3) % 11 - 4 for lane in LANES)
"""Small numbers of both signs, several of them more than once."""


def lanes_where(holds):
    return sum(1 << lane for lane in LANES if holds(lane))


def same_as(lane, values=X, of=LANES):
    return sum(1 << other for other in of if values[other] == values[lane])


def odd_half(lane):
    return [other for other in LANES if other % 2 == lane % 2]


def wrapped(value):
    return value & FULL


def reduced(function, of=LANES):
    return wrapped(function([X[lane] for lane in of]))


ODD_MASK = "lane % 2 ? 0xaaaaaaaa : 0x55555555"

MATCHES = {
    f"__match_any_sync({FULL}, x[lane])": same_as,
    f"__match_any_sync({FULL}, (unsigned)x[lane])": same_as,
    f"__match_any_sync({FULL}, (long long)x[lane] << 32)": same_as,
    f"__match_any_sync({FULL}, (unsigned long long)x[lane] + (1ull << 40) * (lane / 16))":
        lambda lane: same_as(lane, of=[o for o in LANES if o // 16 == lane // 16]),
    f"__match_any_sync({FULL}, (float)x[lane])": same_as,
    f"__match_any_sync({FULL}, (double)x[lane])": same_as,
    f"__match_any_sync({ODD_MASK}, x[lane])": lambda lane: same_as(lane, of=odd_half(lane)),
    # bits are compared: a zero is no minus zero, and a NaN is itself
    f"__match_any_sync({FULL}, lane % 2 ? 0.0f : -0.0f)": lambda lane: lanes_where(lambda o: o % 2 == lane % 2),
    f"__match_any_sync({FULL}, __int_as_float(0x7fc00000 + lane / 16))":
        lambda lane: lanes_where(lambda o: o // 16 == lane // 16),
    f"__match_all_sync({FULL}, 5, &same) + same": lambda lane: wrapped(FULL + 1),
    f"__match_all_sync({FULL}, x[lane], &same) + 8 * same": lambda lane: 0,
    f"__match_all_sync({ODD_MASK}, (long long)(lane % 2) << 40, &same) + same":
        lambda lane: lanes_where(lambda o: o % 2 == lane % 2) + 1,
    f"__match_all_sync({FULL}, 1.5f, &same) == {FULL} && same == 1": lambda lane: 1,
}  # fmt: skip

REDUCTIONS = {
    f"__reduce_add_sync({FULL}, x[lane])": lambda lane: reduced(sum),
    f"__reduce_add_sync({FULL}, 0x40000000)": lambda lane: 0,
    f"__reduce_add_sync({FULL}, 0x18000001u)": lambda lane: wrapped(32 * 0x18000001),
    f"__reduce_min_sync({FULL}, x[lane])": lambda lane: reduced(min),
    f"__reduce_max_sync({FULL}, x[lane])": lambda lane: reduced(max),
    f"__reduce_min_sync({FULL}, (unsigned)x[lane])": lambda lane: min(wrapped(v) for v in X),
    f"__reduce_max_sync({FULL}, (unsigned)x[lane])": lambda lane: max(wrapped(v) for v in X),
    f"__reduce_and_sync({FULL}, (unsigned)x[lane] | 8u)": lambda lane: reduce(and_, (wrapped(v) | 8 for v in X)),
    f"__reduce_or_sync({FULL}, 1u << lane % 5)": lambda lane: 31,
    f"__reduce_xor_sync({FULL}, (unsigned)x[lane])": lambda lane: reduce(xor, map(wrapped, X)),
    f"__reduce_add_sync({ODD_MASK}, x[lane])": lambda lane: reduced(sum, odd_half(lane)),
    f"__reduce_max_sync({ODD_MASK}, x[lane])": lambda lane: reduced(max, odd_half(lane)),
}  # fmt: skip

VOTES = {
    f"__uni_sync({FULL}, lane < 32)": lambda lane: 1,
    f"__uni_sync({FULL}, lane < 0)": lambda lane: 1,
    f"__uni_sync({FULL}, lane < 31)": lambda lane: 0,
    f"__ballot_sync({ODD_MASK}, lane < 4)": lambda lane: 0b1010 if lane % 2 else 0b0101,
    f"__any_sync({ODD_MASK}, lane == 3)": lambda lane: lane % 2,
    f"__all_sync({ODD_MASK}, lane % 2 == 1)": lambda lane: lane % 2,
    f"__any_sync({FULL}, lane == 99)": lambda lane: 0,
    "warpSize": lambda lane: 32,
}

SHUFFLES = {
    f"__shfl_sync({FULL}, (short)x[lane], lane ^ 3)": lambda lane: wrapped(X[lane ^ 3]),
    f"__shfl_sync({FULL}, (signed char)x[lane], lane ^ 3)": lambda lane: wrapped(X[lane ^ 3]),
    f"__shfl_sync({FULL}, (unsigned char)x[lane], lane ^ 3)": lambda lane: X[lane ^ 3] & 255,
    f"__shfl_up_sync({FULL}, x[lane] > 0, 1)": lambda lane: int(X[max(lane - 1, 0)] > 0),
    f"__shfl_xor_sync({FULL}, (long)x[lane] << 33, 5) >> 33": lambda lane: wrapped(X[lane ^ 5]),
    f"__shfl_down_sync({FULL}, 0.5 * x[lane], 4, 8) * 2.0 + 100": lambda lane: X[lane + 4 if lane % 8 < 4 else lane] + 100,
    # the source counts within the segment, and wraps around
    f"__shfl_sync({FULL}, lane, 35)": lambda lane: 3,
    f"__shfl_sync({FULL}, lane, 9, 8)": lambda lane: lane // 8 * 8 + 1,
    f"__shfl_sync({FULL}, lane, -1, 16)": lambda lane: lane // 16 * 16 + 15,
    **{
        f"(int)__shfl_sync({FULL}, ({kind})x[lane], lane ^ 5)": lambda lane: wrapped(X[lane ^ 5])
        for kind in ("float", "unsigned", "long long", "unsigned long long")
    },
    "lane < 8 ? __shfl_xor_sync(0xff, x[lane], 7) : 9": lambda lane: wrapped(X[7 - lane]) if lane < 8 else 9,
    "lane % 2 ? __shfl_sync(0xaaaaaaaa, lane, 31) : __shfl_sync(0x55555555, lane, 0)": lambda lane: 31 * (lane % 2),
}  # fmt: skip

HALVES = {
    f"__half2float(__shfl_xor_sync({FULL}, __float2half(x[lane] + 20.5f), 1)) * 2": lambda lane: 2 * X[lane ^ 1] + 41,
    f"__bfloat162float(__shfl_down_sync({FULL}, __float2bfloat16(x[lane] + 20.5f), 2)) * 2":
        lambda lane: 2 * X[lane + 2 if lane < 30 else lane] + 41,
    f"__high2float(__shfl_sync({FULL}, __floats2half2_rn(1.0f, lane + 0.5f), 7)) * 2": lambda lane: 15,
    f"__high2float(__shfl_up_sync({FULL}, __floats2bfloat162_rn(1.0f, lane + 0.5f), 1)) * 2":
        lambda lane: 2 * max(lane - 1, 0) + 1,
}  # fmt: skip

COUNTING_BARRIERS = {
    "__syncthreads_count(thread % 3 == 0)": 32,
    "__syncthreads_and(thread < 95)": 0,
    "__syncthreads_and(thread < 96)": 1,
    "__syncthreads_or(thread == 95)": 1,
    "__syncthreads_or(thread == 96)": 0,
}

SIXTEEN = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
OF_A_WARP = MATCHES | REDUCTIONS | VOTES | SHUFFLES | HALVES


@pytest.mark.parametrize("expression", OF_A_WARP)
def test_each_lane_gets(expression):
    found = evaluate((*OF_A_WARP,), x=X, before=SIXTEEN, prologue="int same;")
    assert found[expression] == [OF_A_WARP[expression](lane) for lane in LANES]


def test_barriers_count_threads():
    for expression, found in evaluate((*COUNTING_BARRIERS,), 96).items():
        assert found == [COUNTING_BARRIERS[expression]] * 96, expression


WIDTHS, AMOUNTS = (32, 16, 8, 4, 2, 1), (0, 1, 3, 8, 31)
IN_SEGMENTS = [
    f"__shfl_{how}sync({FULL}, lane, {amount}, {width})"
    for width in WIDTHS
    for amount in AMOUNTS
    for how in ("", "up_", "down_", "xor_")
]


def test_shuffles_stay_in_their_segment():
    found = iter(evaluate(tuple(IN_SEGMENTS)).values())
    for width, amount in product(WIDTHS, AMOUNTS):
        segment = [range(lane // width * width, lane // width * width + width) for lane in LANES]
        assert next(found) == [segment[lane][amount % width] for lane in LANES]
        for distance in (-amount, amount):
            assert next(found) == [o if (o := l + distance) in segment[l] else l for l in LANES]  # noqa: E741
        # a lower segment may be read, a higher one may not
        assert next(found) == [o if (o := l ^ amount) < segment[l].stop else l for l in LANES]  # noqa: E741


def test_a_warp_that_the_block_does_not_fill():
    expressions = (
        f"__match_any_sync({FULL}, x[lane] / 2)",
        f"__reduce_add_sync({FULL}, 1u)",
        f"__ballot_sync({FULL}, 1)",
        f"__shfl_down_sync({FULL}, lane, 1)",
    )
    found = evaluate(expressions, threads=6)
    assert list(found.values()) == [
        [3, 3, 12, 12, 48, 48], [6] * 6, [63] * 6, [1, 2, 3, 4, 5, 5],
    ]  # fmt: skip


# ---- which lanes are together, barriers by number, and time

THIRDS = [sum(1 << o for o in LANES if o % 3 == third) for third in (0, 1)]
CLOCKS = """
    clock_t first = clock(), second = clock(), third = ::clock();
    long long fourth = clock64(), fifth = clock64();
    a[threadIdx.x] = first > 0 && second > first && third > second && fourth > 0 && fifth > fourth;"""
ROWS = Rows({
    "lanes of a branch are together": ("""
    unsigned lane = threadIdx.x, mask;
    if (lane % 3 == 0) {
        mask = __activemask();
    } else {
        mask = lane % 3 == 1 ? __activemask() : 0;
    }
    a[lane] = mask;
    a[lane + 32] = __activemask();""", [zeros("unsigned", 64)], [[[*THIRDS, 0][lane % 3] for lane in LANES] + [FULL] * 32]),
    "lanes that have exited are in no mask": ("""
    if (threadIdx.x == 1) return;
    __syncwarp(0xd);
    a[threadIdx.x] = __activemask();
    __syncwarp(0xd);""", [zeros("unsigned", 4)], [[13, 0, 13, 13]], {"block": 4}),
    "each warp has its own mask": ("if (threadIdx.x % 32 < 4 + threadIdx.x / 32) a[threadIdx.x] = __activemask();",
        [zeros("unsigned", 64)], [[15] * 4 + [0] * 28 + [31] * 5 + [0] * 27], {"block": 64}),
    "half of a block meets at a barrier of its own": ("""
    __shared__ int box[128];
    unsigned half = threadIdx.x / 64, other = half * 64 + (threadIdx.x + 63) % 64;
    for (int round = 1; round <= 3; round++) {
        box[threadIdx.x] = round * 1000 + threadIdx.x;
        if (half) __barrier_sync_count(1, 64); else __barrier_sync_count(2, 64);
        a[(round - 1) * 128 + threadIdx.x] = box[other];
        if (half) __barrier_sync_count(1, 64); else __barrier_sync_count(2, 64);
    }
    __barrier_sync(3);""", [zeros("int", 3 * 128)], [[1000 * r + t // 64 * 64 + (t + 63) % 64 for r in (1, 2, 3) for t in range(128)]], {"block": 128}),
    "clocks go forward": (CLOCKS, [zeros("int", 32)], [[1] * 32]),
    "and also beside the host's": (CLOCKS, [zeros("int", 32)], [[1] * 32], {"before": "#include <ctime>\n"}),
    "a thread that sleeps lets others run": ("""
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 5) {
        while (flag == 0) __nanosleep(100);
    } else if (threadIdx.x == 40) {
        flag = 7;
    }
    __syncthreads();
    a[threadIdx.x] = flag;""", [zeros("int", 64)], [[7] * 64], {"block": 64}),
}, block=32)  # fmt: skip
"""Of one warp where nothing else is said: a body, its array, and what that holds afterwards."""


@pytest.mark.parametrize("name", ROWS)
def test_threads_of_a_block_find(name):
    ROWS.check(name)
