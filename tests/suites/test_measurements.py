"""`measure` replays what was recorded and says so, or says what there is instead."""

import pytest
import torch

from softmax_lib import measure, recorded
from softmax_lib.engine.errors import BadInput
from softmax_lib.records.measurement import Case, Measurement

WORKLOG = recorded.cited.shape


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU measures instead")
def test_measure_replays_what_was_recorded_and_says_so():
    timing = measure("shared", *WORKLOG)
    tried = recorded.select(provider="shared", rows=WORKLOG[0], cols=WORKLOG[1])
    assert timing == min(tried, key=lambda timing: timing.median_us)
    assert timing.source == f"recorded on {recorded.where}"
    assert measure("shared", *WORKLOG, block_size=64).case.block_size == 64
    assert measure("quack", *WORKLOG, dtype="bfloat16").case.dtype == "bfloat16"
    assert measure("float4", 256, 4096, l2="hot").case.l2 == "hot"


@pytest.mark.parametrize(("dtype", "gb_per_s"), [("float32", 2000), ("bfloat16", 1000)])
def test_bandwidth_and_shares_follow_from_the_times(dtype, gb_per_s):
    # 2.5 * 10^8 elements read and written in a millisecond, and in half of it by the copy
    timing = Measurement(Case("torch", 250, 1000_000, dtype), 1000.0, 990.0, 1010.0, copy_us=500.0)
    assert (timing.gb_per_s, timing.copy_gb_per_s, timing.copy_share) == (
        gb_per_s,
        2 * gb_per_s,
        0.5,
    )


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("naive", 3, 5), "naive on (3, 5) float32, cold L2 was never recorded; "
                          "there are (1024, 32768) float32 cold"),
        (("softmin", 3, 5), "2026-11-21 has chunked, constant_stride"),
        (("chunked", 1024, 32768, "float32", 64), "there are block sizes 1024"),
        (("shared", 1024, 32768, "bfloat16"), "(256, 4096) float32 hot"),
    ],
)  # fmt: skip
def test_a_key_never_recorded_says_what_there_is(asked, words):
    name, rows, cols, *rest = asked
    with pytest.raises(BadInput) as missing:
        measure(name, rows, cols, **dict(zip(("dtype", "block_size"), rest)), gpu="nvidia-h200")  # noqa: B905
    assert words.replace("2026-11-21", recorded.where.split(", ")[1]) in str(missing.value)


@pytest.mark.gpu
def test_a_matrix_too_small_to_find_a_cold_cache_is_one_sentence():
    with pytest.raises(BadInput, match="120 bytes is too short to time with a cold L2"):
        measure("naive", 3, 5)
    assert measure("naive", 3, 5, l2="hot").median_us > 0
