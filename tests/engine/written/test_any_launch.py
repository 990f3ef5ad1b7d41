"""emulator.launch: arguments of every kind, grids of three axes, variables, blocks that wait for each other."""

import ctypes

import numpy as np
import pytest
import torch
from emulated import noise
from engine.launched import Rows, zeros

from softmax_lib import emulator
from softmax_lib.engine.errors import BadInput, IllegalAddress, KernelFault, Waiting
from softmax_lib.engine.spec import LaunchSpec
from softmax_lib.engine.written import launch, running
from softmax_lib.worklog.xray import xray_launch

TWICE = "__global__ void twice(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }"


def test_arrays_and_tensors_are_written_in_place_and_inputs_are_not():
    x, y = noise(100), zeros("float", 100)
    launch(TWICE, 2, 64, [x, y, 100])
    assert (y == 2 * x).all()
    x, y = torch.arange(100.0), torch.zeros(100)
    launch(TWICE, (2, 1), (64,), (x, y, np.int64(100)))
    assert (y == 2 * x).all()


def test_the_same_array_twice_is_one_array():
    x = noise(64)
    before = x.copy()
    launch(TWICE, 1, 64, [x, x, 64])
    assert (x == 2 * before).all()


def test_a_part_of_an_array_is_as_misaligned_as_it_is():
    whole, y = noise(101), zeros("float", 100)
    launch(TWICE, 2, 64, [whole[1:], y, 100])
    assert (y == 2 * whole[1:]).all()
    text = "__global__ void k(const float4* x, float* y) { y[0] = x[0].x; }"
    with pytest.raises(IllegalAddress, match=r"misaligned address: thread 0 .* at kernel\.cu:1"):
        launch(text, 1, 1, [whole[1:], y])


@pytest.mark.parametrize("begun", [launch, lambda *words: running.launch(LaunchSpec.of(*words))])
@pytest.mark.parametrize(
    ("before", "body", "words", "is_seen_by_all"),
    [
        ("", "y[0] = y[5];", r"loads 4 bytes at y\[5\], past the end of its 5 elements", False),
        ("", "__shared__ float s[5]; y[0] = s[5];", r"loads 4 bytes at s\[5\], past the end", False),
        ("__constant__ float one[5];", "((float*)one)[2] = 3;", r"writes one\[2\] .*, a constant,", True),
    ],
)  # fmt: skip
def test_a_small_launch_looks_at_every_access(begun, before, body, words, is_seen_by_all):
    text = f"{before}\n__global__ void k(float* y) {{ {body} }}"
    if begun is launch or is_seen_by_all:
        with pytest.raises(KernelFault, match=words):
            begun(text, 1, 1, [zeros("float", 5)])
    else:
        begun(text, 1, 1, [zeros("float", 5)])


def test_an_input_may_be_read_only_and_arrays_may_touch():
    whole = zeros("float", 8)
    x = whole[:4].view()
    x.flags.writeable = False
    launch(TWICE, 1, 4, [x, whole[4:], 4])


def test_every_axis_is_its_own():
    text = """
__global__ void where(int* out) {
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int* own = out + 6 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
    own[0] = threadIdx.x, own[1] = threadIdx.y, own[2] = threadIdx.z;
    own[3] = blockIdx.x, own[4] = blockIdx.y, own[5] = blockIdx.z;
}"""
    out = np.zeros((2, 3, 4, 3, 2, 5, 6), np.int32)
    launch(text, (4, 3, 2), (5, 2, 3), [out])
    expected = np.stack(np.indices(out.shape[:-1])[::-1], axis=-1)
    np.testing.assert_array_equal(out, expected)


class Params(ctypes.Structure):
    _fields_ = (("scale", ctypes.c_double), ("n", ctypes.c_int), ("shift", ctypes.c_float))


@pytest.mark.parametrize(
    "given",
    [
        Params(2.0, 3, 0.5),
        np.array((2.0, 3, 0.5), [("scale", "f8"), ("n", "i4"), ("shift", "f4")]),
        (np.float64(2), np.int32(3), np.float32(0.5)),
    ],
)
def test_structures_by_value(given):
    text = """
struct Params { double scale; int n; float shift; };
__global__ void k(Params p, float* y) { y[threadIdx.x] = threadIdx.x < p.n ? p.scale + p.shift : 0; }"""
    y = zeros("float", 4)
    launch(text, 1, 4, [given, y])
    assert y.tolist() == [2.5, 2.5, 2.5, 0]


def test_numbers_of_every_type_by_value():
    kinds = ["bool", "double", "float"]
    for whole in ("char", "short", "int", "long", "long long"):
        kinds += [f"{sign} {whole}" for sign in ("signed", "unsigned")]
    values = range(1, len(kinds) + 1)
    parameters = ", ".join(f"{kind} n{i}" for i, kind in zip(values, kinds, strict=True))
    body = " ".join(f"y[{i - 1}] = n{i};" for i in values)
    y = zeros("float", len(kinds))
    launch(f"__global__ void k(float* y, {parameters}) {{ {body} }}", 1, 1, [y, *values])
    assert y.tolist() == [*values]


