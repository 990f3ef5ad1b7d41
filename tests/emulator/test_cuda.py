"""The CUDA that the emulator knows behaves as NVIDIA's: shuffles, votes, barriers, atomics, arithmetic."""

import math

import numpy as np
import pytest
from emulated import emulate, execute, kernel_of, ones, zeros

from softmax_lib import emulator
from softmax_lib.engine.errors import IllegalAddress
from softmax_lib.worklog import registry

LANE = "int lane = threadIdx.x % WARP;\n"


def run(body, x, block_size, before="", **how):
    """One row of y, as floats, for one row x."""
    source = kernel_of(f"{body}\n", before=before)
    return execute(source, np.array([x], np.float32), block_size, **how)[0].tolist()


def each_thread(expression, block_size=32, *, before="", **how):
    """The expression's value in each thread; x[i] is i."""
    body = LANE + f"y[threadIdx.x] = {expression};"
    return run(body, range(block_size), block_size, before, **how)


# ---- shuffles: a lane outside of the segment keeps its own value


ALL_SHUFFLES = """
    int lane = threadIdx.x, width = (int)x[0], amount = (int)x[1];
    y[lane] = __shfl_sync(0xffffffff, lane, amount, width);
    y[lane + 32] = __shfl_up_sync(0xffffffff, lane, amount, width);
    y[lane + 64] = __shfl_down_sync(0xffffffff, lane, amount, width);
    y[lane + 96] = __shfl_xor_sync(0xffffffff, lane, amount, width);"""


@pytest.mark.parametrize("width", [32, 16, 8, 4, 2, 1])
@pytest.mark.parametrize("amount", [0, 1, 3, 8, 31])
def test_shuffles_stay_in_their_segment(width, amount):
    def start(lane):
        return lane // width * width

    def or_own(source, lane):
        return source if start(lane) <= source < start(lane) + width else lane

    def xor(lane):  # a lower segment may be read, a higher one may not
        return lane ^ amount if lane ^ amount < start(lane) + width else lane

    lanes = range(32)
    assert run(ALL_SHUFFLES, [width, amount, *[0] * 126], 32) == [
        *[start(lane) + amount % width for lane in lanes],
        *[or_own(lane - amount, lane) for lane in lanes],
        *[or_own(lane + amount, lane) for lane in lanes],
        *[xor(lane) for lane in lanes],
    ]


@pytest.mark.parametrize(
    ("kind", "value"),
    [("float", "1.5f + lane"), ("double", "1.5 + lane"), ("int", "lane - 7"),
     ("unsigned", "lane"), ("long long", "lane - 7LL"), ("unsigned long long", "lane")],
)  # fmt: skip
def test_shuffles_move_every_type(kind, value):
    moved = each_thread(f"__shfl_sync(0xffffffff, ({kind})({value}), lane ^ 5)")
    own = each_thread(f"({kind})({value})")
    assert moved == [own[lane ^ 5] for lane in range(32)]


def test_lanes_of_a_mask_shuffle_while_the_others_do_something_else():
    expression = "lane < 8 ? __shfl_xor_sync(0x000000ff, x[lane], 7) : -1.0f"
    assert each_thread(expression) == [7 - lane if lane < 8 else -1 for lane in range(32)]


def test_two_groups_of_lanes_shuffle_apart():
    expression = "lane % 2 ? __shfl_sync(0xaaaaaaaa, lane, 31) : __shfl_sync(0x55555555, lane, 0)"
    assert each_thread(expression) == [31 * (lane % 2) for lane in range(32)]


def test_a_block_that_does_not_fill_its_last_warp():
    assert each_thread("__shfl_down_sync(0xffffffff, lane, 1)", 6) == [1, 2, 3, 4, 5, 5]
    assert each_thread("__shfl_xor_sync(0xffffffff, lane, 1)", 40)[32:] == [1, 0, 3, 2, 5, 4, 7, 6]


# ---- votes


def test_votes():
    assert each_thread("__ballot_sync(0xffffffff, lane == 3 || lane == 4)", 8) == [24.0] * 8
    assert each_thread("__any_sync(0xffffffff, lane == 3)") == [1] * 32
    assert each_thread("__any_sync(0xffffffff, lane == 99)") == [0] * 32
    assert each_thread("__all_sync(0xffffffff, lane < 32)") == [1] * 32
    assert each_thread("__all_sync(0xffffffff, lane < 31)") == [0] * 32


