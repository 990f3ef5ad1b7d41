"""`measure` replays what was recorded and says so, or says what there is instead."""

import pytest
import torch

from softmax_lib import measure, recorded
from softmax_lib.errors import BadInput, BlockSizeNotAllowed
from softmax_lib.records.measurement import Case

WORKLOG = recorded.cited.shape

without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU measures instead")


@without_gpu
def test_measure_replays_what_was_recorded_and_says_so():
    timing = measure("shared", *WORKLOG)
    assert timing == recorded.find(Case("shared", *WORKLOG, block_size=1024))
    assert timing.source == f"recorded on {recorded.where}"
    assert measure("shared", *WORKLOG, block_size=64).case.block_size == 64
    assert measure("quack", *WORKLOG, dtype="bfloat16").case.dtype == "bfloat16"
    assert measure("float4", 256, 4096, l2="hot").case.l2 == "hot"


def test_bandwidth_and_shares_follow_from_the_times():
    timing = measure("float4", *WORKLOG, gpu="nvidia-h200")
    assert timing.gb_per_s == pytest.approx(2 * 4 * 1024 * 32768 / (timing.median_us * 1e3))
    assert timing.copy_gb_per_s == pytest.approx(2 * 4 * 1024 * 32768 / (timing.copy_us * 1e3))
    assert timing.copy_share == pytest.approx(timing.gb_per_s / timing.copy_gb_per_s)
    half = measure("quack", *WORKLOG, dtype="bfloat16", gpu="nvidia-h200")
    assert half.gb_per_s == pytest.approx(2 * 2 * 1024 * 32768 / (half.median_us * 1e3))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("naive", 3, 5), "naive on (3, 5) float32 at 32 threads a block, cold L2 was never recorded; "
                          "there are (1024, 32768) float32 cold"),
        (("softmin", 3, 5), "2026-11-21 has chunked, float4"),
        (("chunked", 1024, 32768, "float32", 64), "there are block sizes 1024"),
        (("shared", 1024, 32768, "bfloat16"), "(256, 4096) float32 hot"),
    ],
)  # fmt: skip
def test_a_key_never_recorded_says_what_there_is(asked, words):
    name, rows, cols, *rest = asked
    with pytest.raises(BadInput) as missing:
        measure(name, rows, cols, **dict(zip(("dtype", "block_size"), rest)), gpu="nvidia-h200")  # noqa: B905
    assert words.replace("2026-11-21", recorded.where.split(", ")[1]) in str(missing.value)


def test_a_block_size_that_a_kernel_does_not_take_is_refused():
    with pytest.raises(BlockSizeNotAllowed):
        measure("shared", *WORKLOG, block_size=96)
