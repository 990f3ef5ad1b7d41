"""Copies in stages: pipelines of a thread, of a block, of producers and consumers; and memcpy_async()."""

import re
from functools import cache

import numpy as np
import pytest
from engine.launched import DTYPES, like, run, run_all, zeros

from softmax_lib import emulator
from softmax_lib.worklog.xray import xray_launch

BEFORE = """#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#pragma nv_diag_suppress static_var_with_dynamic_init
namespace cg = cooperative_groups;
"""
BATCHES, THREADS = 7, 64
X = (np.arange(BATCHES * THREADS) ** 2 % 101).astype(np.float32)


# ---- one batch after the other, some stages ahead

AHEAD = """
    auto block = cg::this_thread_block(); (void)block;
    alignas(16) __shared__ float tile[STAGES][64];
    {start}
    for (int next = 0, i = 0; i < 7; i++) {{
        for (; {bounds}next < i + STAGES; next++) {{ {copy} }}
        {wait}
        b[64 * i + threadIdx.x] = tile[i % STAGES][63 - threadIdx.x];
        {leave}
    }}"""
"""How one batch after the other is used, while some are copied; the copy, what waits for it, and what lets its stage go."""


def ahead(start, bounds, copy, wait, leave):
    copy = copy.replace("TO", "tile[next % STAGES]").replace("OF", "a + 64 * next")
    return AHEAD.format(start=start, bounds=bounds, copy=copy, wait=wait, leave=leave)


STATE = "__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;\n"
ROLES = (
    STATE
    + """
    alignas(16) __shared__ float tile[STAGES][64];
    auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state, HOW);
    for (int i = 0; i < 7; i++) {
        if (role == cuda::pipeline_role::producer) {
            pipe.producer_acquire();
            cuda::memcpy_async(&tile[i % STAGES][2 * threadIdx.x], a + 64 * i + 2 * threadIdx.x, cuda::aligned_size_t<8>(8), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            for (int at = threadIdx.x - 32; at < 64; at += 32) b[64 * i + at] = tile[i % STAGES][63 - at];
            pipe.consumer_release();
        }
    }"""
)
SYNC = "__syncthreads();"
PIPELINES = {
    "a thread's own": ahead(
        "auto pipe = cuda::make_pipeline();", "next < 7 && ",
        "pipe.producer_acquire(); cuda::memcpy_async(&TO[threadIdx.x], OF + threadIdx.x, sizeof(float), pipe); pipe.producer_commit();",
        f"pipe.consumer_wait(); {SYNC}", f"{SYNC} pipe.consumer_release();"),
    "a block's": ahead(
        f"{STATE} auto pipe = cuda::make_pipeline(block, &state);", "next < 7 && ",
        "pipe.producer_acquire(); cuda::memcpy_async(block, TO, OF, cuda::aligned_size_t<16>(256), pipe); pipe.producer_commit();",
        "pipe.consumer_wait();", "pipe.consumer_release();"),
    "producers by role": ROLES.replace("HOW", "role"),
    "producers by number": ROLES.replace("HOW", "(size_t)32"),
    "primitives": ahead(
        "", "", "if (next < 7) __pipeline_memcpy_async(&TO[threadIdx.x], OF + threadIdx.x, 4); __pipeline_commit();",
        f"__pipeline_wait_prior(STAGES - 1); {SYNC}", SYNC),
    "a group's": ahead(
        "", "", "if (next < 7) cg::memcpy_async(block, TO, OF, 256);",
        "if (i + STAGES <= 7) cg::wait_prior<STAGES - 1>(block); else cg::wait(block);", "block.sync();"),
    "an older class": ahead(
        "using namespace nvcuda::experimental; nvcuda::experimental::pipeline pipe;", "next <= i && ",
        "nvcuda::experimental::memcpy_async(TO[threadIdx.x], (OF)[threadIdx.x], pipe);", f"pipe.commit_and_wait(); {SYNC}", SYNC),
}  # fmt: skip


@cache
def batches():
    bodies = {
        (name, stages): body.replace("STAGES", str(stages))
        for name, body in PIPELINES.items()
        for stages in (1, 2, 3)
    }
    return run_all(bodies, X, zeros("float", X.size), block=THREADS, before=BEFORE)


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("name", PIPELINES)
def test_every_batch_comes_through(name, stages):
    _, y = batches()[name, stages]
    assert (y.reshape(BATCHES, THREADS) == X.reshape(BATCHES, THREADS)[:, ::-1]).all()


WAITS = r"pipe.consumer_wait\(\);|__pipeline_wait_prior\(.*?\);|if \(i \+.*cg::wait\(block\);|pipe.commit_and_wait\(\);"


@pytest.mark.parametrize("is_waited_for", [True, False])
@pytest.mark.parametrize("name", PIPELINES)
def test_an_xray_finds_the_wait_that_a_pipeline_leaves_out(name, is_waited_for):
    body = PIPELINES[name] if is_waited_for else re.sub(WAITS, "", PIPELINES[name])
    text = f"{BEFORE}__global__ void k(const float* a, float* b) {{{body.replace('STAGES', '3')}}}"
    found = xray_launch(text, 1, THREADS, [X, zeros("float", X.size)], path="written")
    in_flight = [hazard for hazard in found.hazards if "which a copy begun at" in hazard.message]
    assert found.hazards == () if is_waited_for else in_flight


