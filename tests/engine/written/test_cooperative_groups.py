"""Cooperative groups against plain Python: who is in which group, and what its members exchange."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import add, and_, or_, xor

import numpy as np
import pytest
from emulated import execute, kernel_of
from engine.launched import Rows, evaluate, evaluation, like, run, run_all, zeros

from softmax_lib.engine.errors import KernelFault

X = tuple((11 * t * t + 5) % 17 - 6 for t in range(256))
BEFORE = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
"""
BLOCK = "    auto block = cg::this_thread_block();\n"


def launched(body, *arrays, **how):
    return run(BLOCK + body, *arrays, before=BEFORE, **how)


# ---- what each member of a group gets


@dataclass(frozen=True)
class Group:
    """How g comes about, who is in the group of a thread (nobody: it has left), and which of how many groups that is."""

    makes: str
    members: Callable[[int], Sequence[int]]
    which: Callable[[int], tuple[int, int]]
    threads: int = 96


def tile(makes, size, threads=96, within=None):
    def members(thread):
        return range(thread // size * size, thread // size * size + size)

    whole = within or threads
    return Group(makes, members, lambda t: (t % whole // size, whole // size), threads)


CHOSEN = [lane for lane in range(32) if lane % 3 == 1 or lane > 27]
FOURS = [CHOSEN[start : start + 4] for start in range(0, len(CHOSEN), 4)]
SOME = "if (lane % 3 != 1 && lane <= 27) return; auto some = cg::coalesced_threads();"
LABELS = [list(dict.fromkeys(X[tile : tile + 16])) for tile in (0, 16)]


def four_of(lane):
    return next((four for four in FOURS if lane in four), ())


def same_label(lane):
    return [t for t in range(lane // 16 * 16, lane // 16 * 16 + 16) if X[t] == X[lane]]


TILES = {f"a tile of {n}": tile(f"auto g = cg::tiled_partition<{n}>(block);", n) for n in (1, 2, 4, 8, 16, 32)}  # fmt: skip
MEMORY = "__shared__ cg::block_tile_memory<256> memory; auto whole = cg::this_thread_block(memory);"
WIDE = {f"a tile of {n}": tile(f"{MEMORY} auto g = cg::tiled_partition<{n}>(whole);", n, 256) for n in (64, 128, 256)}  # fmt: skip
TOGETHER = {"lanes together": Group(f"{SOME} auto& g = some;", lambda t: CHOSEN if t in CHOSEN else (), lambda t: (0, 1), 32)}  # fmt: skip
OTHERS = {
    "one that forgot its whole": tile("cg::thread_block_tile<8> g = cg::tiled_partition<8>(block);", 8),
    "a tile of a tile": tile("auto g = cg::tiled_partition<4>(cg::tiled_partition<16>(block));", 4, within=16),
    "four of them": Group(f"{SOME} auto g = cg::tiled_partition(some, 4);", four_of, lambda t: (FOURS.index(four_of(t)), len(FOURS)), 32),
    "of one label": Group("auto g = cg::labeled_partition(cg::tiled_partition<16>(block), x[thread]);", same_label,
                          lambda t: (LABELS[t // 16].index(X[t]), len(LABELS[t // 16])), 32),
    "one thread": Group("auto g = cg::this_thread();", lambda t: [t], lambda t: (0, 1)),
}  # fmt: skip

# Of the values x of all threads, the members, and the rank among them.
OF_ALL = {
    "(g.sync(), cg::sync(g), g.thread_rank() + 100 * cg::thread_rank(g))": lambda x, m, r: 101 * r,
    "g.size() + 100 * g.num_threads() + 10000 * cg::group_size(g)": lambda x, m, r: 10101 * len(m),
}
OF_LARGE = {
    "g.shfl(x[thread], 3)": lambda x, m, r: x[m[3 % len(m)]],
    "g.any(x[thread] > 8)": lambda x, m, r: any(x[o] > 8 for o in m),
    "g.all(x[thread] > -6)": lambda x, m, r: all(x[o] > -6 for o in m),
    "cg::inclusive_scan(g, x[thread])": lambda x, m, r: sum(x[o] for o in m[: r + 1]),
    "cg::exclusive_scan(g, x[thread])": lambda x, m, r: sum(x[o] for o in m[:r]),
    "cg::exclusive_scan(g, x[thread], cg::greater<int>())": lambda x, m, r: max((x[o] for o in m[:r]), default=0),
    "(int)cg::reduce(g, 2.0 * x[thread], cg::plus<double>())": lambda x, m, r: 2 * sum(x[o] for o in m),
    **{
        f"cg::{call}(g, x[thread], cg::{name}<int>())": lambda x, m, r, of=of, ends=ends: reduce(of, [x[o] for o in m[: ends(r)]])
        for name, of in {"plus": add, "less": min, "greater": max, "bit_and": and_, "bit_or": or_, "bit_xor": xor}.items()
        for call, ends in (("reduce", lambda r: None), ("inclusive_scan", lambda r: r + 1))
    },
}  # fmt: skip
OF_ONE_WARP = {
    "g.shfl_up(x[thread], 1)": lambda x, m, r: x[m[max(r - 1, 0)]],
    "g.shfl_down(x[thread], 3)": lambda x, m, r: x[m[r + 3 if r + 3 < len(m) else r]],
    "g.ballot(x[thread] > 0)": lambda x, m, r: sum(1 << i for i, o in enumerate(m) if x[o] > 0),
    "g.match_any(x[thread])": lambda x, m, r: sum(1 << i for i, o in enumerate(m) if x[o] == x[m[r]]),
    "g.match_all(x[thread] / 100, same) == g.ballot(1) && same": lambda x, m, r: 1,
    "cg::invoke_one_broadcast(g, [&] { return x[thread]; })": lambda x, m, r: x[m[0]],
    "cg::invoke_one_broadcast(g, [&](int a, int b) { return a + b; }, 3, 4)": lambda x, m, r: 7,
}  # fmt: skip
XOR = {"g.shfl_xor(x[thread], g.size() / 2)": lambda x, m, r: x[m[r ^ len(m) // 2]]}
KINDS = [
    (TILES, OF_ALL | OF_LARGE | OF_ONE_WARP | XOR),
    (TOGETHER, OF_ALL | OF_LARGE | OF_ONE_WARP),
    (WIDE, OF_ALL | OF_LARGE),
    (OTHERS, OF_ALL),
]  # fmt: skip
WHICH = "g.meta_group_rank() + 100 * g.meta_group_size()"
GROUPS = {name: (group, formulas) for groups, formulas in KINDS for name, group in groups.items()}


@cache
def of_all_groups(threads):
    """What each expression gives each thread, a row each: by group, of those in blocks of so many threads."""
    bodies = {}
    for name, (group, formulas) in GROUPS.items():
        prologue = f"{BLOCK} int same; (void)same; (void)block; {group.makes}"
        if group.threads == threads:
            bodies[name] = evaluation((*formulas, WHICH), prologue)
    rows = 1 + max(len(formulas) for _, formulas in GROUPS.values())
    found = run_all(bodies, like("int", *X[:threads]), zeros("int", rows * threads), block=threads, before=BEFORE)  # fmt: skip
    return {name: given.reshape(rows, threads).tolist() for name, (_, given) in found.items()}


@pytest.mark.parametrize("name", GROUPS)
def test_each_member_of_a_group_gets(name):
    group, formulas = GROUPS[name]
    found = of_all_groups(group.threads)[name]
    for thread in range(group.threads):
        m = list(group.members(thread))
        for row, (expression, formula) in enumerate(formulas.items() if m else ()):
            expected = int(formula(X, m, m.index(thread)))
            assert found[row][thread] % (1 << 32) == expected % (1 << 32), expression
        rank, count = group.which(thread) if m else (0, 0)
        assert found[len(formulas)][thread] == rank + 100 * count


def test_a_tile_that_the_block_does_not_fill():
    expressions = (
        "tile.thread_rank()", "tile.meta_group_size()", "tile.ballot(1)", "tile.shfl_up(x[thread], 1)",
    )  # fmt: skip
    prologue = f"{BLOCK} auto tile = cg::tiled_partition<8>(block);"
    found = evaluate(expressions, 12, X[:12], "int", prologue, BEFORE)
    assert list(found.values()) == [
        [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3], [2] * 12, [255] * 8 + [15] * 4,
        [X[0], *X[:7], X[8], *X[8:11]],
    ]  # fmt: skip


# ---- what arrays hold afterwards

SUMS = np.arange(33).cumsum().tolist()
DESCRIBE = f"""{BEFORE}
    __device__ int describe(cg::thread_group group) {{
        group.sync();
        return (int)(group.thread_rank() + 1000 * group.size());
    }}
"""
ROWS = Rows({
    "structures go through a group word by word": ("""
    struct Best { float value; int index; double weight; short tag; };
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    Best best = {1.5f * threadIdx.x, (int)threadIdx.x, 0.25 * threadIdx.x, (short)-threadIdx.x};
    Best from = tile.shfl(best, 5);
    Best up = tile.shfl_up(best, 1);
    float4 four = tile.shfl_xor(make_float4(threadIdx.x, 1, 2, 3), 4);
    a[threadIdx.x] = from.value + from.index + from.weight + from.tag;
    a[32 + threadIdx.x] = up.index;
    a[64 + threadIdx.x] = four.x + four.w;""", [zeros("float", 96)],
        [[7.5 + 5 + 1.25 - 5] * 32 + [max(t - 1, 0) for t in range(32)] + [(t ^ 4) + 3 for t in range(32)]]),
    "tiles of several warps wait for their own threads only": ("""
    __shared__ int box[256];
    auto tile = cg::tiled_partition<64>(cg::this_thread_block());
    int first = threadIdx.x / 64 * 64, wrong = 0;
    for (int round = 1; round <= 2 + threadIdx.x / 64; round++) {  // another number for each tile
        box[threadIdx.x] = round * 1000 + threadIdx.x;
        tile.sync();
        int other = first + (threadIdx.x + 32) % 64;
        wrong += box[other] != round * 1000 + other;
        tile.sync();
    }
    a[threadIdx.x] = wrong;""", [np.ones(256, np.int32)], [[0] * 256], {"block": 256}),
    "one thread of a group is asked": ("""
    auto block = cg::this_thread_block();
    auto quad = cg::tiled_partition<4>(block);
    cg::invoke_one(block, [&] { atomicAdd(a, 1); });
    cg::invoke_one(quad, [&](int amount) { atomicAdd(a + 1, amount); }, 5);
    if (threadIdx.x % 2) cg::invoke_one(cg::coalesced_threads(), [&] { atomicAdd(a + 2, 1); });""", [zeros("int", 3)], [[2, 2 * 16 * 5, 4]], {"block": 64, "grid": 2}),
    "a cooperative grid meets": ("""
    auto grid = cg::this_grid();
    int wrong = 0, threads = grid.size(), me = grid.thread_rank();
    for (int round = 1; round <= 3; round++) {
        a[me] = round * 10000 + me;
        grid.sync();
        int other = (me + threads / 2 + 1) % threads;
        wrong += a[other] != round * 10000 + other;
        auto token = grid.barrier_arrive();
        grid.barrier_wait(static_cast<decltype(token)&&>(token));
    }
    b[me] = wrong + 100 * grid.is_valid();""", [zeros("int", 256), zeros("int", 256)], [None, [100] * 256], {"grid": 4, "block": 64, "cooperative": True}),
    "a block knows its threads": ("""
    auto block = cg::this_thread_block();
    dim3 at = block.thread_index(), size = block.group_dim(), same = block.dim_threads(), where = block.group_index();
    int* found = a + 10 * (block.thread_rank() + 24 * (where.x + 2 * where.y));
    found[0] = block.thread_rank(); found[1] = at.x; found[2] = at.y; found[3] = at.z;
    found[4] = size.x + 10 * size.y + 100 * size.z; found[5] = same.x == size.x && same.y == size.y && same.z == size.z;
    found[6] = block.size(); found[7] = block.num_threads(); found[8] = where.x; found[9] = where.y;""", [zeros("int", 10 * 24 * 6)],
        [[n for y, x, t in np.ndindex(3, 2, 24) for n in (t, t % 4, t // 4 % 3, t // 12, 234, 1, 24, 24, x, y)]], {"grid": (2, 3), "block": (4, 3, 2)}),
    "a grid knows its blocks": ("""
    auto grid = cg::this_grid();
    dim3 blocks = grid.dim_blocks(), own = grid.block_index(), at = grid.thread_index(), all = grid.dim_threads();
    long long* found = a + 8 * grid.thread_rank();
    cg::thread_group any = grid;
    found[0] = grid.thread_rank(); found[1] = grid.block_rank(); found[2] = grid.num_blocks(); found[3] = grid.num_threads();
    if (any.thread_rank() != grid.thread_rank() || any.num_threads() != grid.num_threads()) found[0] = -1;
    found[4] = blocks.x + 10 * blocks.y + 100 * blocks.z; found[5] = own.x + 10 * own.y + 100 * own.z;
    found[6] = at.x + 100 * at.y; found[7] = all.x + 100 * all.y;""", [zeros("long long", 8 * 6 * 8)],
        [[n for by, bx, ty, tx in np.ndindex(2, 3, 2, 4) for n in (
            (bx + 3 * by) * 8 + tx + 4 * ty, bx + 3 * by, 6, 48, 123, bx + 10 * by, bx * 4 + tx + 100 * (by * 2 + ty), 12 + 400)]],
        {"grid": (3, 2), "block": (4, 2)}),
    "a group of any type": ("""
    auto block = cg::this_thread_block();
    auto eights = cg::tiled_partition(block, 8);
    auto pairs = cg::tiled_partition(eights, 2);
    cg::thread_group any = block;
    a[threadIdx.x] = describe(block);
    a[64 + threadIdx.x] = describe(eights);
    a[128 + threadIdx.x] = describe(pairs);
    a[192 + threadIdx.x] = describe(cg::coalesced_threads());
    a[256 + threadIdx.x] = describe(any) + any.size() + cg::thread_rank(any);
    a[320 + threadIdx.x] = describe(cg::tiled_partition<16>(block));""", [zeros("int", 384)],
        [[*(t % n + 1000 * n for n in (64, 8, 2, 32) for t in range(64)), *range(64064, 64192, 2), *(t % 16 + 16000 for t in range(64))]],
        {"block": 64, "before": DESCRIBE}),
    "a group updates what an atomic holds": ("""
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int t = threadIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_block> first(b[0]), second(b[1]), third(b[2]);
    a[t] = cg::inclusive_scan_update(warp, first, t + 1);
    a[32 + t] = cg::exclusive_scan_update(warp, second, t + 1, cg::plus<int>());
    cg::reduce_update_async(warp, third, t, cg::greater<int>());
    cg::reduce_store_async(warp, b + 3, t, cg::plus<int>());""", [zeros("int", 64), like("int", 100, 1000, 5, 7)],
        [[*(100 + n for n in SUMS[1:]), *(1000 + n for n in SUMS[:-1])], [100 + SUMS[-1], 1000 + SUMS[-1], 31, SUMS[-2]]]),
}, block=32, before=f"#include <cuda/atomic>\n{BEFORE}")  # fmt: skip
"""Of one warp where nothing else is said: a body, its arrays, and what they hold afterwards."""


@pytest.mark.parametrize("name", ROWS)
def test_what_members_do_together(name):
    ROWS.check(name)


@pytest.mark.parametrize("warp_size", [4, 8, 32])
def test_warps_of_any_size(warp_size):
    body = """
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    auto pair = cg::tiled_partition<2>(tile);
    float value = x[threadIdx.x];
    y[threadIdx.x] = cg::reduce(tile, value, cg::plus<float>()) + 1000 * pair.shfl(value, 1)
        + 100000 * tile.shfl(value, 5);
    """
    x = np.arange(32, dtype=np.float32)[None]
    y = execute(kernel_of(body, before=BEFORE), x, 32, warp_size=warp_size)
    threads = np.arange(32)
    tiles = threads // 8 * 8
    assert (y[0] == 8 * tiles + 28 + 1000 * (threads | 1) + 100000 * (tiles + 5)).all()


# ---- the order of additions


def tree(values):
    """By halves: what each thread ends up with is the same."""
    while len(values) > 1:
        values = np.add(*np.split(values, 2))
    return values[0]


def doubling(values):
    distance = 1
    while distance < len(values):
        values = np.append(values[:distance], values[distance:] + values[:-distance])
        distance *= 2
    return values.tolist()


SIZES = 10.0 ** np.arange(256) ** 0.2
NOISE = (np.random.default_rng(5).standard_normal(256) * SIZES).astype(np.float32)
"""Floats whose sum depends on the order."""


def test_floats_are_reduced_by_halves():
    body = """
    auto warp = cg::tiled_partition<32>(block);
    auto eight = cg::tiled_partition<8>(block);
    auto wide = cg::tiled_partition<128>(block);
    float v = a[threadIdx.x];
    b[threadIdx.x] = cg::reduce(warp, v, cg::plus<float>());
    b[256 + threadIdx.x] = cg::reduce(eight, v, cg::plus<float>());
    b[512 + threadIdx.x] = cg::reduce(wide, v, cg::plus<float>());
    b[768 + threadIdx.x] = cg::inclusive_scan(warp, v, cg::plus<float>());
    b[1024 + threadIdx.x] = cg::reduce(warp, v, [](float p, float q) { return p + q; });"""
    found = zeros("float", 5 * 256)
    launched(body, NOISE, found, block=256)
    warps = np.split(NOISE, 8)
    sums = [tree(warp) for warp in warps]
    by_warp = [sums[t // 32] for t in range(256)]
    assert found[:256].tolist() == by_warp == found[1024:].tolist()
    assert found[256:512].tolist() == [tree(NOISE[t // 8 * 8 : t // 8 * 8 + 8]) for t in range(256)]
    by_half = [tree(np.array(sums[:4])), tree(np.array(sums[4:]))]
    assert found[512:768].tolist() == [by_half[t // 128] for t in range(256)]
    assert found[768:1024].tolist() == [v for warp in warps for v in doubling(warp)]
    assert sums != [doubling(warp)[-1] for warp in warps]  # else the order would not show


def test_floats_of_some_lanes_are_reduced_by_doubling():
    body = """
    float v = a[threadIdx.x];
    if (threadIdx.x % 3 != 1) {
        auto some = cg::coalesced_threads();
        b[threadIdx.x] = cg::reduce(some, v, cg::plus<float>());
        b[32 + threadIdx.x] = cg::inclusive_scan(some, v, cg::plus<float>());
        b[64 + threadIdx.x] = cg::exclusive_scan(some, v, cg::plus<float>());
    }
    b[96 + threadIdx.x] = cg::reduce(cg::coalesced_threads(), v, cg::plus<float>());"""
    found = zeros("float", 128).reshape(4, 32)
    launched(body, NOISE[:32], found)
    lanes = [lane for lane in range(32) if lane % 3 != 1]
    scanned = doubling(NOISE[lanes])
    assert found[0, lanes].tolist() == [scanned[-1]] * len(lanes)
    assert found[1, lanes].tolist() == scanned
    assert found[2, lanes].tolist() == [0, *scanned[:-1]]
    assert found[3].tolist() == [tree(NOISE[:32])] * 32


# ---- parts of a group


def test_parts_by_a_predicate():
    expressions = (
        "part.size()", "part.thread_rank()", "part.meta_group_rank() + 10 * part.meta_group_size()",
        "whole.size() + 100 * whole.meta_group_size()", "pointers.size()",
    )  # fmt: skip
    prologue = (
        BLOCK
        + """
    auto warp = cg::tiled_partition<32>(block);
    auto part = cg::binary_partition(warp, lane < 5);
    auto whole = cg::binary_partition(cg::coalesced_threads(), lane < 99);
    auto pointers = cg::labeled_partition(warp, x + lane / 8);"""
    )
    found = evaluate(expressions, 32, X[:32], "int", prologue, BEFORE)
    assert list(found.values()) == [
        [5] * 5 + [27] * 27, [*range(5), *range(27)], [21] * 5 + [20] * 27, [132] * 32, [8] * 32,
    ]  # fmt: skip


# ---- grids and clusters


def test_a_grid_that_is_not_cooperative_cannot_meet():
    assert run("a[0] = cg::this_grid().is_valid();", like("int", 7), before=BEFORE)[0] == 0
    with pytest.raises(KernelFault, match=r"needs a cooperative launch.*kernel\.cu:8"):
        run("\ncg::this_grid().sync();", zeros("int", 1), before=BEFORE)


def test_a_cluster_shares_its_memory():
    body = """
    auto cluster = cg::this_cluster();
    __shared__ float tile[32];
    tile[threadIdx.x] = blockIdx.x + 0.01f * threadIdx.x;
    cluster.sync();
    float sum = 0;
    for (int rank = 0; rank < cluster.num_blocks(); rank++) sum += cluster.map_shared_rank(tile, rank)[threadIdx.x];
    auto token = cluster.barrier_arrive();
    a[blockIdx.x * 32 + threadIdx.x] = sum;
    cluster.barrier_wait(static_cast<decltype(token)&&>(token));
    dim3 blocks = cluster.dim_blocks(), at = cluster.block_index(), threads = cluster.dim_threads(), me = cluster.thread_index();
    float values[] = {(float)cluster.block_rank(), (float)cluster.thread_rank(), (float)cluster.num_threads(), (float)cluster.size(),
        (float)blocks.x, (float)at.x, (float)threads.x, (float)me.x,
        (float)cluster.query_shared_rank(cluster.map_shared_rank(tile, 1)), (float)cg::this_grid().cluster_rank(),
        (float)cg::this_grid().num_clusters(), (float)cg::this_grid().dim_clusters().x};
    for (int i = 0; i < 12; i++) b[(blockIdx.x * 32 + threadIdx.x) * 12 + i] = values[i];"""
    sums, facts = launched(body, zeros("float", 256), zeros("float", 256 * 12), grid=8, cluster=4)
    threads = np.arange(256)
    assert sums == pytest.approx(4 * (threads // 128 * 4) + 6 + 4 * 0.01 * (threads % 32), rel=1e-6)
    for t, found in enumerate(facts.reshape(256, 12).tolist()):
        rank, me = t // 32 % 4, t % 128
        assert found == [rank, me, 128, 128, 4, rank, 128, me, 1, t // 128, 2, 2]
