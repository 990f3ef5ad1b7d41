"""A file is taken whole: with main(), launches, libraries of the host, and headers that have some."""

import numpy as np
import pytest
from emulated import WITH_LIBRARIES

from softmax_lib import emulator
from softmax_lib.engine.errors import CompileError, NotAvailable
from softmax_lib.engine.source import Source
from softmax_lib.worklog.xray import xray_launch

WHOLE = """#include <cuda_runtime.h>
#include <cublas_v2.h>
#include <helper_cuda.h>
#include <helper_functions.h>
#include <cstdio>
#include <vector>
#include "own/sizes.h"

static std::vector<float> kept(N, 1.0f);
cublasHandle_t handle;
extern cudaDeviceProp properties;
StopWatchInterface* timer;

__constant__ float factors[N];
__device__ unsigned calls;

template <class T>
__global__ void scale(T* x) {
    x[threadIdx.x] = twice(x[threadIdx.x]) * factors[threadIdx.x];
    if (threadIdx.x == 0) atomicAdd(&calls, 1u);
}

template <class T>
void run(T* x, cudaStream_t stream) {
    checkCudaErrors(cudaMemcpyToSymbol(factors, kept.data(), sizeof(T) * N));
    scale<T><<<1, N, 0, stream>>>(x);
}
template void run<float>(float*, cudaStream_t);

int main(int argc, char** argv) {
    float *x, one = 1;
    cudaMalloc(&x, N * sizeof(float));
    run(x, 0);
    cublasSscal(handle, N, &one, x, 1);
    printf("%d\\n", argc);
    return 0;
}
"""
SIZES = """#pragma once
#include "../above.h"
#define N 32
inline void check(cudaError_t error) { if (error) exit(1); }
"""
ABOVE = "#pragma once\n__host__ __device__ inline float twice(float x) { return 2 * x; }\nint host() { return 1; }\n"


@pytest.fixture
def whole(tmp_path):
    (tmp_path / "project" / "own").mkdir(parents=True)
    (tmp_path / "project" / "whole.cu").write_text(WHOLE)
    (tmp_path / "project" / "own" / "sizes.h").write_text(SIZES)
    (tmp_path / "project" / "above.h").write_text(ABOVE)
    return tmp_path / "project" / "whole.cu"


@pytest.mark.parametrize("start", [emulator.launch, xray_launch])
def test_a_whole_file_with_its_headers_is_launched(whole, start):
    x, calls = np.arange(32, dtype=np.float32), np.zeros(1, np.uint32)
    factors = np.full(32, 0.5, np.float32)
    start(whole, 1, 32, [x], kernel="scale<float>", symbols={"factors": factors, "calls": calls})
    np.testing.assert_array_equal(x, np.arange(32))
    assert calls == 1


def test_headers_of_the_hosts_libraries_go_together_twice():
    a = np.zeros(1, np.int32)
    emulator.launch(Source("libraries.cu", WITH_LIBRARIES), 1, 1, [a])
    assert a == 1


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [("whole.cu", "= twice(", "= missing + twice(", r"whole\.cu:19:\d+: error: 'missing' was not declared"),
     ("above.h", "2 * x", "2 * y", r"above\.h:2:\d+: error: 'y'")],
)  # fmt: skip
def test_an_error_is_at_its_own_line_of_its_own_file(whole, name, old, new, words):
    path = whole.parent / name
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(CompileError, match=words) as caught:
        emulator.launch(whole, 1, 32, [np.zeros(32, np.float32)], kernel="scale<float>")
    assert "/in/" not in str(caught.value)


def test_no_code_of_a_source_runs_when_it_is_loaded():
    text = (
        "__host__ __device__ int start() { return *(volatile int*)8; }\n"
        "int host = start();\n"
        "__global__ void k(int* x) { x[0] = 7; }\n"
    )
    x = np.zeros(1, np.int32)
    emulator.launch(text, 1, 1, [x])
    xray_launch(text, 1, 1, [x])
    assert x == 7


