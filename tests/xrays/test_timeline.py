"""Who works between barriers: fewer and fewer warps of the tree, all of them in the shuffle."""

from softmax_lib import kernels
from softmax_lib.worklog.timeline import read_timeline


def test_fewer_and_fewer_warps_work_in_the_tree():
    tree = read_timeline(kernels["shared"], 256, 256)
    assert tree.working.tolist() == [8, 4, 2, 1, 1, 1, 1, 1, 1, 8, 8, 4, 2, 1, 1, 1, 1, 1, 1, 8]


def test_all_lanes_shuffle_before_and_after_each_of_two_barriers():
    shuffle = read_timeline(kernels["shuffle"], 256, 256)
    assert shuffle.shape == (8, 3)
    assert shuffle.lanes["shuffles"].tolist() == [[32] * 3] * 8
    assert shuffle.lanes["global memory"][:, 1].tolist() == [0] * 8
