"""What a warp touches, from the trace, is what the prediction and the worklog say; and what a GPU counts is what is predicted."""

from itertools import product

import pytest
from emulated import COLUMN_OF_A_TILE, kernel_of
from full_tables import each_value

from softmax_lib import kernels, recorded, xray
from softmax_lib.engine.errors import BadInput, BlockSizeNotAllowed
from softmax_lib.engine.xrays.lines import SECTOR_BYTES
from softmax_lib.worklog.registry import COPY, resolve
from softmax_lib.worklog.requests import global_requests, predict_traffic, shared_requests


# one warp holds all rows of naive, and one row of the others
@pytest.mark.parametrize("name", ["naive", "shared", "float4", "chunked"])
def test_requests_of_all_loops_add_up_to_the_predicted_traffic(name):
    rows, cols, block_size = 32, 2048, 32
    kernel = kernels[name]
    loops = range(len(kernel.loads))
    found = (one for n in loops for one in global_requests(kernel, rows, cols, block_size, n))
    moved = sum(request.moved_bytes for request in found)
    whole = rows if kernel.steps[0].grid == "block a row" else 1
    predicted = predict_traffic(kernel, rows, cols, block_size)
    assert whole * moved == predicted.load_sector_bytes


def test_ragged_rows_leave_lanes_out():
    assert len(global_requests(kernels["shared"], 64, 1001, 32)[-1].addresses) == 1001 % 32


VECTORS = """\
    __shared__ float4 tile[32];
    tile[threadIdx.x * 5 % 32] = reinterpret_cast<const float4*>(x)[threadIdx.x % 7 * 3];
    __syncthreads();
    float4 v = tile[threadIdx.x / 2];
    reinterpret_cast<float4*>(y)[threadIdx.x] = v;
"""


@pytest.mark.parametrize(
    "body", [*(COLUMN_OF_A_TILE.replace("WIDTH", width) for width in ("32", "33", "34")), VECTORS]
)
def test_a_trace_and_a_meter_count_a_request_alike(body):
    kernel = resolve(kernel_of(body))
    found = xray(kernel, 1, 128, 32, path="written")
    assert found.hazards == ()
    shared = {(c.line, c.operation): c.wavefronts for c in found.lines if c.space == "shared"}
    for access in range(len(shared)):
        requests = shared_requests(kernel, 128, 32, access)
        operation = "load" if access else "store"
        counted = sum(len(request.wavefronts) for request in requests)
        assert shared.pop((requests[0].source_line, operation)) == counted
    assert shared == {}
    (load,) = (c for c in found.lines if (c.space, c.operation) == ("global", "load"))
    requests = global_requests(kernel, 1, 128, 32)
    assert load.sectors == sum(len(request.sectors) for request in requests)
    assert load.bytes_asked == sum(request.asked_bytes for request in requests)


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda: global_requests(kernels["shared"], 64, 64, 96), BlockSizeNotAllowed, "not built for 96"),
        (lambda: global_requests(kernels["shared"], 64, 64, 32, 2), BadInput, "has 2 loads from global memory"),
        (lambda: global_requests(kernels["shared"], 64, 64, 32, -1), BadInput, "numbered from 0"),
    ],
)  # fmt: skip
def test_what_is_not_there_gets_a_sentence(ask, error, words):
    with pytest.raises(error, match=words):
        ask()


# ---- predicted from how lanes lie


@pytest.mark.parametrize(
    "profile",
    recorded.profiles,
    ids=lambda one: f"{one.case.provider}-{one.case.rows}x{one.case.cols}",
)
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
