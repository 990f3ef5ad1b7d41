"""Blocks that tell each other something: clusters, barriers in shared memory, grids whose blocks all meet."""

import hashlib

import numpy as np
import pytest
from engine.compiled.fast_cases import LAUNCHES, POLLS, arrays, read_record, spec_of
from full_tables import some

from softmax_lib.engine.compiled.counters import COUNTERS, add_up
from softmax_lib.engine.compiled.program import decode_program
from softmax_lib.engine.compiled.ptx.program import translate
from softmax_lib.engine.compiled.running import run as run_compiled
from softmax_lib.engine.errors import BadInput, Deadlock, IllegalAddress, NotAvailable
from softmax_lib.engine.spec import LaunchSpec

KERNELS = read_record()["kernels"]


def launched(name, arch=90):
    (counted,) = run_compiled(spec_of(name, *arrays()), arch=arch)
    return counted


@pytest.mark.parametrize("decoder", [decode_program, translate])
@pytest.mark.parametrize("name", some(LAUNCHES, every=4))
def test_each_gives_what_a_gpu_gave_by_machine_code_and_by_ptx(name, decoder):
    x, y = arrays()
    run_compiled(spec_of(name, x, y), arch=90, decoder=decoder)
    assert hashlib.sha256(y.tobytes()).hexdigest() == KERNELS[name]["y_sha256"]


@pytest.mark.parametrize("name", some([one for one in LAUNCHES if one not in POLLS], every=3))
def test_each_counts_what_a_gpu_counted(name):
    counted = launched(name)
    ours, theirs = add_up([counted]), KERNELS[name]["counters"]
    assert {one: ours[one] for one in COUNTERS} == {one: theirs.get(one, 0) for one in COUNTERS}


def test_memory_of_another_block_is_a_space_of_its_own():
    counted = launched("store_to_other")
    found = add_up([counted])
    assert found["cluster_store_requests"] == 32
    assert found["shared_store_requests"] == found["cluster_store_wavefronts"] == 0


def test_of_a_grid_that_meets_few_turns_are_lost_with_asking():
    counted = launched("all_meet")
    polls = sum(
        counted.counts[site]["requests"].sum()
        for site, number in enumerate(counted.decoded.sites)
        if "LD.E.STRONG" in counted.decoded.statements[number].text
    )
    blocks, meetings = 12, 6
    assert blocks * meetings <= polls <= 3 * blocks * meetings


def run(body, *, grid=4, block=32, arch=90, **how):
    """`body` in a kernel that knows its cluster."""
    source = f"""#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ unsigned at(const void* p) {{ return (unsigned)__cvta_generic_to_shared(p); }}
__global__ void kernel(const float* x, float* y) {{
    auto cluster = cg::this_cluster();
    __shared__ float mine[64];
    __shared__ __align__(8) unsigned long long barrier;
    {body}
}}
"""
    x, y = np.arange(64, dtype=np.float32), np.zeros(4096, np.float32)
    run_compiled(LaunchSpec.of(source, grid, block, [x, y], **how), arch=arch)
    return y


def test_other_gpus_have_no_clusters():
    words = "GPUs of sm_80 have no clusters; those from sm_90 on do"
    with pytest.raises(NotAvailable, match=words):
        launched("load_from_other", 80)


NEVER_ENDS = """if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 2;" ::"r"(at(&barrier)));
    __syncthreads();
    asm volatile("{ .reg .pred done; again: mbarrier.try_wait.parity.shared.b64 done, [%0], 0; @!done bra again; }"
                 ::"r"(at(&barrier)) : "memory");
    y[threadIdx.x] = 1;"""
HAS_ENDED = """if (cluster.block_rank() == 1) return;
    for (int i = 0; i < 3; i++) __nanosleep(1);
    y[threadIdx.x] = cluster.map_shared_rank(mine, 1)[threadIdx.x];"""
DOES_NOT_COME = """if (cluster.block_rank()) for (;;) { asm volatile("bar.sync 1, 64;"); }
    cluster.sync();"""


@pytest.mark.parametrize(
    ("body", "how", "error", "words"),
    [
        ("", {"grid": 300, "block": 1024, "cooperative": True}, BadInput, "307200 threads are more than the 270336 that an H200 has room for"),
        (HAS_ENDED, {"cluster": 2}, IllegalAddress, "of a block that has ended"),
        ("y[threadIdx.x] = cluster.map_shared_rank(mine, 5)[threadIdx.x];", {"cluster": 2}, IllegalAddress, "of shared memory, which no array has"),
        (NEVER_ENDS, {}, Deadlock, r"waits at kernel\.cu:11 for threads that never come"),
        (DOES_NOT_COME, {"cluster": 2}, Deadlock, "for threads that never come"),
    ],
)  # fmt: skip
def test_blocks_that_cannot_meet_or_reach_each_other_are_told(body, how, error, words):
    with pytest.raises(error, match=words):
        run(body, **how)


def test_threads_that_have_ended_are_waited_for_no_more():
    y = run(
        """if (threadIdx.x >= 8 * cluster.block_rank()) return;
    cluster.sync(); cluster.sync();
    y[blockIdx.x * 32 + threadIdx.x] = 1;""",
        cluster=4,
    )
    assert y[:128].reshape(4, 32).sum(axis=1).tolist() == [0, 8, 16, 24]
