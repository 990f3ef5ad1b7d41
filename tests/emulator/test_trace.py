"""A trace is the exact log of what every thread did: the worked examples, event by event."""

import numpy as np
import pytest
from emulated import execute, kernel_of, noise, ones
from emulated import trace as trace_source

from softmax_lib.engine.source import Source
from softmax_lib.engine.written.events import EVENT
from softmax_lib.worklog import registry


def trace(body, x, block_size, warp_size=32):
    return trace_source(kernel_of(body), np.array([x], np.float32), block_size, warp_size)


def short(trace):
    """(thread, line, operation) and then: array, element and value, or value, lane and received."""
    for e in trace:
        if e.array is not None:
            yield e.thread, e.line, e.operation, e.array, e.element, *e.value
        elif e.source_lane is not None:
            yield e.thread, e.line, e.operation, *e.value, e.source_lane, e.received
        else:
            yield e.thread, e.line, e.operation


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


def test_a_shuffle_down_by_one():
    body = """\
    int val = threadIdx.x;
    int shifted_val = __shfl_down_sync(0xFFFFFFFF, val, 1);
    y[threadIdx.x] = shifted_val;
"""
    traced = trace(body, [0.0] * 32, 32)
    shuffles = [e for e in traced if e.operation == "shuffle_down"]
    # the last lane has no neighbour and keeps its own value
    assert [(e.thread, e.line, e.value, e.source_lane, e.received) for e in shuffles] == [
        (lane, 3, (lane,), min(lane + 1, 31), min(lane + 1, 31)) for lane in range(32)
    ]
    assert traced.y[0].tolist() == [*range(1, 32), 31]


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


def test_a_float4_is_one_access_with_four_values():
    body = """\
    const float4* from = reinterpret_cast<const float4*>(x);
    float4* to = reinterpret_cast<float4*>(y);
    to[threadIdx.x] = from[threadIdx.x];
"""
    row = [float(i) for i in range(32)]
    expected = [
        (thread, 4, operation, array, 4 * thread, *row[4 * thread : 4 * thread + 4])
        for thread in range(8)
        for operation, array in (("load", "x"), ("store", "y"))
    ]
    traced = trace(body, row, 8)
    assert list(short(traced)) == expected
    assert {e.size for e in traced} == {16}


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


def test_an_atomic_shows_what_it_found_and_what_it_left():
    body = "    atomicAdd(y, x[threadIdx.x]);\n"
    traced = trace("    if (threadIdx.x == 0) y[0] = 0.0f;\n" + body, [1.0, 2.0, 3.0, 4.0], 4)
    atomics = [(e.thread, e.line, e.value, e.received) for e in traced if e.operation == "atomic"]
    assert atomics == [
        (0, 3, (1.0,), 0.0),
        (1, 3, (3.0,), 1.0),
        (2, 3, (6.0,), 3.0),
        (3, 3, (10.0,), 6.0),
    ]


def test_votes_show_what_was_asked_and_answered():
    body = """\
    unsigned even = __ballot_sync(0xffffffff, threadIdx.x % 2 == 0);
    y[threadIdx.x] = even;
"""
    traced = trace(body, [0.0] * 4, 4, warp_size=4)
    votes = [(e.thread, e.value, e.received) for e in traced if e.operation == "ballot"]
    assert votes == [(0, (1,), 5), (1, (0,), 5), (2, (1,), 5), (3, (0,), 5)]


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


def test_a_loop_shows_each_load_of_each_thread():
    traced = trace_source("naive", noise(2, 50), 32)
    loads = traced.events[traced.events["operation"] == 0]
    # three passes over its own row by each of two threads
    assert np.bincount(loads["thread"]).tolist() == [150, 150]
    assert [e.element for e in traced if e.thread == 1 and e.operation == "store"] == [
        *range(50, 100)
    ]


def test_steps_of_a_sequence_are_told_apart():
    traced = trace_source("unfused", noise(2, 40), 32)
    steps = traced.events["step"]
    assert (np.diff(steps.astype(int)) >= 0).all()
    assert [traced.steps[step] for step in np.unique(steps)] == [
        step.entry for step in registry.kernels["unfused"].steps
    ]


def test_more_events_than_one_piece_of_the_iteration():
    traced = trace_source("naive", noise(32, 1000), 32)
    assert len(traced) == 32 * 1000 * 4
    assert sum(e.operation == "load" for e in traced) == 32 * 1000 * 3


@pytest.mark.parametrize(("name", "block_size"), [("naive", 32), ("float4", 64), ("fusion", 32)])
def test_a_traced_run_computes_the_same_bits(name, block_size):
    x = noise(5, 77)
    assert (trace_source(name, x, block_size).y == execute(name, x, block_size)).all()
