"""Barriers, latches and semaphores in memory, and copies that a barrier waits for."""

from functools import cache

import numpy as np
import pytest
from engine.launched import Rows, like, run, run_all, zeros

BEFORE = """#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/chrono>
#include <cuda/std/utility>
#pragma nv_diag_suppress static_var_with_dynamic_init
namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;
"""
START = """
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
"""


# ---- rounds of a block: each thread reads what another has written, again and again

ROUNDS = """
    __shared__ int box[96];
    int wrong = 0;
    for (int round = 1; round <= 5; round++) {{
        box[threadIdx.x] = round * 1000 + threadIdx.x;
        {wait}
        int other = (threadIdx.x + 40) % 96;
        wrong += box[other] != round * 1000 + other;
        {wait}
    }}
    a[threadIdx.x] = wrong;"""

WAITS = {
    "in halves of the block's barrier": "auto token = cg::this_thread_block().barrier_arrive(); cg::this_thread_block().barrier_wait(cuda::std::move(token));",
    "at once": "bar.arrive_and_wait();",
    "by a token": "bar.wait(bar.arrive());",
    "later": "auto token = bar.arrive(); a[threadIdx.x] = round; bar.wait(cuda::std::move(token));",
    "by parity": "(void)bar.arrive(); bar.wait_parity(phase); phase = !phase;",
    "for a time": "auto token = bar.arrive(); while (!bar.try_wait_for(cuda::std::move(token), cuda::std::chrono::nanoseconds(9))) { }",
    "until a time": "auto token = bar.arrive(); while (!bar.try_wait_until(cuda::std::move(token), 9)) { }",
    "by parity until a time": "(void)bar.arrive(); while (!bar.try_wait_parity_until(phase, 9)) { } phase = !phase;",
    "by parity for a time": "(void)bar.arrive(); while (!bar.try_wait_parity_for(phase, cuda::std::chrono::nanoseconds(9))) { } phase = !phase;",
}  # fmt: skip


@cache
def rounds():
    bodies = {
        how: START + "bool phase = false; (void)phase;" + ROUNDS.format(wait="{ " + wait + " }")
        for how, wait in WAITS.items()
    }
    return run_all(bodies, np.ones(96, np.int32), block=96, before=BEFORE)


@pytest.mark.parametrize("how", WAITS)
def test_threads_meet_at_a_barrier(how):
    assert not rounds()[how].any()


OFTEN = {
    "in halves": "auto token = block.barrier_arrive(); block.barrier_wait(cuda::std::move(token));",
    "by number": "__barrier_sync_count(1, 1024);",
    "in tiles": "cg::tiled_partition<64>(block).sync();",
    "in memory": "bar.arrive_and_wait();",
    "by chance": "sum += __activemask() == 0xffffffff;",
}


@pytest.mark.parametrize("how", OFTEN)
def test_threads_may_meet_as_often_as_they_like(how):
    """Millions of times that a thread finds nothing to do are no deadlock, as long as some thread goes on."""
    body = f"""{START}
    auto block = cg::this_thread_block(); (void)block;
    int sum = 0;
    for (int i = 0; i < 3000; i++) {{ {OFTEN[how]} }}
    a[threadIdx.x] = 1 + sum;"""
    expected = 3001 if how == "by chance" else 1
    assert run(body, zeros("int", 1024), block=1024, before=BEFORE).tolist() == [expected] * 1024


