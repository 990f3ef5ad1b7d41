"""What orders two accesses is no race, and without it the same kernel has a hazard."""

import re

import numpy as np
import pytest

from softmax_lib.worklog.xray import xray_launch

GROUPS = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
BARRIER = "#include <cuda/barrier>\n"
PIPELINE = GROUPS + "#include <cuda/pipeline>\n#include <cuda_pipeline.h>\n"
CLUSTER = GROUPS + "__cluster_dims__(2) "
COPY = "__pipeline_memcpy_async(&kept[t], &x[t], 4); __pipeline_commit();"
START = "__shared__ cuda::barrier<cuda::thread_scope_block> bar; if (t == 0) init(&bar, COUNT); __syncthreads();"
START_ALL = START.replace("COUNT", "blockDim.x")


def kinds(before, body, threads=64):
    """The hazards of a kernel with this body, by kind: it may read x and write y."""
    text = f"{before}__global__ void k(const int* x, int* y) {{\n__shared__ int kept[256];\nint t = threadIdx.x;\n{body}\n}}\n"
    x, y = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    found = xray_launch(text, 2 if before == CLUSTER else 1, threads, [x, y], path="written")
    return {hazard.kind for hazard in found.hazards}


# Each body has what puts its accesses in order marked by @...@.
ORDERED = {
    "lanes of a mask": ("", """
        kept[t] = x[t];
        if (t % 32 < 8) @__syncwarp(0xff);@
        if (t % 32 < 8) y[t] = kept[t ^ 5];"""),
    "lanes of two masks, one after the other": ("", """
        int lane = t % 32;
        if (lane == 0) kept[t] = 1;
        if (lane < 2) __syncwarp(0x3);
        if (lane == 1 || lane == 2) @__syncwarp(0x6);@
        if (lane == 2) y[t] = kept[t - 2];"""),
    "a tile of two warps": (GROUPS, """
        auto tile = cg::tiled_partition<64>(cg::this_thread_block());
        kept[t] = x[t];
        @tile.sync();@
        y[t] = kept[t ^ 33];"""),
    "the block's barrier in halves": (GROUPS, """
        auto block = cg::this_thread_block();
        kept[t] = x[t];
        @block.barrier_wait(block.barrier_arrive());@
        y[t] = kept[t ^ 33];"""),
    "a barrier in memory": (BARRIER, START_ALL + """
        kept[t] = x[t];
        @bar.arrive_and_wait();@
        y[t] = kept[t ^ 33];"""),
    "a barrier where one warp arrives and the other waits": (BARRIER, START_ALL + """
        if (t < 32) kept[t] = x[t];
        auto token = bar.arrive();
        @bar.wait(std::move(token));@
        if (t >= 32) y[t] = kept[t - 32];"""),
    "halves of a cluster's barrier": (CLUSTER, """
        auto cluster = cg::this_cluster();
        kept[t] = x[t];
        cluster.barrier_arrive();
        @cluster.barrier_wait();@
        y[64 * blockIdx.x + t] = cluster.map_shared_rank(kept, !blockIdx.x)[t ^ 33];
        cluster.sync();"""),
    "a lane that arrives for its warp": (BARRIER, START.replace("COUNT", "33") + """
        if (t < 32) {
            kept[t] = x[t];
            @__syncwarp();@
        }
        if (t == 31) (void)bar.arrive();
        if (t >= 32) { bar.arrive_and_wait(); y[t] = kept[t - 32]; }"""),
    "a barrier behind that": (PIPELINE, COPY + "__pipeline_wait_prior(0); @__syncthreads();@ y[t] = kept[t ^ 33];"),
    "a wait for what a copy reads": (PIPELINE, """
        y[2 * t] = y[2 * t + 1] = 1;
        __pipeline_memcpy_async(&kept[2 * t], &y[2 * t], 8, 4);
        __pipeline_commit();
        y[2 * t + 1] = 2;
        @__pipeline_wait_prior(0);@
        y[2 * t] = 2;"""),
    "a barrier that waits for copies": (PIPELINE, START_ALL + """
        cuda::memcpy_async(cg::this_thread_block(), kept, x, 256, bar);
        auto token = bar.arrive();
        __syncthreads();
        @bar.wait(std::move(token));@
        y[t] = kept[t ^ 33];"""),
    "an atomic flag": ("#include <cuda/atomic>\n", """
        __shared__ cuda::atomic<int, cuda::thread_scope_block> flag;
        if (t == 0) flag.store(0);
        __syncthreads();
        if (t == 40) {
            kept[0] = 7;
            flag.store(1, cuda::memory_order_release);
        }
        if (t == 3) {
            @while (flag.load(cuda::memory_order_acquire) == 0) { }@
            y[t] = kept[0];
        }"""),
    "a latch": ("#include <cuda/latch>\n", """
        alignas(8) __shared__ char room[sizeof(cuda::latch<cuda::thread_scope_block>)];
        auto* latch = (cuda::latch<cuda::thread_scope_block>*)room;
        if (t == 0) new (latch) cuda::latch<cuda::thread_scope_block>(64);
        __syncthreads();
        kept[t] = x[t];
        @latch->arrive_and_wait();@
        y[t] = kept[t ^ 33];"""),
    "a semaphore": ("#include <cuda/semaphore>\n", """
        alignas(8) __shared__ char room[sizeof(cuda::binary_semaphore<cuda::thread_scope_block>)];
        auto* gate = (cuda::binary_semaphore<cuda::thread_scope_block>*)room;
        if (t == 0) { new (gate) cuda::binary_semaphore<cuda::thread_scope_block>(1); kept[0] = 0; }
        __syncthreads();
        @gate->acquire();@
        kept[0] += t;
        gate->release();"""),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERED)
