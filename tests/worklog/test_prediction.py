"""The traffic ledger: sectors predicted from how lanes lie are those that a GPU counts."""

from itertools import product

import pytest
from full_tables import each_value

from softmax_lib import recorded, xray
from softmax_lib.engine.xrays.lines import SECTOR_BYTES
from softmax_lib.worklog.prediction import predict_traffic
from softmax_lib.worklog.registry import COPY, kernels


def name_of(profile):
    return f"{profile.case.provider}-{profile.case.rows}x{profile.case.cols}"


@pytest.mark.parametrize("profile", recorded.profiles, ids=name_of)
def test_predicted_sectors_are_those_that_ncu_counts(profile):
    case, counters = profile.case, profile.counters
    expected = predict_traffic(kernels[case.provider], *case.shape, case.block_size)
    counted = (counters["global_load_sectors"], counters["global_store_sectors"])
    predicted = (expected.load_sector_bytes, expected.store_sector_bytes)
    for sectors, sector_bytes in zip(counted, predicted, strict=True):
        assert sector_bytes == pytest.approx(SECTOR_BYTES * sectors, rel=0.03)


@pytest.mark.parametrize("kernel", kernels.values(), ids=lambda kernel: kernel.name)
@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (3, 7), (33, 31), (5, 4097), (64, 4096)])
def test_sectors_cover_what_is_asked_for_and_that_the_floor(kernel, rows, cols):
    cols = kernel.longer(cols)
    got = predict_traffic(kernel, rows, cols, kernel.choose_block_size(cols))
    loads, stores = (4 * rows * cols * times for times in kernel.traffic(cols))
    # what lanes of one warp read together moves once
    if "same row" not in kernel.loads:
        assert got.load_sector_bytes >= loads >= got.floor_bytes / 2
    assert got.store_sector_bytes >= stores >= got.floor_bytes / 2


def test_rows_shorter_than_a_sector_share_it_between_neighbouring_lanes():
    got = predict_traffic(kernels["naive"], 64, 2, 32)
    # 32 rows of 2 floats fill 8 sectors; a warp touches them once for each of its 2 columns
    assert got.store_sector_bytes == 2 * 2 * 8 * SECTOR_BYTES


@pytest.mark.parametrize(
    ("lanes", "shape"),
    each_value(product(kernels["warp"].choices, [(32, 96), (5, 33), (40, 3), (17, 1), (9, 20)])),
)
def test_rows_by_lanes_take_what_the_emulator_counts(lanes, shape):
    rows, cols = shape
    kernel = kernels["warp"].setting(LANES=lanes)
    got, counted = predict_traffic(kernel, rows, cols, 64), xray(kernel, rows, cols, 64).total
    assert got.load_sector_bytes == SECTOR_BYTES * counted["global_load_sectors"]
    assert got.store_sector_bytes == SECTOR_BYTES * counted["global_store_sectors"]


def test_a_copy_and_fusion_are_at_the_floor_when_rows_are_aligned():
    for kernel in (COPY, kernels["fusion"]):
        got = predict_traffic(kernel, 64, 4096, 256)
        assert got.sector_bytes == got.floor_bytes
