"""X-ray against Nsight Compute on an H200, and against counting by hand on tiny kernels."""

import pytest
from emulated import kernel_of
from full_tables import some

from softmax_lib import xray
from softmax_lib.engine.xrays.machine_path import PATHS
from softmax_lib.records.agreement import (
    ARBITER_SHARE,
    COUNTERS,
    Comparison,
    compare,
    compare_profile,
    profiles,
)
from softmax_lib.records.measurement import Case
from softmax_lib.worklog.registry import kernels

# 64x4096: rows of whole sectors, one or two blocks a thread-a-row kernel. 1000x1001: each row starts
# elsewhere in a sector, and the last warp and the last sector are ragged.
SHAPES = {(64, 4096), (1000, 1001)}
PROFILES = {f"{p.case.provider}-{p.case.rows}x{p.case.cols}": p for p in profiles()}


@pytest.mark.fresh
def test_every_kernel_was_profiled_on_both_shapes():
    found = {(p.case.provider, *p.case.shape) for p in PROFILES.values()}
    files = [kernel.name for kernel in kernels.values() if not (kernel.of or kernel.suite)]
    wanted = {(name, *shape) for name in files for shape in SHAPES if name != "per_element"}
    wanted -= {("unfused", 1000, 1001)}  # its ragged loops are unrolled
    assert wanted | {("per_element", 8, 512)} <= found


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", some(PROFILES, every=7))
def test_counters_are_those_of_an_h200(name, path):
    found = compare_profile(PROFILES[name], path)
    assert found.unexplained == {}
    if not name.endswith(("1000x1001", "1024x2048")):
        assert found.differences == {}  # too little going on for noise


def test_a_comparison_is_of_the_kernels_that_were_profiled_on_the_shape_or_of_those_named():
    on_shape = [p.case.provider for p in profiles() if p.case.shape == (8, 512)]
    assert [found.case.provider for found in compare(8, 512)] == on_shape
    (found,) = compare(64, 4096, "naive")
    assert (found.case.provider, found.verdict) == ("naive", "equal")
    assert compare(3, 5) == []


def test_noise_is_forgiven_upwards_and_only_in_wavefronts():
    ours = dict.fromkeys(COUNTERS, 1000)

    def verdict(name, ncus):
        return Comparison(Case("shared", 1, 1, block_size=32), ours, ours | {name: ncus}).verdict

    most = int(1000 * (1 + ARBITER_SHARE))
    assert verdict("shared_load_wavefronts", 1000) == "equal"
    assert verdict("shared_load_wavefronts", most) == "equal but for the arbiter"
    assert verdict("shared_load_wavefronts", most + 1) == "differs: shared_load_wavefronts"
    assert verdict("shared_load_wavefronts", 999) == "differs: shared_load_wavefronts"
    assert verdict("shared_load_requests", 1001) == "differs: shared_load_requests"


def count(body, cols=4096, block_size=32):
    """Counters by (space, operation) of one block that runs this body as written; lines that stand alone."""
    found = xray(kernel_of(body), 1, cols, block_size, path="written")
    assert found.hazards == ()
    return {(line.space, line.operation): line for line in found.lines}


@pytest.mark.parametrize(
    ("index", "sectors", "asked"),
    [
        ("threadIdx.x", 4, 128),  # in a row
        ("threadIdx.x + 1", 5, 128),  # the same, 4 bytes later
        ("threadIdx.x * 2", 8, 128),
        ("threadIdx.x * 8", 32, 128),  # a sector each
        ("threadIdx.x * 33", 32, 128),
        ("31 - threadIdx.x", 4, 128),  # backwards
        ("threadIdx.x / 8 * 8", 4, 16),  # eight lanes at the same address
        ("0", 1, 4),  # a broadcast
        ("threadIdx.x % 2 * 1024", 2, 8),
    ],
)
def test_sectors_of_a_load(index, sectors, asked):
    load = count(f"    y[threadIdx.x] = x[{index}];\n")["global", "load"]
    assert (load.requests, load.lanes, load.sectors) == (1, 32, sectors)
    assert (load.bytes_asked, load.bytes_moved) == (asked, 32 * sectors)


@pytest.mark.parametrize(("vector", "stride", "sectors"), [
    ("float2", 1, 8), ("float2", 2, 16), ("float2", 4, 32),
    ("float4", 1, 16), ("float4", 2, 32), ("float4", 8, 32),
])  # fmt: skip
def test_sectors_of_a_vector_load(vector, stride, sectors):
    body = (
        f"    {vector} v = reinterpret_cast<const {vector}*>(x)[threadIdx.x * {stride}];\n"
        f"    reinterpret_cast<{vector}*>(y)[threadIdx.x] = v;\n"
    )
    load = count(body)["global", "load"]
    assert (load.requests, load.sectors, load.size) == (1, sectors, int(vector[-1]) * 4)


