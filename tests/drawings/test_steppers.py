"""Steppers draw what the kernels did: the worked examples of the worklog, read from traces."""

import itertools
import math

import pytest

from softmax_lib.errors import BadInput
from softmax_lib.xrays.exchanges import exchanges
from softmax_lib.xrays.reductions import between_barriers, online_steps, shared_steps, trace_row

W = pytest.importorskip("ipywidgets")
steppers = pytest.importorskip("softmax_lib.drawings.steppers")

ONLINE = [3, 2, 5, 1]
TREE = [3, 7, 2, 8, 6, 4, 5, 1]
WARPS = [3, 7, 2, 9, 4, 1, 8, 5, 10, 6, 12, 11, 13, 14, 15, 16]
SHIFT = """extern "C" __global__ void shift(const float* x, float* y, int rows, int cols) {
    int lane = threadIdx.x;
    y[lane] = __shfl_down_sync(0xffffffff, x[lane], 1);
}"""


def frames(widget):
    """HTML of every frame of a stepper."""
    if isinstance(widget, W.HTML):
        return [widget.value]
    return [frame for child in getattr(widget, "children", ()) for frame in frames(child)]


def test_online_corrects_its_sum_when_a_new_maximum_comes():
    steps = online_steps(ONLINE)
    assert [step.new_max for step in steps] == [3, 3, 5, 5]
    assert [step.correction for step in steps] == [0, 1, math.exp(3 - 5), 1]
    sums = [sum(math.exp(v - max(ONLINE[:n])) for v in ONLINE[:n]) for n in range(1, 5)]
    assert [step.new_sum for step in steps] == pytest.approx(sums, rel=1e-5)
    for before, after in itertools.pairwise(steps):
        assert (after.old_max, after.old_sum) == (before.new_max, before.new_sum)


def test_online_frames_say_what_was_computed():
    third = frames(steppers.online(ONLINE))[2]
    assert "x₂ = 5: a new maximum" in third
    assert "exp(3 − 5) = 0.135. Add exp(5 − 5) = 1: 1.368 × 0.135 + 1 = 1.185." in third


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


@pytest.mark.parametrize("warp_size", [4, 8])
def test_tree_frames_name_the_threads_that_work(warp_size):
    shown = frames(steppers.tree(TREE, warp_size))
    assert len(shown) == 5
    assert "t0: 3 and 6, keeps 6; t1: 7 and 4, keeps 7; t2: 2 and 5, keeps 5" in shown[1]
    assert [f"Stride {stride}" in shown[i] for i, stride in ((1, 4), (2, 2), (3, 1))] == [True] * 3
    assert "__syncthreads()" in shown[3]
    assert "8 is the result of the block" in shown[4]


def test_a_warp_reduces_by_shuffles_and_hands_one_value_to_shared_memory():
    trace = trace_row("shuffle", WARPS, 4)
    in_warps, across_warps, _ = between_barriers(trace)[:3]
    first, second = exchanges(in_warps, 4)
    assert {t: first.kept[t] for t in first.counts} == {
        0: 3, 1: 9, 4: 8, 5: 5, 8: 12, 9: 11, 12: 15, 13: 16,
    }  # fmt: skip
    assert {t: second.kept[t] for t in second.counts} == {0: 9, 4: 8, 8: 12, 12: 16}
    stored, reduced, read = shared_steps(trace)
    assert stored.after == (9, 8, 12, 16)
    assert [exchange.kept[0] for exchange in exchanges(across_warps, 4)] == [12, 16]
    assert reduced.after[0] == 16
    assert len(read.reads) == 16


def test_a_lane_without_a_source_receives_its_own_value():
    (exchange,) = exchanges(between_barriers(trace_row(SHIFT, WARPS[:8], 8))[0], 8)
    assert exchange.received == dict(enumerate([*WARPS[1:8], WARPS[7]]))
    assert exchange.sources[7] == 7


def test_shuffle_frames_follow_the_value_to_every_thread():
    shown = frames(steppers.shuffle(WARPS))
    assert len(shown) == 8
    assert "t0: 3 and 2, keeps 3; t1: 7 and 9, keeps 9" in shown[0]
    assert "t0 writes 9; t4 writes 8; t8 writes 12; t12 writes 16." in shown[2]
    assert "16 threads read the result" in shown[7]


def test_shift_shows_the_last_lane_keep_its_own_value():
    (shown,) = frames(steppers.shift(SHIFT, range(10, 18)))
    assert "t6 receives 17; t7 keeps its own 17." in shown


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: steppers.online([]), "at least one value"),
        (lambda: steppers.online([1, math.nan]), "finite"),
        (lambda: steppers.online(range(9)), "up to 8 values, and was given 9"),
        (lambda: steppers.tree([1, 2, 3], 1), "2, 4 or 8 values, not 3"),
        (lambda: steppers.tree([1, 2, 3, 4], 3), "do not fill warps of 3 lanes"),
        (lambda: steppers.shuffle([1, 2, 3], 2), "do not fill warps of 2 lanes"),
        (lambda: steppers.shuffle(range(16), 16), "2, 4 or 8 lanes"),
        (lambda: steppers.shift(SHIFT.replace("__shfl_down_sync(0xffffffff, x[lane], 1)", "x[lane]"), [1, 2]),
         "no shuffle"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence(draw, words):
    with pytest.raises(BadInput, match=words) as caught:
        draw()
    assert "\n" not in str(caught.value)


def test_drawing_twice_gives_the_same_bytes():
    assert frames(steppers.shuffle(WARPS)) == frames(steppers.shuffle(WARPS))
    assert frames(steppers.online(ONLINE)) == frames(steppers.online(ONLINE))