def test_what_orders_two_accesses_is_no_race(name):
    before, body = ORDERED[name]
    assert kinds(before, body.replace("@", "")) == set()


@pytest.mark.parametrize("name", ORDERED)
def test_without_it_the_same_kernel_has_a_hazard(name):
    before, body = ORDERED[name]
    head, _, tail = body.split("@")
    found = kinds(before, f"{head};{tail}")
    assert found & {"race", "uninitialised"}  # who reads in vain has been too early


@pytest.mark.parametrize("order", ["release", "acquire", "release|acquire"])
def test_a_flag_that_is_relaxed_where_it_is_written_or_read_orders_nothing(order):
    before, body = ORDERED["an atomic flag"]
    relaxed = re.sub(rf"_({order})\b", "_relaxed", body.replace("@", ""))
    assert kinds(before, relaxed) == {"race"}


UNORDERED = {
    "a wait for all batches but the last": (COPY + "__pipeline_wait_prior(1); y[t] = kept[t];", 64),
    "a wait for a copy in no batch": (COPY.replace("__pipeline_commit();", "") + "__pipeline_wait_prior(0); y[t] = kept[t];", 64),
    "an arrival that completes a phase": (
        START_ALL + "kept[t] = x[t]; auto token = bar.arrive(); if (t == 63) y[t] = kept[0]; bar.wait(std::move(token));", 64),
    "an arrival before a write": (
        START_ALL + "auto token = bar.arrive(); if (t == 0) kept[0] = 1; bar.wait(std::move(token)); y[t] = kept[0];", 64),
    "one at the block's barrier": ("""
        auto block = cg::this_thread_block();
        auto token = block.barrier_arrive();
        if (t == 0) kept[0] = 1;
        block.barrier_wait(std::move(token));
        y[t] = kept[0];""", 64),
    "one at the cluster's": ("""
        auto cluster = cg::this_cluster();
        cluster.barrier_arrive();
        if (cluster.thread_rank() == 0) kept[0] = 1;
        cluster.barrier_wait();
        if (blockIdx.x) y[t] = cluster.map_shared_rank(kept, 0)[0];
        cluster.sync();""", 64),
    "one of the next phase": (
        START_ALL + "bar.arrive_and_wait(); if (t == 63) { kept[0] = 1; (void)bar.arrive(); } else y[t] = kept[0];", 64),
    "lanes that met others": ("""
        int lane = t % 32;
        if (lane == 0) kept[t] = 1;
        if (lane < 2) __syncwarp(0x3);
        if (lane == 2 || lane == 3) __syncwarp(0xc);
        if (lane == 2) y[t] = kept[t - 2];""", 64),
    "a barrier of two warps, and a third": ("""
        if (t < 32) kept[t] = x[t];
        if (t < 64) __barrier_sync_count(1, 64);
        if (t >= 64) y[t] = kept[t - 64];""", 128),
    "writes of one value: nothing says which comes last": (
        "kept[t] = 0;\n__syncthreads();\nif (t) kept[0] = 3;\ny[t] = kept[0];", 64),
}  # fmt: skip


@pytest.mark.parametrize("name", UNORDERED)
def test_what_does_not_order_two_accesses_leaves_a_race(name):
    body, threads = UNORDERED[name]
    assert "race" in kinds(CLUSTER if "cluster" in body else PIPELINE, body, threads)


def test_lanes_keep_step_from_one_volatile_access_to_the_next_as_on_a_gpu():
    text = """__global__ void k(const float* x, float* y) {
        __shared__ float s[64];
        int t = threadIdx.x;
        s[t] = x[t]; s[t + 32] = x[t + 32];
        __syncthreads();
        volatile float* v = s;
        if (t < 16) v[t] += v[t + 16]; else v[t] = -1;
        for (int half = 8; half > 0; half /= 2) if (t < half) v[t] += v[t + half];
        y[t] = v[0] + v[32];
    }"""
    x, y = np.arange(64, dtype=np.float32), np.zeros(32, np.float32)
    found = xray_launch(text, 1, 32, [x, y], path="written")
    assert set(y) == {sum(range(32)) + 32}
    assert {hazard.kind for hazard in found.hazards} == {"race"}


def test_what_one_missing_barrier_breaks_is_one_hazard_and_stores_of_one_value_are_a_remark():
    text = """__global__ void k(const int* x, int* y) {
        __shared__ int a[64], b[64];
        int t = threadIdx.x;
        a[t] = x[t];
        y[t] = a[63 - t];
        y[t] += a[t ^ 1];
        y[t] += a[(t + 1) % 64];
        b[0] = 7;
    }"""
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    found = xray_launch(text, 1, 64, [x, y], path="written")
    [race] = found.hazards
    assert all(f"kernel.cu:{line}" in race.message for line in (4, 5, 6, 7))
    [remark] = found.notes
    assert "at kernel.cu:8 write one value to b[0]" in remark