def test_pointers_to_pointers_and_to_nothing():
    text = """
__global__ void sum(const float* const* parts, float* y, const int* none) {
    y[threadIdx.x] = none ? -1 : parts[0][threadIdx.x] + parts[1][threadIdx.x];
}"""
    parts, y = [noise(8), noise(8, seed=1)], zeros("float", 8)
    launch(text, 1, 8, [parts, y, None])
    assert (y == sum(parts)).all()


def test_bfloat16_tensors():
    text = """#include <cuda_bf16.h>
__global__ void k(const __nv_bfloat16* x, __nv_bfloat16* y, __nv_bfloat16 by) { y[threadIdx.x] = x[threadIdx.x] * by; }"""
    x, y = torch.arange(8, dtype=torch.bfloat16), torch.zeros(8, dtype=torch.bfloat16)
    launch(text, 1, 8, [x, y, 1.5])
    assert (y == 1.5 * x).all()


# ---- what a source may have


OWN_WARPS = ("constexpr int WARP = 8;", "enum { A = 1 }; const int WARP{8};", "#define WARP 8")
MACROS = "T P T1 value type size kind lanes bytes rows table arguments Kernel Element Parameter"
ROWS = Rows({
    "macros of any name": ("a[0] = T + P + value;", [zeros("float", 1)], [[3]], {"before": "".join(f"#define {name} 1\n" for name in MACROS.split())}),
    **{own: ("a[0] = WARP;", [zeros("float", 1)], [[8]], {"before": own}) for own in OWN_WARPS},
    "blocks that wait for earlier ones": ("""
    while (done < blockIdx.x) { }
    a[blockIdx.x] = blockIdx.x ? a[blockIdx.x - 1] + 1 : 1;
    __threadfence();
    done = blockIdx.x + 1;""", [zeros("int", 50)], [[*range(1, 51)]], {"grid": 50, "before": "__device__ volatile int done;"}),
    **{
        f"an alignment behind its word: {declared}": (f"""{declared} kept[{length}];
    kept[threadIdx.x] = threadIdx.x;
    a[threadIdx.x] = kept[threadIdx.x] + ((size_t)kept % 8 != 0);""", [zeros("float", 32)], [[*range(32)]], {"block": 32, "shared_bytes": 128})
        for length, declared in (
            (32, "__shared__ alignas(16) float"), (32, "__shared__ alignas(alignof(float4)) float"),
            (32, "static __shared__ volatile alignas(8) float"), ("", "extern __shared__ alignas(16) float"),
        )
    },
}, block=1)  # fmt: skip
"""Of one thread where nothing else is said: a body, its array, and what that holds afterwards."""


@pytest.mark.parametrize("name", ROWS)
def test_a_source_may_have(name):
    ROWS.check(name)


def test_kernels_of_headers_in_the_readers_folder(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "value.h").write_text("constexpr int VALUE = 11;")
    (tmp_path / "helper.cuh").write_text(
        '#pragma once\n#include "inner/value.h"\n__device__ int value() { return VALUE; }\n'
        "__global__ void store(int* x) { x[0] = value(); }"
    )
    (tmp_path / "main.cu").write_text('#include "helper.cuh"\n')
    x = np.zeros(1, np.int32)
    launch(tmp_path / "main.cu", 1, 1, [x])
    assert x[0] == 11
    (tmp_path / "inner" / "value.h").write_text("constexpr int VALUE = 12;")
    launch(str(tmp_path / "main.cu"), 1, 1, [x])
    assert x[0] == 12


@pytest.mark.parametrize("kind", [list, tuple])
def test_an_x_ray_leaves_what_one_launch_leaves_in_arrays_behind_a_table(kind):
    text = "__global__ void k(float* const* rows) { rows[0][threadIdx.x] += 1; }"
    x = zeros("float", 8)
    assert xray_launch(text, 1, 8, [kind([x])]).hazards == ()
    assert (x == 1).all()


# ---- variables of the module


COUNTS = "__device__ int count = 5;\n__constant__ int step[2];\n__global__ void k(int* y) { count += step[1]; y[0] = count; }"


def test_variables_begin_as_the_source_says_or_as_they_are_set_and_are_read_back():
    y, count, step = np.zeros(1, np.int32), np.array([40], np.int32), np.array([0, 2], np.int32)
    for _ in range(2):
        launch(COUNTS, 1, 1, [y], symbols={"step": step})
        assert y[0] == 7
    launch(COUNTS, 1, 1, [y], symbols={"step": step, "count": count})
    assert (y[0], count[0]) == (42, 42)


def test_a_symbol_has_so_many_bytes():
    with pytest.raises(BadInput, match="The symbol step is given 12 bytes; it has 8"):
        launch(COUNTS, 1, 1, [np.zeros(1, np.int32)], symbols={"step": np.zeros(3, np.int32)})


