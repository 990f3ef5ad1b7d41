"""Steppers draw what the kernels did: the worked examples of the worklog, read from traces."""

import pytest

from softmax_lib import drawings
from softmax_lib.show.drawings import shards

W = pytest.importorskip("ipywidgets")

TREE = [3, 7, 2, 8, 6, 4, 5, 1]


def frames(widget):
    """HTML of every frame of a stepper."""
    if isinstance(widget, W.HTML):
        return [widget.value]
    return [frame for child in getattr(widget, "children", ()) for frame in frames(child)]


@pytest.mark.parametrize("warp_size", [4, 8])
def test_tree_frames_name_the_threads_that_work(warp_size):
    shown = frames(drawings.tree(TREE, warp_size))
    assert "t0: 3 and 6, keeps 6; t1: 7 and 4, keeps 7; t2: 2 and 5, keeps 5" in shown[0]
    assert all(f"Stride {s}" in one for s, one in zip((4, 2, 1), shown, strict=True))
    assert "__syncthreads()" in shown[2]


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


def test_ranks_merge_to_the_sum_of_the_row():
    """Of 2 1 5 3 0 4 6 3, however many GPUs it lies on."""
    assert all("max 6, sum 1.63." in shards._show(many, 3).html for many in (2, 4))
    assert "5, 1.20; 6, 1.19" in shards._show(2, 1).html