ROWS = Rows({
    "warps hand work on without waiting for each other": ("""
    __shared__ barrier full, empty;
    __shared__ int box[32];
    if (threadIdx.x == 0) { init(&full, 64); init(&empty, 64); }
    __syncthreads();
    if (threadIdx.x < 32) {  // produces
        for (int i = 0; i < 10; i++) {
            if (i) empty.arrive_and_wait();
            box[threadIdx.x] = 100 * i + threadIdx.x;
            (void)full.arrive();
        }
    } else {
        for (int i = 0; i < 10; i++) {
            full.arrive_and_wait();
            a[32 * i + threadIdx.x - 32] = box[threadIdx.x - 32];
            if (i < 9) (void)empty.arrive();
        }
    }""", [zeros("int", 320)], [[100 * i + t for i in range(10) for t in range(32)]]),
    "a thread arrives for several": (START + """
    __shared__ int sum;
    if (threadIdx.x == 0) { sum = 7; (void)bar.arrive(blockDim.x - 1); bar.arrive_and_wait(); a[0] = sum; }""", [zeros("int", 1)], [[7]]),
    "a thread that drops out is not waited for": (START + """
    if (threadIdx.x >= 60) {
        bar.arrive_and_drop();
        return;
    }
    for (int i = 0; i < 3; i++) bar.arrive_and_wait();
    a[threadIdx.x] = 1;""", [zeros("int", 64)], [[1] * 60 + [0] * 4]),
    "a completion runs once a phase before anybody goes on": ("""
    __shared__ int count, seen[3];
    auto finish = [pointer = &count] { *pointer += 10; };
    typedef cuda::barrier<cuda::thread_scope_block, decltype(finish)> Counting;
    alignas(16) __shared__ char room[sizeof(Counting)];
    Counting* bar = (Counting*)room;
    if (threadIdx.x == 0) { count = 0; init(bar, blockDim.x, finish); }
    __syncthreads();
    for (int i = 0; i < 3; i++) {
        bar->arrive_and_wait();
        a[i * 64 + threadIdx.x] = count;
        bar->arrive_and_wait();
    }""", [zeros("int", 192)], [[10] * 64 + [30] * 64 + [50] * 64]),
    "sizes and limits": ("""
    a[0] = sizeof(barrier); a[1] = barrier::max(); a[2] = alignof(barrier);
    __shared__ barrier bar;
    init(&bar, 1);
    a[3] = cuda::device::barrier_native_handle(bar) == (void*)&bar;""", [zeros("int", 4)], [[8, (1 << 20) - 1, 8, 1]]),
    "threads wait for bytes that were announced": (START + """
    alignas(16) __shared__ float tile[4];
    __shared__ volatile int has_copied;
    if (threadIdx.x == 0) has_copied = 0;
    __syncthreads();
    if (threadIdx.x == 0) {  // all arrive, and the copy comes later, from another thread
        bar.wait(cuda::device::barrier_arrive_tx(bar, 1, 16));
        a[8] = has_copied;
    } else if (threadIdx.x == 63) {
        (void)bar.arrive();
        for (int i = 0; i < 5; i++) __nanosleep(10);
        has_copied = 1;
        cuda::device::memcpy_async_tx(tile, a, cuda::aligned_size_t<16>(16), bar);
    } else {
        bar.arrive_and_wait();
        if (threadIdx.x < 5) a[3 + threadIdx.x] = tile[threadIdx.x - 1];
    }""", [like("float", 5, 6, 7, 8, 0, 0, 0, 0, 0)], [[5, 6, 7, 8, 5, 6, 7, 8, 1]]),
    "a latch opens once": ("""
    alignas(8) __shared__ char room[sizeof(cuda::latch<cuda::thread_scope_block>)];
    __shared__ int sum;
    auto* latch = (cuda::latch<cuda::thread_scope_block>*)room;
    if (threadIdx.x == 0) { new (latch) cuda::latch<cuda::thread_scope_block>(64); sum = 0; }
    __syncthreads();
    atomicAdd(&sum, 1);
    if (threadIdx.x % 2) latch->arrive_and_wait(); else { latch->count_down(); latch->wait(); }
    a[threadIdx.x] = sum + 1000 * latch->try_wait();""", [zeros("int", 64)], [[1064] * 64]),
    "a barrier in global memory joins blocks": ("""
    auto* bar = (cuda::barrier<cuda::thread_scope_device>*)a;
    if (cg::this_grid().thread_rank() == 0) init(bar, cg::this_grid().size());
    cg::this_grid().sync();
    b[cg::this_grid().thread_rank()] = 1;
    bar->arrive_and_wait();
    b[cg::this_grid().size() + cg::this_grid().thread_rank()] = b[(cg::this_grid().thread_rank() + 77) % 128];""", [zeros("long long", 1), zeros("int", 256)], [None, [1] * 256], {"grid": 4, "block": 32, "cooperative": True}),
}, block=64, before=BEFORE)  # fmt: skip
"""Of 64 threads where nothing else is said: a body, its arrays, and what they hold afterwards."""


@pytest.mark.parametrize("name", ROWS)
def test_threads_wait_and_go_on(name):
    ROWS.check(name)


# ---- copies that a barrier waits for


def test_a_group_copies_before_a_barrier():
    body = """
    alignas(16) __shared__ float tile[512];
    auto block = cg::this_thread_block();
    cuda::memcpy_async(block, tile, a, sizeof(tile), bar);
    bar.arrive_and_wait();
    b[threadIdx.x] = tile[(threadIdx.x * 5 + 3) % 512];
    bar.arrive_and_wait();
    cuda::memcpy_async(block, tile, a + 4, cuda::aligned_size_t<16>(sizeof(float) * 256), bar);
    cuda::memcpy_async(tile + 300 + threadIdx.x, a + threadIdx.x, sizeof(float), bar);
    bar.arrive_and_wait();
    b[128 + threadIdx.x] = tile[2 * threadIdx.x];
    b[256 + threadIdx.x] = tile[300 + 127 - threadIdx.x];"""
    x = np.arange(512, dtype=np.float32) ** 2
    found = run(START + body, x, zeros("float", 384), block=128, before=BEFORE)[1]
    threads = np.arange(128)
    assert (found[:128] == x[(threads * 5 + 3) % 512]).all()
    assert (found[128:256] == x[4 + 2 * threads]).all()
    assert (found[256:] == x[127 - threads]).all()


