"""What threads do to each other's values, read from traces: the worked examples of the worklog."""

import math

import pytest
from emulated import kernel_of

from softmax_lib.engine.errors import BadInput
from softmax_lib.worklog.reductions import (
    between_barriers,
    exchanges,
    online_steps,
    shared_steps,
    trace_row,
)

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