def test_the_active_mask_names_the_lanes_that_have_not_exited():
    body = """
    if (threadIdx.x == 1) return;
    __syncwarp(0x0000000d);
    y[threadIdx.x] = __activemask();
    __syncwarp(0x0000000d);"""
    first, _, *others = run(body, [0.0] * 4, 4)
    assert [first, *others] == [13.0] * 3


def test_a_warp_barrier_orders_shared_memory():
    body = """
    __shared__ float value[32];
    value[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    y[threadIdx.x] = value[31 - threadIdx.x];"""
    assert run(body, range(32), 32) == list(range(31, -1, -1))


# ---- barriers


@pytest.mark.parametrize(
    ("call", "expected"),
    [("__syncthreads_count(threadIdx.x % 3 == 0)", 32), ("__syncthreads_and(threadIdx.x < 95)", 0),
     ("__syncthreads_and(threadIdx.x < 96)", 1), ("__syncthreads_or(threadIdx.x == 95)", 1),
     ("__syncthreads_or(threadIdx.x == 96)", 0)],
)  # fmt: skip
def test_barriers_that_count(call, expected):
    assert each_thread(call, 96) == [expected] * 96


def test_a_barrier_in_last_place():
    assert run("y[threadIdx.x] = x[threadIdx.x];\n__syncthreads();", range(64), 64) == list(
        range(64)
    )


def test_shared_memory_declared_extern():
    body = """
    extern __shared__ float tile[];
    __shared__ float offset;
    tile[threadIdx.x + 12000] = x[threadIdx.x];
    if (threadIdx.x == 0) offset = 0.5f;
    __syncthreads();
    y[threadIdx.x] = tile[12000 + blockDim.x - 1 - threadIdx.x] + offset;"""
    x, y = np.arange(64, dtype=np.float32), zeros(64)
    how = {"shared_bytes": 4 * 12064}
    emulator.launch(kernel_of(body), 1, 64, [x, y, 1, 64], **how)
    assert y.tolist() == [63.5 - i for i in range(64)]
    traced = emulator.trace_launch(kernel_of(f"{body}\n"), 1, 64, [x, y, 1, 64], **how)
    stores = [(e.array, e.element) for e in traced if e.operation == "store" and e.array != "y"]
    assert stores == [("tile", 12000), ("offset", 0), *[("tile", 12000 + i) for i in range(1, 64)]]


def test_dynamic_shared_memory_that_a_launch_does_not_ask_for_is_not_there():
    body = "    extern __shared__ float tile[];\n    tile[threadIdx.x] = 1;\n    y[0] = tile[0];\n"
    with pytest.raises(
        IllegalAddress, match=r"at tile\[0\], past the end of its 0 elements at mine"
    ):
        emulator.trace_launch(kernel_of(body), 1, 64, [ones(1, 64), zeros(1, 64), 1, 64])


# ---- atomics, over blocks that run on several OS threads


def test_atomics_lose_nothing():
    counting = registry.resolve(kernel_of("atomicAdd(y, 1.0f);\n"))
    y = zeros(1, 1)
    emulate(counting, zeros(1, 1), y, 256, grid=500)
    assert y.item() == 128000


@pytest.mark.parametrize(
    ("call", "start", "expected"),
    [("atomicAdd(at, 2)", 5, 5 + 64), ("atomicSub(at, 2)", 5, 5 - 64), ("atomicMax(at, lane)", 5, 31),
     ("atomicMin(at, lane)", 5, 0), ("atomicOr(at, 1 << lane % 4)", 0, 15), ("atomicAnd(at, 6)", 15, 6),
     ("atomicXor(at, 3)", 0, 0), ("atomicExch(at, 9)", 5, 9), ("atomicCAS(at, 5, 8)", 5, 8),
     ("atomicCAS(at, 4, 8)", 5, 5), ("atomicInc((unsigned*)at, 9)", 5, 7),
     ("atomicDec((unsigned*)at, 9)", 5, 3)],
)  # fmt: skip
def test_atomics(call, start, expected):
    body = f"""{LANE}
    __shared__ int value;
    int* at = &value;
    if (lane == 0) value = {start};
    __syncthreads();
    {call};
    __syncthreads();
    y[threadIdx.x] = value;"""
    assert run(body, range(32), 32) == [expected] * 32


# ---- arithmetic