def test_who_leaves_a_pipeline_last_is_told():
    body = """
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state);
    a[threadIdx.x] = pipe.quit();"""
    assert run(body, zeros("int", 64), block=64, before=BEFORE).sum() == 1


# ---- what is copied


@pytest.mark.parametrize("kind", ["unsigned char", "short", "int", "float", "double"])
def test_a_group_copies_any_number_of_elements(kind):
    body = f"""
    __shared__ {kind} tile[64];
    auto tile_of_8 = cg::tiled_partition<8>(cg::this_thread_block());
    for (int i = threadIdx.x; i < 64; i += 8) tile[i] = 77;
    tile_of_8.sync();
    cg::memcpy_async(tile_of_8, tile + TO, a + OF, 37 * sizeof({kind}));
    cg::wait(tile_of_8);
    for (int i = threadIdx.x; i < 64; i += 8) b[i] = tile[i];"""
    shifts = ((0, 0), (1, 1), (0, 3))
    bodies = {(to, of): body.replace("TO", str(to)).replace("OF", str(of)) for to, of in shifts}
    given = np.arange(1, 65).astype(DTYPES[kind])
    found = run_all(bodies, given, zeros(kind, 64), block=8, before=BEFORE)
    for (to, of), (_, copied) in found.items():
        expected = np.full(64, 77)
        expected[to : to + 37] = given[of : of + 37]
        assert copied.tolist() == expected.tolist(), (to, of)


def test_a_group_copies_elements_as_far_as_both_go():
    body = """
    __shared__ float tile[32];
    auto block = cg::this_thread_block();
    tile[threadIdx.x] = -1;
    block.sync();
    cg::memcpy_async(block, tile, 10, a, 20);
    cg::memcpy_async(block, (void*)(tile + 12), (const void*)a, sizeof(float) * 5);
    cg::wait(block);
    b[threadIdx.x] = tile[threadIdx.x];"""
    found = run(body, np.arange(32, dtype=np.float32), zeros("float", 32), before=BEFORE)[1]
    assert found.tolist() == [*range(10), -1, -1, 0, 1, 2, 3, 4, *[-1] * 15]


def test_what_a_copy_leaves_out_becomes_zeros():
    body = """
    alignas(16) __shared__ unsigned char tile[17][16];
    int zeros = threadIdx.x;
    if (zeros <= SIZE) {
        for (int i = 0; i < 16; i++) tile[zeros][i] = 255;
        __pipeline_memcpy_async(tile[zeros], a, SIZE, zeros);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        for (int i = 0; i < 16; i++) b[16 * zeros + i] = tile[zeros][i];
    }"""
    bodies = {size: body.replace("SIZE", str(size)) for size in (4, 8, 16)}
    given, to = np.arange(1, 17, dtype=np.uint8), zeros("unsigned char", 17 * 16)
    for size, (_, found) in run_all(bodies, given, to, block=17, before=BEFORE).items():
        for left_out, row in enumerate(found.reshape(17, 16)[: size + 1].tolist()):
            expected = [*range(1, size - left_out + 1), *[0] * left_out, *[255] * (16 - size)]
            assert row == expected, (size, left_out)


def test_segments_of_an_older_class_end_in_zeros():
    body = """
    using namespace nvcuda::experimental;
    __shared__ int4 tile;
    pipeline pipe;
    memcpy_async(segment<4>((int*)&tile), segment<3>((const int*)a), pipe);
    pipe.commit();
    pipe.wait_prior<0>();
    b[0] = tile.x; b[1] = tile.y; b[2] = tile.z; b[3] = tile.w;"""
    given, to = like("int", 5, 6, 7, 8), like("int", 9, 9, 9, 9)
    _, found = run(body, given, to, block=1, before=BEFORE)
    assert found.tolist() == [5, 6, 7, 0]


# ---- what a trace shows


COPIES = {
    "cg::memcpy_async(block, tile, a, 256);": 4,
    "cg::memcpy_async(block, tile, a, cuda::aligned_size_t<16>(256));": 16,
    "cg::memcpy_async(block, (float2*)tile, (const float2*)a, 256);": 8,
    "cg::memcpy_async(block, (void*)tile, (const void*)a, 256);": 16,
    "cg::memcpy_async(block, (char*)tile + 1, (const char*)a + 2, 63);": 1,
    "if (threadIdx.x < 16) __pipeline_memcpy_async(tile + 4 * threadIdx.x, a + 4 * threadIdx.x, 16); __pipeline_commit();": 16,
}
"""Lines of a kernel, and of how many bytes their accesses are."""


def test_copies_are_accesses_of_the_readers_line():
    lines = "\n".join(COPIES)
    source = f"""{BEFORE}extern "C" __global__ void copy(const float* a, float* y) {{
    alignas(16) __shared__ float tile[64];
    auto block = cg::this_thread_block();
{lines}
    y[threadIdx.x] = 1;
}}
"""
    x, y = np.arange(64, dtype=np.float32), np.zeros(32, np.float32)
    events = emulator.trace_launch(source, 1, 32, [x, y]).events
    assert set(events["line"].tolist()) == set(range(10, 10 + len(COPIES) + 1))
    for line, size in enumerate(COPIES.values(), 10):
        assert set(events["size"][events["line"] == line].tolist()) == {size}