# ---- what other kernels of the file need is not in the way

OTHERS = """__global__ void reads(float* y, cudaTextureObject_t texture) {
    y[0] = tex2D<float>(texture, 0.5f, 0.5f);
}
__global__ void large(float* y) {
    __shared__ float kept[10000];
    kept[threadIdx.x] = y[0];
    y[0] = kept[0];
}
__device__ float unused[4];
__global__ void plain(float* y) {
    __shared__ float kept[10000];
    kept[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = kept[threadIdx.x ^ 1];
}
"""


def test_a_kernel_runs_beside_others_that_cannot_and_are_refused_at_their_line():
    y = np.zeros(32, np.float32)
    emulator.launch(OTHERS, 1, 32, [y], kernel="plain", symbols={"unused": np.ones(4, np.float32)})
    np.testing.assert_array_equal(y, np.arange(32) ^ 1)
    words = r"kernel\.cu:2 uses textures and surfaces, which the emulator does not have"
    with pytest.raises(NotAvailable, match=words):
        emulator.launch(OTHERS, 1, 1, [y, 0], kernel="reads")


# ---- functions of the host that kernels call


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("float half_of(float x) { return x / 2; }\n__global__ void k(float* y) {\n y[0] = half_of(y[0]); }",
         "kernel.cu:3 calls half_of(), which kernel.cu:1 defines for the host alone; put __device__ in front of it."),
        ("float f(float);\n__global__ void k(float* y) {\n y[0] = f(y[0]); }\nfloat f(float x) { return x; }",
         "kernel.cu:3 calls f(), which kernel.cu:4 defines for the host alone; put __device__ in front of it."),
        ("struct S {\n float twice(float v) { return 2 * v; } };\n__global__ void k(float* y) {\n y[0] = S().twice(1); }",
         "kernel.cu:4 calls twice(), which kernel.cu:2 defines for the host alone; put __device__ in front of it."),
        ("template <class T> T id(T x) { return x; }\ntemplate <class T> __device__ T own(T x) {\n return id(x); }\n"
         "__global__ void k(float* y) { y[0] = own(y[0]); }",
         "kernel.cu:3 calls id(), which kernel.cu:1 defines for the host alone; put __device__ in front of it."),
    ],
)  # fmt: skip
def test_a_call_of_the_host_is_named_at_its_line(text, sentence):
    with pytest.raises(CompileError) as caught:
        emulator.launch(text, 1, 1, [np.zeros(1, np.float32)])
    assert str(caught.value) == sentence


# ---- what CUDA's compilers take and others do not


def test_a_source_is_compiled_as_for_an_h200():
    text = """
#if !defined(__CUDACC__) || __CUDACC_VER_MAJOR__ < 12 || CUDART_VERSION < 12000
#error this is no CUDA
#endif
__global__ void k(int* y) {
#if __CUDA_ARCH__ >= 700
    y[0] = __CUDA_ARCH__;
#endif
}
"""
    y = np.zeros(1, np.int32)
    emulator.launch(text, 1, 1, [y])
    assert y == 900


def test_pairs_of_16_bits_take_arrays_of_halves():
    parameters = "__half2* a, const half2* b, __nv_bfloat162* c, float* y"
    body = "".join(
        f"y[{i}] = (float){p}[0].y; y[{i + 1}] = (float){p}[1].y; "
        for i, p in ((0, "a"), (2, "b"), (4, "c"))
    )
    text = f"#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n__global__ void k({parameters}) {{ {body} }}"
    halves = np.array([0, 1.5, 0, -2], np.float16)
    bits = np.array([0, 0x3F80, 0, 0x4000], np.uint16)
    y = np.zeros(6, np.float32)
    emulator.launch(text, 1, 1, [halves, halves.copy(), bits, y])
    assert y.tolist() == [1.5, -2, 1.5, -2, 1, 2]
