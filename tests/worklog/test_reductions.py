"""What threads do to each other's values, read from traces: the worked examples of the worklog."""

import itertools
import math

import pytest
from emulated import kernel_of

from softmax_lib import kernels
from softmax_lib.engine.errors import BadInput
from softmax_lib.worklog.reductions import (
    between_barriers,
    exchanges,
    online_steps,
    read_timeline,
    shared_steps,
    trace_row,
)

ONLINE = [3, 2, 5, 1]
TREE = [3, 7, 2, 8, 6, 4, 5, 1]
WARPS = [3, 7, 2, 9, 4, 1, 8, 5, 10, 6, 12, 11, 13, 14, 15, 16]
KEPT = kernel_of("""\
    __shared__ float row[8];
    row[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x > 9) y[0] = row[0];  // or the compiler would leave the array out
""")
SHIFT = kernel_of("    y[threadIdx.x] = __shfl_down_sync(0xffffffff, x[threadIdx.x], 1);\n")


def test_online_corrects_its_sum_when_a_new_maximum_comes():
    steps = online_steps(ONLINE)
    assert [step.new_max for step in steps] == [3, 3, 5, 5]
    assert [step.correction for step in steps] == [0, 1, math.exp(3 - 5), 1]
    sums = [sum(math.exp(v - max(ONLINE[:n])) for v in ONLINE[:n]) for n in range(1, 5)]
    assert [step.new_sum for step in steps] == pytest.approx(sums, rel=1e-5)
    for before, after in itertools.pairwise(steps):
        assert (after.old_max, after.old_sum) == (before.new_max, before.new_sum)


def test_the_tree_halves_the_values_between_barriers():
    steps = shared_steps(trace_row("shared", TREE, 8))
    assert [list(step.after) for step in steps] == [
        TREE,
        [6, 7, 5, 8, 6, 4, 5, 1],
        [6, 8, 5, 8, 6, 4, 5, 1],
        [8, 8, 5, 8, 6, 4, 5, 1],
        [8, 8, 5, 8, 6, 4, 5, 1],
    ]
    assert [len(step.writes) for step in steps] == [8, 4, 2, 1, 0]
    assert {t: set(read) for t, read in steps[2].reads.items()} == {0: {0, 2}, 1: {1, 3}}
    assert set(steps[-1].reads.values()) == {(0,)}


def test_each_warp_reduces_by_shuffles_and_hands_one_value_to_shared_memory():
    trace = trace_row("shuffle", WARPS, 4)
    first, second = exchanges(between_barriers(trace)[0], 4)
    assert first.sources == {thread: thread ^ 2 for thread in range(16)}
    assert list(second.given.values()) == [3, 9, 3, 9, 8, 5, 8, 5, 12, 11, 12, 11, 15, 16, 15, 16]
    assert [second.received[thread] for thread in (0, 4, 8, 12)] == [9, 5, 11, 16]
    stored, read = shared_steps(trace)
    assert stored.after == (9, 8, 12, 16)
    assert read.reads == {thread: (thread % 4,) for thread in range(16)}


def test_a_lane_without_a_source_receives_its_own_value():
    (exchange,) = exchanges(between_barriers(trace_row(SHIFT, WARPS[:8], 8))[0], 8)
    assert exchange.received == dict(enumerate([*WARPS[1:8], WARPS[7]]))
    assert exchange.sources[7] == 7


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: online_steps([]), "at least one value"),
        (lambda: online_steps([1, math.nan]), "finite"),
        (lambda: trace_row("shared", [1, 2, 3], 1), "2, 4 or 8 values, not 3"),
        (lambda: trace_row("shared", [1, 2, 3, 4], 3), "do not fill warps of 3 lanes"),
        (lambda: trace_row("shuffle", [1, 2, 3], 2), "do not fill warps of 2 lanes"),
        (lambda: shared_steps(trace_row(SHIFT, TREE, 8)), "no array in shared memory"),
        (lambda: shared_steps(trace_row(KEPT, TREE, 8)), "no reduction whose result every warp"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_gets_a_sentence(ask, words):
    with pytest.raises(BadInput, match=words):
        ask()


# ---- who works between barriers


def test_fewer_and_fewer_warps_work_in_the_tree():
    tree = read_timeline(kernels["shared"], 256, 256)
    assert tree.working.tolist() == [8, 4, 2, 1, 1, 1, 1, 1, 1, 8, 8, 4, 2, 1, 1, 1, 1, 1, 1, 8]


def test_all_lanes_shuffle_before_and_after_each_of_two_barriers():
    shuffle = read_timeline(kernels["shuffle"], 256, 256)
    assert shuffle.shape == (8, 3)
    assert shuffle.lanes["shuffles"].tolist() == [[32] * 3] * 8
    assert shuffle.lanes["global memory"][:, 1].tolist() == [0] * 8