def test_reads_of_device_variables_are_requests_and_those_of_constants_are_not():
    text = "__device__ float from[64];\n__constant__ float by[1];\n__global__ void k(float* y) { y[threadIdx.x] = from[threadIdx.x] * by[0]; }"
    found = xray_launch(text, 1, 64, [zeros("float", 64)])
    asked = [(line.array, line.operation, line.requests) for line in found.lines]
    assert sorted(asked) == [("from", "load", 2), ("y", "store", 2)]


# ---- blocks that wait for each other


MEETING = """
__device__ volatile int arrived[64];
__device__ void wait_for_all(int first, int round) {
    if (threadIdx.x == 0) {
        __threadfence();
        arrived[first + blockIdx.x] = round;
        for (int i = 0; i < gridDim.x; i++) while (arrived[first + i] < round) { }
        __threadfence();
    }
    __syncthreads();
}
__global__ void meet(int* out, int rounds) {
    for (int round = 1; round <= rounds; round++) {
        if (threadIdx.x == 0) out[blockIdx.x] += blockIdx.x;
        wait_for_all(0, round);
        int sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += out[i];
        if (sum != round * gridDim.x * (gridDim.x - 1) / 2) out[0] = -1000000;
        __syncthreads();
        wait_for_all(32, round);
    }
}"""


def test_flags_between_blocks_put_their_accesses_in_order():
    out = np.zeros(6, np.int32)

    def hazards(text):
        out[:] = 0
        return xray_launch(text, 6, 64, [out, 2], cooperative=True, path="written").hazards

    assert hazards(MEETING) == ()
    assert out.tolist() == [2 * i for i in range(6)]
    order = "#include <cuda/atomic>\n" + MEETING.replace(
        "__threadfence();", "cuda::atomic_thread_fence(cuda::memory_order_seq_cst, SCOPE);"
    )
    assert hazards(order.replace("SCOPE", "cuda::thread_scope_device")) == ()
    assert hazards(order.replace("SCOPE", "cuda::thread_scope_block")) != ()
    found = hazards(MEETING.replace("__threadfence();", ""))
    assert {hazard.kind for hazard in found} == {"race"}
    assert any("race on out[" in hazard.message for hazard in found)


def test_a_plain_launch_that_waits_for_a_later_block_is_named_as_that():
    out = np.zeros(20, np.int32)
    with pytest.raises(Waiting) as caught:
        launch(MEETING, 20, 64, [out, 1])
    assert str(caught.value).startswith("thread 0 of block (0,0,0) waits for arrived[")
    assert (
        "at kernel.cu:7, which no thread of its own or an earlier block can write any more; later blocks need not run beside it unless the launch is cooperative"
        in str(caught.value)
    )
    assert (out == 0).all(), "arrays were touched"
    (hazard,) = xray_launch(MEETING, 20, 64, [out, 1], path="written").hazards[:1]
    assert (hazard.kind, hazard.line) == ("waiting", 7)


def test_a_lock_that_nobody_gives_back():
    text = "__global__ void k(int* lock) { while (atomicCAS(lock, 0, 1) != 0) { } }"
    with pytest.raises(
        Waiting, match=r"thread 1 of block \(0,0,0\) waits for lock\[0\] at kernel\.cu:1"
    ):
        launch(text, 1, 2, [np.zeros(1, np.int32)])


# ---- what a trace and an x-ray show


def test_a_trace_names_arrays_and_reads_their_values():
    text = """#include <cuda_fp16.h>
__global__ void k(const __half* h, const short* s, double* d) { d[threadIdx.x] = (double)h[threadIdx.x] + s[threadIdx.x]; }"""
    h, s, d = np.array([0.5, 1.5], np.float16), np.array([3, -4], np.int16), np.zeros(2)
    events = [
        (e.array, e.element, e.operation, e.value)
        for e in emulator.trace_launch(text, 1, 2, [h, s, d])
    ]
    assert events == [
        ("h", 0, "load", (0.5,)), ("s", 0, "load", (3,)), ("d", 0, "store", (3.5,)),
        ("h", 1, "load", (1.5,)), ("s", 1, "load", (-4,)), ("d", 1, "store", (-2.5,)),
    ]  # fmt: skip


def test_threads_of_a_block_with_several_axes_are_named_by_them():
    there = "blockIdx.x == 1 && blockIdx.y == 2 && threadIdx.x == 1 && threadIdx.y == 3"
    words = r"thread 13 \(1,3,0\) of block \(1,2,0\) stores 4 bytes at y\[100\]"
    with pytest.raises(IllegalAddress, match=words):
        launch(
            f"__global__ void k(float* y) {{ y[{there} ? 100 : 0] = 1; }}",
            (2, 3),
            (4, 4),
            [zeros("float", 50)],
        )