VALUES = {
    "fmaxf(NAN, 2.0f)": 2.0,
    "fmaxf(2.0f, NAN)": 2.0,
    "fmaxf(NAN, NAN)": math.nan,
    "fmaxf(-INFINITY, -3.0f)": -3.0,
    "fminf(NAN, 2.0f)": 2.0,
    "fminf(1.0f, 2.0f)": 1.0,
    "max(3, 4)": 4.0,
    "max(-1.0f, 2.0)": 2.0,
    "max(1.0f, NAN)": 1.0,
    "min(3u, 4u)": 3.0,
    "min(2.5, 2.0f)": 2.0,
    "rsqrtf(4.0f)": 0.5,
    "__fdividef(1.0f, 4.0f)": 0.25,
    "__frcp_rn(8.0f)": 0.125,
    "__fmaf_rn(2.0f, 3.0f, 4.0f)": 10.0,
    "__saturatef(1.5f)": 1.0,
    "__expf(-INFINITY)": 0.0,
    "__expf(0.0f)": 1.0,
    "exp(-INFINITY)": 0.0,
    "__int_as_float(0x3fc00000)": 1.5,
    "__float_as_int(1.5f) == 0x3fc00000": 1.0,
    "__uint_as_float(__float_as_uint(-2.0f))": -2.0,
    "__popc(0xf0f0u)": 8.0,
    "__clz(1)": 31.0,
    "__clz(0)": 32.0,
    "__ffs(8)": 4.0,
    "__brev(1u) == 0x80000000u": 1.0,
    "__umulhi(1u << 31, 4u)": 2.0,
    "__ldg(x + 1) + __ldcs(x + 2)": 3.0,
    "make_float4(1.0f, 2.0f, 3.0f, 4.0f).w": 4.0,
    "dim3(7).y": 1.0,
    "warpSize": 32.0,
    "blockDim.x + 100 * gridDim.x + blockIdx.x + blockDim.y + gridDim.z": 103.0,
}


def test_the_value_of_each_expression():
    body = "\n".join(f"y[{i}] = {expression};" for i, expression in enumerate(VALUES))
    found = run(body, range(len(VALUES)), 1)
    expected = list(VALUES.values())
    assert dict(zip(VALUES, found, strict=True)) == pytest.approx(
        dict(zip(VALUES, expected, strict=True)), rel=0, abs=0, nan_ok=True
    )


# ex2.approx(x log2(e)): 2 ulp, and half an ulp of x log2(e) for the rounded product, which is up to
# 126 here
def test_the_fast_exp_is_as_close_as_a_gpus():
    x = np.linspace(-87, 87, 1001, dtype=np.float32)
    y = np.array(run("for (int i = 0; i < cols; i++) y[i] = __expf(x[i]);", x.tolist(), 1))
    assert np.abs(y / np.exp(x.astype(np.float64)) - 1).max() < 2.0**-22 + 126 * 2.0**-24


def test_every_vector_type_keeps_its_members():
    body = """
    float2 a = make_float2(1, 2); float3 b = make_float3(3, 4, 5); float4 c = {6, 7, 8, 9};
    int2 d = make_int2(10, 11); int4 e = make_int4(12, 13, 14, 15); uint4 f = make_uint4(16, 17, 18, 19);
    double2 g = make_double2(20, 21); float4 h = c; h.y = 0.5f; c = h;
    float values[] = {a.x, a.y, b.x, b.y, b.z, c.x, c.y, c.z, c.w, (float)d.x, (float)d.y, (float)e.x,
                      (float)e.w, (float)f.y, (float)g.y, (float)sizeof(float3), (float)alignof(float4)};
    for (int i = 0; i < cols; i++) y[i] = values[i];"""
    expected = [1, 2, 3, 4, 5, 6, 0.5, 8, 9, 10, 11, 12, 15, 17, 21, 12, 16]
    assert run(body, [0.0] * len(expected), 1) == expected


def test_constants_and_device_variables():
    before = "__constant__ float table[4] = {1, 2, 4, 8};\n__device__ float offset = 0.5f;\n"
    assert each_thread("table[lane] + offset", 4, before=before) == [1.5, 2.5, 4.5, 8.5]


def test_the_headers_that_a_cuda_file_includes():
    before = (
        "#include <cuda_runtime.h>\n#include <device_launch_parameters.h>\n#include <math_constants.h>\n"
        "#include <assert.h>\n#include <cassert>\n#include <cfloat>\n#include <cstdio>\n#include <cmath>\n"
    )
    assert each_thread("CUDART_INF_F > FLT_MAX", 2, before=before) == [1.0, 1.0]


def test_printf_prints(capfd):
    run('if (threadIdx.x == 1) printf("thread %d has %g\\n", (int)threadIdx.x, x[threadIdx.x]);\n'
        "y[threadIdx.x] = 0;", [1.5, 2.5], 2)  # fmt: skip
    import ctypes

    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == "thread 1 has 2.5\n"
