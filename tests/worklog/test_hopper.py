"""Chapter 14's kernels, clusters of blocks: right at each size, their traffic, and which GPU takes them."""

import numpy as np
import pytest
from full_tables import some

from softmax_lib import check, hopper, kernels, run, xray
from softmax_lib.engine.errors import BadInput, NotAvailable
from softmax_lib.worklog import on_gpu
from softmax_lib.worklog.errors import RowTooLong
from softmax_lib.worklog.reference import noise
from softmax_lib.worklog.registry import resolve

EVERY = [(name, cluster) for name, one in hopper.items() for cluster in one.choices]
LENGTHS = (3, 33, 1001, 4099)


@pytest.mark.quick
@pytest.mark.parametrize("name", hopper)
def test_one_shape_of_every_kernel(name):
    assert check(hopper[name].setting(CLUSTER=2), noise(5, 1004), device="cpu", block_size=64).ok


@pytest.mark.parametrize(("name", "cluster"), some(EVERY, every=11))
def test_adversarial_rows_match_float64(name, cluster, device):
    found = check(hopper[name].setting(CLUSTER=cluster), device=device, lengths=LENGTHS)
    assert found.ok, "\n".join(found.failures)


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "cluster"), EVERY)
def test_long_rows_match_float64_at_every_cluster_size(name, cluster):
    kernel = hopper[name].setting(CLUSTER=cluster)
    for size in (256, 1024):
        cols = min(kernel.max_cols(size), 262144)
        for length in {cols, cols - 4, cols // 2 + 4}:
            assert check(kernel, noise(3, length), device="cuda", block_size=size).ok, length


@pytest.mark.parametrize("name", ["cluster", "tma_loads"])
def test_a_row_is_read_once_although_no_block_has_all_of_it(name):
    kernel = hopper[name].setting(CLUSTER=4)
    found = xray(kernel, 2, 4096, 128)
    assert (found.path, found.blocks, found.hazards) == ("machine", 8, ())
    assert found.total["bytes_asked"] == found.total["bytes_moved"] == 2 * 2 * 4096 * 4
    warps = 2 * 4 * 128 // 32
    told = sum(line.lanes for line in found.lines if line.space in ("shared", "cluster") and line.operation == "store" and line.array != "share")  # fmt: skip
    assert told == 4 * warps  # each warp's pair to four blocks
    again = xray(hopper["cluster_again"].setting(CLUSTER=4), 2, 4096, 128)
    assert again.total["bytes_asked"] == 3 * 2 * 4096 * 4


def test_a_bulk_copy_is_run_as_it_is_written():
    found = xray(hopper["tma"].setting(CLUSTER=2), 2, 1000, 64)
    assert found.path == "written"
    assert found.total["bytes_asked"] == 2 * 2 * 1000 * 4


def test_more_blocks_take_longer_rows():
    assert hopper["cluster"].setting(CLUSTER=1).max_cols(1024) == kernels["fusion"].max_cols(1024)
    for name in ("cluster", "tma"):
        lengths = [hopper[name].setting(CLUSTER=of).max_cols(1024) for of in (1, 2, 16)]
        assert [length // lengths[0] for length in lengths] == [1, 2, 16]
    with pytest.raises(RowTooLong, match="it keeps the row in registers and takes at most 32768"):
        run(hopper["cluster"].setting(CLUSTER=1), np.zeros((1, 32772), np.float32))
    with pytest.raises(RowTooLong, match="2 blocks per row: it keeps the row in shared memory"):
        run(hopper["tma"].setting(CLUSTER=2), np.zeros((1, 98308), np.float32))
    with pytest.raises(BadInput, match="CLUSTER is 3"):
        hopper["tma"].setting(CLUSTER=3)


def test_a_name_or_a_readers_copy_is_launched_as_the_kernel_is():
    x = noise(3, 100)
    assert (run("cluster", x) == run(hopper["cluster"].source.text, x)).all()
    assert resolve("tma") is hopper["tma"]


def test_a_gpu_without_clusters_says_so(monkeypatch):
    monkeypatch.setattr(on_gpu, "arch_of", lambda device: 80)
    with pytest.raises(NotAvailable, match=r"tma needs clusters, which GPUs have from sm_90 on\."):
        on_gpu._Prepared(hopper["tma"], 3, 100, 32, 0)