BULK = {
    "copy first": "COPY token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile));",
    "arrive first": "token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile)); COPY",
    "expect first": "cuda::device::barrier_expect_tx(bar, sizeof(tile)); COPY token = bar.arrive();",
}
COPY = (
    "cuda::device::memcpy_async_tx(tile, a + i * 256, cuda::aligned_size_t<16>(sizeof(tile)), bar);"
)


def test_a_bulk_copy_is_counted_in_bytes():
    body = START + """
    alignas(128) __shared__ float tile[256];
    for (int i = 0; i < 4; i++) {
        barrier::arrival_token token;
        if (threadIdx.x == 0) { STEPS } else { token = bar.arrive(); }
        bar.wait(cuda::std::move(token));
        b[i * 256 + threadIdx.x] = tile[255 - threadIdx.x];
        __syncthreads();
    }"""  # fmt: skip
    bodies = {
        how: body.replace("STEPS", steps.replace("COPY", COPY)) for how, steps in BULK.items()
    }
    x = np.arange(1024, dtype=np.float32)
    found = run_all(bodies, x, zeros("float", 1024), block=256, before=BEFORE)
    for how, (_, y) in found.items():
        assert (y.reshape(4, 256) == x.reshape(4, 256)[:, ::-1]).all(), how


# ---- the same as plain functions and as an older class


def test_barriers_as_plain_functions():
    before = "#include <cuda_awbarrier_primitives.h>\n"
    body = """
    __shared__ __mbarrier_t bar;
    __shared__ int box[64];
    if (threadIdx.x == 0) __mbarrier_init(&bar, 64);
    __syncthreads();
    box[threadIdx.x] = threadIdx.x;
    __mbarrier_token_t token = __mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait(&bar, token)) { }
    a[threadIdx.x] = box[63 - threadIdx.x];
    b[threadIdx.x] = __mbarrier_token_pending_count(token);
    __syncthreads();
    if (threadIdx.x >= 32) { __mbarrier_arrive_and_drop(&bar); return; }
    token = __mbarrier_arrive(&bar);
    while (!__mbarrier_try_wait(&bar, token, 100)) { }
    bool phase = false;
    (void)__mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait_parity(&bar, phase)) { }
    a[threadIdx.x] += 1000;
    if (threadIdx.x == 0) b[64] = __mbarrier_maximum_count();"""
    read, pending = run(body, zeros("int", 64), zeros("int", 65), block=64, before=before)
    assert read.tolist() == [63 - t + 1000 * (t < 32) for t in range(64)]
    assert pending[64] == (1 << 14) - 1
    assert pending[:64].max() == 64  # how many were missing
    assert pending[:64].min() >= 1


def test_barriers_as_an_older_class():
    before = "#include <cuda_awbarrier.h>\nusing nvcuda::experimental::awbarrier;\n"
    start = START.replace("barrier bar", "awbarrier bar")
    waits = ("bar.arrive_and_wait();", "bar.wait(bar.arrive());",
             "{ auto t = bar.arrive(); while (!bar.timed_wait(t, 100)) { } }",
             "{ auto t = bar.arrive(); while (!bar.try_wait(t, 100)) { } }")  # fmt: skip
    bodies = {wait: start + ROUNDS.format(wait=wait) for wait in waits}
    for wait, wrong in run_all(bodies, np.ones(96, np.int32), block=96, before=before).items():
        assert not wrong.any(), wait


# ---- latches and semaphores


def test_a_semaphore_lets_so_many_in_at_once():
    body = """
    typedef cuda::counting_semaphore<cuda::thread_scope_block, 3> Semaphore;
    alignas(8) __shared__ char room[sizeof(Semaphore)];
    __shared__ int inside, most, done;
    Semaphore* gate = (Semaphore*)room;
    if (threadIdx.x == 0) { new (gate) Semaphore(3); inside = most = done = 0; }
    __syncthreads();
    gate->acquire();
    atomicMax(&most, 1 + atomicAdd(&inside, 1));
    __nanosleep(50);
    atomicSub(&inside, 1);
    atomicAdd(&done, 1);
    gate->release();
    __syncthreads();
    if (threadIdx.x == 0) { a[0] = most; a[1] = inside; a[2] = done; }"""
    most, inside, done = run(body, zeros("int", 3), block=64, before=BEFORE)
    assert 1 < most <= 3
    assert (inside, done) == (0, 64)
