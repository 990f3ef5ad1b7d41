"""A trace is the exact log of what every thread did: the worked examples, event by event."""

import numpy as np
import pytest
from emulated import execute, kernel_of, noise, ones
from emulated import trace as trace_source

from softmax_lib.engine.source import Source
from softmax_lib.engine.written.tracing import EVENT
from softmax_lib.worklog import registry


def trace(body, x, block_size, warp_size=32):
    return trace_source(kernel_of(body), np.array([x], np.float32), block_size, warp_size)


def short(traced):
    """(thread, line, operation) and what else there is of array, element, values, lane and received."""
    for e in traced:
        parts = (e.array, e.element, *(e.value or ()), e.source_lane, e.received)
        yield e.thread, e.line, e.operation, *(part for part in parts if part is not None)


TREE = """\
    __shared__ float partial[8];
    int tid = threadIdx.x;
    partial[tid] = x[tid];
    __syncthreads();
    for (int stride = 4; stride > 0; stride /= 2) {
        if (tid < stride) partial[tid] = fmaxf(partial[tid], partial[tid + stride]);
        __syncthreads();
    }
    y[tid] = partial[0];
"""
TREE_ROW = [3, 7, 2, 8, 6, 4, 5, 1]


# ---- order


def test_threads_take_turns_at_barriers_in_the_order_of_their_numbers():
    traced = trace(TREE, TREE_ROW, 8)
    threads = [e.thread for e in traced if e.operation == "barrier"]
    assert threads == list(range(8)) * 4
    assert traced.y.tolist() == [[8.0] * 8]
    assert len(traced) == len(list(traced)) == len(traced.events)
    assert traced.events.dtype == EVENT


def test_two_traces_are_the_same():
    first, second = (trace_source("shuffle", noise(3, 40), 64) for _ in range(2))
    assert first.events.tobytes() == second.events.tobytes()
    assert list(first) == list(second)


def test_blocks_come_one_after_the_other():
    blocks = trace_source("shared", noise(4, 40), 32).events["block"]
    assert (np.diff(blocks.astype(int)) >= 0).all()
    assert set(blocks.tolist()) == {0, 1, 2, 3}


# ---- what an event says


FLOAT4S = """\
    const float4* from = reinterpret_cast<const float4*>(x);
    reinterpret_cast<float4*>(y)[threadIdx.x] = from[threadIdx.x];
"""
ADDS = "    if (threadIdx.x == 0) y[0] = 0.0f;\n    atomicAdd(y, x[threadIdx.x]);\n"
SHIFTS = "    int val = threadIdx.x;\n    y[val] = __shfl_down_sync(0xffffffff, val, 1);\n"
VOTES = "    y[threadIdx.x] = __ballot_sync(0xffffffff, threadIdx.x % 2 == 0);\n"
ROW = [float(i) for i in range(32)]
EVENTS = {
    "float4s, each one access": (FLOAT4S, 8, ["load", "store"], [
        (t, 3, what, array, 4 * t, *ROW[4 * t : 4 * t + 4]) for t in range(8) for what, array in (("load", "x"), ("store", "y"))
    ]),
    "atomics: what each left, and what it found": (ADDS, 4, ["atomic"], [
        (t, 3, "atomic", "y", 0, sum(ROW[: t + 1]), sum(ROW[:t])) for t in range(4)
    ]),
    "shuffles, of which the last lane has no neighbour": (SHIFTS, 32, ["shuffle_down"], [
        (t, 3, "shuffle_down", t, min(t + 1, 31), min(t + 1, 31)) for t in range(32)
    ]),
    "votes: what was asked and answered": (VOTES, 4, ["ballot"], [(t, 2, "ballot", 1 - t % 2, 5) for t in range(4)]),
}  # fmt: skip


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_says_who_did_what_to_what(name):
    body, block_size, operations, expected = EVENTS[name]
    traced = trace(body, ROW, block_size, warp_size=min(32, block_size))
    assert [event for event in short(traced) if event[2] in operations] == expected


def test_a_store_shows_the_value_written_even_if_it_is_read_and_written_again():
    body = """\
    y[0] = x[0];
    y[0] += 1.0f;
    y[0] = y[0] * 2.0f;
"""
    # a compiler may merge these stores; what each event shows is what was there after it
    stores = [e.value for e in trace(body, [5.0], 1) if e.operation == "store"]
    assert stores[-1] == (12.0,)
    assert set(stores) <= {(5.0,), (6.0,), (12.0,)}


def test_shared_variables_have_their_own_names_types_and_elements():
    body = """\
    __shared__ int count;
    __shared__ double sums[4];
    __shared__ float tile[2][8];
    if (threadIdx.x == 0) count = cols + 3;
    sums[threadIdx.x] = 0.5;
    tile[1][threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[1][threadIdx.x] + (float)sums[threadIdx.x] + count;
"""
    traced = trace(body, [1.0, 2.0, 3.0, 4.0], 4)
    stores = [event[1:] for event in short(traced) if event[0] == 2 and event[2] == "store"]
    assert stores == [
        (6, "store", "sums", 2, 0.5),
        (7, "store", "tile", 10, 3.0),
        (9, "store", "y", 2, 10.5),
    ]
    assert (0, 5, "store", "count", 0, 7) in list(short(traced))
    shared = {a.name: (a.elements, a.element_bytes) for a in traced.arrays if a.is_shared}
    assert shared == {"count": (1, 4), "sums": (4, 8), "tile": (16, 4)}


def test_lines_are_those_of_the_file_in_which_the_access_stands():
    source = """\
__device__ float twice(const float* at) {
    return *at
         * 2.0f;
}

extern "C" __global__ void traced(const float* x, float* y, int rows, int cols) {
    y[threadIdx.x] =
        twice(x + threadIdx.x);
}
"""
    traced = trace_source(Source("traced.cu", source), ones(1, 1), 1)
    assert [(e.line, e.operation) for e in traced] == [(2, "load"), (7, "store")]


def test_a_loop_shows_each_load_of_each_thread_in_more_events_than_one_piece_of_the_iteration():
    traced = trace_source("naive", noise(32, 1000), 32)
    loads = [e.thread for e in traced if e.operation == "load"]
    # three passes of each thread over its own row
    assert np.bincount(loads).tolist() == [3000] * 32
    stores = [e.element for e in traced if e.thread == 1 and e.operation == "store"]
    assert stores == [*range(1000, 2000)]
    assert len(traced) == 32 * 1000 * 4


def test_steps_of_a_sequence_are_told_apart():
    traced = trace_source("unfused", noise(2, 40), 32)
    steps = traced.events["step"]
    assert (np.diff(steps.astype(int)) >= 0).all()
    assert [traced.steps[step] for step in np.unique(steps)] == [
        step.entry for step in registry.kernels["unfused"].steps
    ]


@pytest.mark.parametrize(("name", "block_size"), [("naive", 32), ("float4", 64), ("fusion", 32)])
def test_a_traced_run_computes_the_same_bits(name, block_size):
    x = noise(5, 77)
    assert (trace_source(name, x, block_size).y == execute(name, x, block_size)).all()
