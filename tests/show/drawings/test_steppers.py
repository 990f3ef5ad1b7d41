"""Steppers draw what the kernels did: the worked examples of the worklog, read from traces."""

import math

import pytest

from softmax_lib import drawings

W = pytest.importorskip("ipywidgets")

ONLINE = [3, 2, 5, 1]
TREE = [3, 7, 2, 8, 6, 4, 5, 1]


def frames(widget):
    """HTML of every frame of a stepper."""
    if isinstance(widget, W.HTML):
        return [widget.value]
    return [frame for child in getattr(widget, "children", ()) for frame in frames(child)]


def test_online_frames_say_what_was_computed():
    first, second, third, _ = frames(drawings.online(ONLINE))[1:]
    assert "x₀ = 3: the first maximum" in first
    assert "1 + exp(2 − 3) = 1.368" in second
    assert "x₂ = 5: a new maximum, old sum × 0.135" in third
    assert "1.368 × exp(3 − 5) + exp(5 − 5) = 1.185" in third


def test_online_passes_masked_scores_over():
    shown = drawings.online(ONLINE, [-math.inf, 3, -math.inf, 5])
    assert shown.axes["row"] == ["3, 2, 5, 1", "−∞, 3, −∞, 5"]
    first, second, third, last = (
        frames(shown.leaves[shown.axes["row"][1], read])[0] for read in range(1, 5)
    )
    assert "exp(−∞ − (−∞)) would be NaN; the sum stays 0" in first
    assert "x₁ = 3: the first maximum" in second
    assert "exp(−∞) is 0; the sum stays 1" in third
    assert "1 × exp(3 − 5) + exp(5 − 5) = 1.135" in last


@pytest.mark.parametrize("warp_size", [4, 8])
def test_tree_frames_name_the_threads_that_work(warp_size):
    shown = frames(drawings.tree(TREE, warp_size))
    assert "t0: 3 and 6, keeps 6; t1: 7 and 4, keeps 7; t2: 2 and 5, keeps 5" in shown[0]
    assert all(f"Stride {s}" in one for s, one in zip((4, 2, 1), shown, strict=True))
    assert "__syncthreads()" in shown[2]


def test_shuffle_frames_follow_the_value_to_every_lane():
    first, second, third = frames(drawings.shuffle(TREE))
    assert "lane 0: 3 and 6, keeps 6; lane 1: 7 and 4, keeps 7" in first
    assert "i ^ 4: 4 candidates left" in first
    assert "lane 3: 8 and 7, keeps 8" in second
    assert "1 candidate left" in third
    assert third.count("and 8, keeps 8") + third.count("8 and 6, keeps 8") == 8


def test_frames_count_the_steps_of_both_kinds_of_lists():
    first, second, third = frames(drawings.lists([3, 8, 1, 6, 7, 2, 9, 4, 0, 5, 2.5, 3.5], k=2))
    assert "empty lists: all enter" in first
    assert "2 steps so far; the warp&#39;s list [8, 6], 4 steps so far" in first
    assert "beat 6" in second
    assert "4 steps so far; the warp&#39;s list [9, 8], 6 steps so far" in second
    assert "beat 8" in third
    assert "6 steps so far; the warp&#39;s list [9, 8], 6 steps so far" in third
    # where no list changes no step is taken
    *_, last = frames(drawings.lists([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1, -2], k=2))
    assert "[[9, 5], [8, 4], [7, 3], [6, 2]], 4 steps so far" in last
