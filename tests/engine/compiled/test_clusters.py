"""Blocks that tell each other something: clusters, barriers in shared memory, grids whose blocks all meet."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from engine.compiled.fast_cases import LAUNCHES, POLLS, arrays, read_record, spec_of
from engine.compiled.machine_runs import requests

from softmax_lib.engine.compiled.counters import COUNTERS, add_up
from softmax_lib.engine.compiled.program import decode_program
from softmax_lib.engine.compiled.ptx.program import translate
from softmax_lib.engine.compiled.running import run as run_compiled
from softmax_lib.engine.errors import BadInput, Deadlock, IllegalAddress, NotAvailable
from softmax_lib.engine.spec import LaunchSpec

KERNELS = read_record()["kernels"]
ENTRIES = tuple(dict.fromkeys(kernel for kernel, *_ in LAUNCHES.values()))


def spec(name, x, y):
    """Of one that is compiled with all others."""
    return replace(spec_of(name, x, y), entries=ENTRIES, names=("x", "y"))


def launched(name, arch=90):
    (counted,) = run_compiled(spec(name, *arrays()), arch=arch)
    return counted


@pytest.mark.parametrize("decoder", [decode_program, translate])
@pytest.mark.parametrize("name", LAUNCHES)
def test_each_gives_and_by_machine_code_counts_what_a_gpu_did(name, decoder):
    (x, y), recorded = arrays(), KERNELS[name]
    ours = add_up(run_compiled(spec(name, x, y), arch=90, decoder=decoder))
    assert hashlib.sha256(y.tobytes()).hexdigest() == recorded["y_sha256"]
    if decoder is decode_program and name not in POLLS:
        assert {of: ours[of] for of in COUNTERS} == {of: recorded["counters"].get(of, 0) for of in COUNTERS}  # fmt: skip


def test_memory_of_another_block_is_a_space_of_its_own():
    counted = launched("store_to_other")
    found = add_up([counted])
    assert found["cluster_store_requests"] == 32
    assert found["shared_store_requests"] == found["cluster_store_wavefronts"] == 0


def test_of_a_grid_that_meets_few_turns_are_lost_with_asking():
    counted = launched("all_meet")
    polls = sum(requests(counted, lambda one: "LD.E.STRONG" in one.text))
    blocks, meetings = 12, 6
    assert blocks * meetings <= polls <= 3 * blocks * meetings


def test_other_gpus_have_no_clusters():
    words = "GPUs of sm_80 have no clusters; those from sm_90 on do"
    with pytest.raises(NotAvailable, match=words):
        launched("load_from_other", 80)


BODIES = {
    "nothing": "",
    "too_far": "y[threadIdx.x] = cluster.map_shared_rank(mine, 5)[threadIdx.x];",
    "never_ends": """if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 2;" ::"r"(at(&barrier)));
    __syncthreads();
    asm volatile("{ .reg .pred done; again: mbarrier.try_wait.parity.shared.b64 done, [%0], 0; @!done bra again; }"
                 ::"r"(at(&barrier)) : "memory");
    y[threadIdx.x] = 1;""",
    "has_ended": """if (cluster.block_rank() == 1) return;
    for (int i = 0; i < 3; i++) __nanosleep(1);
    y[threadIdx.x] = cluster.map_shared_rank(mine, 1)[threadIdx.x];""",
    "does_not_come": """if (cluster.block_rank()) for (;;) { asm volatile("bar.sync 1, 64;"); }
    cluster.sync();""",
    "some_leave": """if (threadIdx.x >= 8 * cluster.block_rank()) return;
    cluster.sync(); cluster.sync();
    y[blockIdx.x * 32 + threadIdx.x] = 1;""",
}
"""Of kernels that know their cluster."""
SOURCE = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
""" + "\n".join(f"""#line 4
extern "C" __global__ void {name}(const float* x, float* y) {{
    auto cluster = cg::this_cluster();
    __shared__ float mine[64];
    __shared__ __align__(8) unsigned long long barrier;
    {body}
}}""" for name, body in BODIES.items())  # fmt: skip


def run(name, *, grid=4, block=32, **how):
    x, y = np.arange(64, dtype=np.float32), np.zeros(4096, np.float32)
    alone = LaunchSpec.of(SOURCE, grid, block, [x, y], kernel=name, **how)
    run_compiled(replace(alone, entries=tuple(BODIES), names=("x", "y")), arch=90)
    return y


@pytest.mark.parametrize(
    ("name", "how", "error", "words"),
    [
        ("nothing", {"grid": 300, "block": 1024, "cooperative": True}, BadInput, "307200 threads are more than the 270336 that an H200 has room for"),
        ("has_ended", {"cluster": 2}, IllegalAddress, "of a block that has ended"),
        ("too_far", {"cluster": 2}, IllegalAddress, "of shared memory, which no array has"),
        ("never_ends", {}, Deadlock, r"waits at kernel\.cu:11 for threads that never come"),
        ("does_not_come", {"cluster": 2}, Deadlock, "for threads that never come"),
    ],
)  # fmt: skip
def test_blocks_that_cannot_meet_or_reach_each_other_are_told(name, how, error, words):
    with pytest.raises(error, match=words):
        run(name, **how)


def test_threads_that_have_ended_are_waited_for_no_more():
    y = run("some_leave", cluster=4)
    assert y[:128].reshape(4, 32).sum(axis=1).tolist() == [0, 8, 16, 24]