def test_lanes_that_take_no_part_ask_for_nothing():
    load = count("    if (threadIdx.x % 4 == 0) y[threadIdx.x] = x[threadIdx.x];\n")[
        "global", "load"
    ]
    assert (load.requests, load.lanes, load.sectors, load.lanes_a_request) == (1, 8, 4, 8)
    assert load.bytes_wasted == 3 * 32


@pytest.mark.parametrize(("mask", "requests"), [("~0u", 1), ("0xffu << threadIdx.x / 8 * 8", 4)])
def test_each_lane_of_a_shuffle_counts_once_whatever_its_mask(mask, requests):
    line = count(f"    y[threadIdx.x] = __shfl_xor_sync({mask}, x[threadIdx.x], 1);\n")[
        "", "shuffle_xor"
    ]
    assert (line.requests, line.lanes) == (requests, 32)


def test_warps_ask_one_by_one():
    load = count("    y[threadIdx.x] = x[threadIdx.x];\n", block_size=96)["global", "load"]
    assert (load.requests, load.sectors) == (3, 12)


@pytest.mark.parametrize(
    ("index", "wavefronts"),
    [
        ("threadIdx.x", 1),
        ("threadIdx.x * 2", 2),
        ("threadIdx.x * 4", 4),
        ("threadIdx.x * 32", 32),
        ("threadIdx.x * 33", 1),  # one column of padding spreads a column over the banks
        ("threadIdx.x ^ 5", 1),
        ("7", 1),  # a broadcast
        ("threadIdx.x / 2", 1),
        ("threadIdx.x % 2 * 32", 2),  # two words of one bank, many lanes each
    ],
)
def test_wavefronts_of_a_shared_load(index, wavefronts):
    body = (
        "    __shared__ float tile[1056];\n"
        "    for (int i = threadIdx.x; i < 1056; i += 32) tile[i] = 0.0f;\n    __syncthreads();\n"
        f"    y[threadIdx.x] = tile[{index}];\n"
    )
    load = count(body)["shared", "load"]
    assert (load.requests, load.wavefronts, load.bank_conflicts) == (1, wavefronts, wavefronts - 1)


@pytest.mark.parametrize(("vector", "stride", "wavefronts"), [
    ("float2", 1, 2), ("float2", 2, 4), ("float4", 1, 4), ("float4", 2, 8), ("float4", 8, 32),
])  # fmt: skip
def test_wavefronts_of_a_vector_load_go_by_parts_of_the_warp(vector, stride, wavefronts):
    body = (
        f"    __shared__ {vector} tile[256];\n"
        f"    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = {vector}();\n    __syncthreads();\n"
        f"    {vector} v = tile[threadIdx.x * {stride}];\n    y[threadIdx.x] = v.x + v.y;\n"
    )
    load = count(body)["shared", "load"]
    least = 32 * int(vector[-1]) * 4 // 128
    assert (load.requests, load.wavefronts) == (1, wavefronts)
    assert load.bank_conflicts == wavefronts - least


@pytest.mark.parametrize("path", PATHS)
def test_quarters_of_a_warp_go_together_where_neighbours_load_the_same_vector(path):
    body = (
        "    __shared__ float4 tile[32];\n"
        "    tile[threadIdx.x] = reinterpret_cast<const float4*>(x)[threadIdx.x];\n    __syncthreads();\n"
        "    float4 v = tile[threadIdx.x / 2];\n    reinterpret_cast<float4*>(y)[threadIdx.x] = v;\n"
    )
    found = xray(kernel_of(body), 1, 128, 32, path=path)
    assert (found.path, found.total["bank_conflicts"]) == (path, 0)
    assert (found.total["shared_load_wavefronts"], found.total["shared_store_wavefronts"]) == (2, 4)


def test_shuffles_and_barriers_are_counted_by_warp_and_by_block():
    body = (
        "    float v = x[threadIdx.x];\n    v += __shfl_xor_sync(0xffffffff, v, 1);\n"
        "    __syncthreads();\n    y[threadIdx.x] = v;\n"
    )
    found = xray(kernel_of(body), 1, 4096, 96)
    assert (found.total["shuffles"], found.total["barriers"]) == (3, 1)
    assert (found.blocks, found.warps, found.threads) == (1, 3, 96)
