"""Kernels of a dozen subjects that have nothing to do with softmax: launched in both places by the same words."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from softmax_lib.engine.arrays import bfloat16_bits, from_bfloat16_bits

WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
REAL = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class Subject:
    """One kernel: `arguments(dtype)` are its arrays and numbers, `expected(*arguments)` what each array
    should hold afterwards, None where it should not change. `tolerance` is relative, by dtype; whole
    numbers are exact.
    """

    name: str
    text: str
    kernel: str
    grid: object
    block: object
    arguments: Callable
    expected: Callable
    dtypes: tuple[str, ...] = ("float32",)
    tolerance: dict[str, float] = field(default_factory=dict)
    how: dict = field(default_factory=dict)


def read(array, dtype):
    """The numbers of an array that `of` made, in float64 where they are real."""
    if dtype == "bfloat16":
        return from_bfloat16_bits(array).astype(np.float64)
    return array.astype(np.float64) if dtype in REAL else array


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def numbers(*shape, dtype="int32", seed=0):
    most = 100 if dtype in ("int8", "uint8") else 1000
    return np.random.default_rng(seed).integers(0, most, shape).astype(dtype)


def of(dtype, *shape, seed=0):
    """Normal noise, or whole numbers that do not overflow when some are added; bfloat16 as bits."""
    if dtype == "bfloat16":
        return bfloat16_bits(random(*shape, seed=seed))
    if dtype in REAL:
        return random(*shape, seed=seed).astype(dtype)
    return (numbers(*shape, seed=seed) % 30).astype(dtype)


HALF = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"

# ---- 1. a map, of every dtype

ADD = Subject(
    "add", HALF + """
template <class T> __global__ void add(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ sum, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum[i] = a[i] + b[i];
}""",
    "add<{T}>", 3, 96,
    lambda dtype: [of(dtype, 1001), of(dtype, 1001, seed=1), of(dtype, 1001, seed=2), 1001],
    lambda dtype, a, b, _, n: [None, None, read(a, dtype) + read(b, dtype)],
    dtypes=(*WHOLE, *REAL), tolerance={"float16": 2**-11, "bfloat16": 2**-8, "float32": 2**-23},
)  # fmt: skip

# ---- 2. a transpose through a tile, two axes

TRANSPOSE = Subject(
    "transpose", HALF + """
template <class T> __global__ void transpose(const T* x, T* y, int rows, int cols) {
    __shared__ T tile[16][17];
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    for (int j = 0; j < 16; j += blockDim.y)
        if (col < cols && row + j < rows) tile[threadIdx.y + j][threadIdx.x] = x[(row + j) * cols + col];
    __syncthreads();
    col = blockIdx.y * 16 + threadIdx.x, row = blockIdx.x * 16 + threadIdx.y;
    for (int j = 0; j < 16; j += blockDim.y)
        if (col < rows && row + j < cols) y[(row + j) * rows + col] = tile[threadIdx.x][threadIdx.y + j];
}""",
    "transpose<{T}>", (5, 3), (16, 4),
    lambda dtype: [of(dtype, 45, 70), of(dtype, 70, 45, seed=1), 45, 70],
    lambda dtype, x, _, rows, cols: [None, read(x, dtype).T],
    dtypes=("int8", "int16", "float16", "float32", "float64", "int64"),
)  # fmt: skip

# ---- 3. a scan in dynamic shared memory

SCAN = Subject(
    "scan", """
template <class T> __global__ void scan(const T* x, T* y, int n) {
    extern __shared__ unsigned char room[];
    T* held = reinterpret_cast<T*>(room);
    int tid = threadIdx.x, from = blockIdx.x * n;
    held[tid] = x[from + tid];
    for (int step = 1; step < n; step *= 2) {
        __syncthreads();
        T before = tid >= step ? held[tid - step] : T(0);
        __syncthreads();
        held[tid] += before;
    }
    y[from + tid] = held[tid];
}""",
    "scan<{T}>", 3, 128,
    lambda dtype: [of(dtype, 3, 128), of(dtype, 3, 128, seed=1), 128],
    lambda dtype, x, *_: [None, np.cumsum(read(x, dtype), axis=1)],
    dtypes=("int32", "uint64", "float32", "float64"), tolerance={"float32": 1e-5, "float64": 1e-12},
    how={"shared_bytes": 1024},
)  # fmt: skip

# ---- 4. a histogram: bytes in, atomics in shared and global memory

HISTOGRAM = Subject(
    "histogram", """
__global__ void histogram(const unsigned char* __restrict__ x, unsigned* counts, int n) {
    __shared__ unsigned own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i] % 64], 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}""",
    "histogram", 4, 128,
    lambda _: [numbers(5000, dtype="uint8"), np.zeros(64, np.uint32), 5000],
    lambda _, x, *__: [None, np.bincount(x % 64, minlength=64)],
    dtypes=("uint32",),
)  # fmt: skip

# ---- 5. layer norm of 16-bit rows, float within

LAYERNORM = Subject(
    "layernorm", HALF + """
template <class T> __global__ void layernorm(const T* x, const T* weight, const T* bias, T* y, float* mean, int cols) {
    __shared__ float sums[32], squares[32];
    const T* row = x + (size_t)blockIdx.x * cols;
    float sum = 0, square = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        float value = (float)row[i];
        sum += value, square += value * value;
    }
    for (int step = 16; step; step /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, step);
        square += __shfl_xor_sync(0xffffffff, square, step);
    }
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum, squares[threadIdx.x / 32] = square;
    __syncthreads();
    sum = square = 0;
    for (int i = 0; i < blockDim.x / 32; i++) sum += sums[i], square += squares[i];
    float m = sum / cols, scale = rsqrtf(square / cols - m * m + 1e-5f);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        y[(size_t)blockIdx.x * cols + i] = (T)(((float)row[i] - m) * scale * (float)weight[i] + (float)bias[i]);
    if (threadIdx.x == 0) mean[blockIdx.x] = m;
}""",
    "layernorm<{T}>", 6, 64,
    lambda dtype: [of(dtype, 6, 300), of(dtype, 300, seed=1), of(dtype, 300, seed=2), of(dtype, 6, 300), np.zeros(6, np.float32), 300],
    lambda dtype, x, weight, bias, *_: [None, None, None, normed(*(read(a, dtype) for a in (x, weight, bias))), read(x, dtype).mean(axis=1)],
    dtypes=("float16", "bfloat16", "float32"), tolerance={"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-5},
)  # fmt: skip


def normed(x, weight, bias):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt(centred.var(axis=1, keepdims=True) + 1e-5) * weight + bias


# ---- 6. a bitonic sort

SORT = Subject(
    "bitonic sort", """
template <class T> __global__ void sort(T* values) {
    __shared__ T held[256];
    int tid = threadIdx.x;
    held[tid] = values[blockIdx.x * 256 + tid];
    for (int run = 2; run <= 256; run *= 2)
        for (int apart = run / 2; apart > 0; apart /= 2) {
            __syncthreads();
            int other = tid ^ apart;
            if (other > tid) {
                T a = held[tid], b = held[other];
                if ((a > b) == ((tid & run) == 0)) held[tid] = b, held[other] = a;
            }
        }
    __syncthreads();
    values[blockIdx.x * 256 + tid] = held[tid];
}""",
    "sort<{T}>", 4, 256,
    lambda dtype: [of(dtype, 4, 256)],
    lambda dtype, values: [np.sort(read(values, dtype), axis=1)],
    dtypes=("int16", "int32", "uint64", "float32", "float64"),
)  # fmt: skip

# ---- 7. a stencil on three axes, its weights in constant memory

STENCIL = Subject(
    "stencil", """
__constant__ float weights[3];
__global__ void __launch_bounds__(256) stencil(const float* x, float* y, int nx, int ny, int nz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= nx || j >= ny || k >= nz) return;
    auto at = [=](int a, int b, int c) {
        return a < 0 || b < 0 || c < 0 || a >= nx || b >= ny || c >= nz ? 0.0f : x[(c * ny + b) * nx + a];
    };
    y[(k * ny + j) * nx + i] = weights[0] * at(i, j, k) + weights[1] * (at(i - 1, j, k) + at(i + 1, j, k)) +
                               weights[2] * (at(i, j - 1, k) + at(i, j + 1, k) + at(i, j, k - 1) + at(i, j, k + 1));
}""",
    "stencil", (2, 3, 2), (16, 4, 3),
    lambda _: [random(5, 9, 20).astype("float32"), random(5, 9, 20, seed=1).astype("float32"), 20, 9, 5],
    lambda _, x, *__: [None, stencil(x.astype(float))],
    tolerance={"float32": 1e-6}, how={"symbols": {"weights": np.array([0.5, 0.25, -1], np.float32)}},
)  # fmt: skip


def stencil(x):
    p = np.pad(x, 1)
    inner = slice(1, -1)
    along = [p[inner, inner, :-2] + p[inner, inner, 2:], p[inner, :-2, inner] + p[inner, 2:, inner],
             p[:-2, inner, inner] + p[2:, inner, inner]]  # fmt: skip
    return 0.5 * x + 0.25 * along[0] - (along[1] + along[2])


# ---- 8. a reduction that the last block finishes, with a counter of the module's own

LAST_BLOCK = Subject(
    "last block", """
namespace mine {
__device__ unsigned finished = 0;
template <class T> __global__ void total(const T* x, volatile T* partial, T* out, int n) {
    __shared__ T held[64];
    __shared__ bool is_last;
    T sum = 0;
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) sum += x[i];
    held[threadIdx.x] = sum;
    for (int step = 32; step; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) held[threadIdx.x] += held[threadIdx.x + step];
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = held[0];
        __threadfence();
        is_last = atomicInc(&finished, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += partial[i];
        out[0] = sum;
    }
}
}""",
    "mine::total<{T}>", 7, 64,
    lambda dtype: [of(dtype, 4000), of(dtype, 7), of(dtype, 1), 4000],
    lambda dtype, x, *_: [None, ..., read(x, dtype).sum(keepdims=True)],
    dtypes=("int32", "float32", "float64"), tolerance={"float32": 1e-5, "float64": 1e-12},
)  # fmt: skip

# ---- 9. one row over many blocks, which meet at a barrier of their own making

ACROSS_BLOCKS = Subject(
    "row across blocks", """
__device__ unsigned arrived;
__global__ void across(const float* x, float* y, float* partial, int n) {
    __shared__ float held[128];
    float sum = 0;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) sum += expf(x[i]);
    held[threadIdx.x] = sum;
    for (int step = 64; step; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) held[threadIdx.x] += held[threadIdx.x + step];
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = held[0];
        __threadfence();
        atomicAdd(&arrived, 1u);
        while (*(volatile unsigned*)&arrived < gridDim.x) { }
        __threadfence();
    }
    __syncthreads();
    sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += partial[i];
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) y[i] = expf(x[i]) / sum;
}""",
    "across", 9, 128,
    lambda _: [random(5000).astype("float32"), random(5000).astype("float32"), np.zeros(9, np.float32), 5000],
    lambda _, x, *__: [None, np.exp(x.astype(float)) / np.exp(x.astype(float)).sum(), ...],
    tolerance={"float32": 1e-5}, how={"cooperative": True},
)  # fmt: skip

# ---- 10. a step of an optimiser: structures by value, scalars of several kinds

ADAM = Subject(
    "adam", """
struct Rates { float step; double beta1, beta2; bool decay; };
extern "C" {
static __global__ void adam(float* weights, const float* gradient, float2* moments, Rates rates, long long n, float epsilon) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 m = moments[i];
    float g = gradient[i];
    m.x = (float)(rates.beta1 * m.x + (1 - rates.beta1) * g);
    m.y = (float)(rates.beta2 * m.y + (1 - rates.beta2) * g * g);
    moments[i] = m;
    weights[i] -= rates.step * (m.x / (sqrtf(m.y) + epsilon) + (rates.decay ? 0.1f * weights[i] : 0.0f));
}
}""",
    "adam", 5, 64,
    lambda _: [random(300).astype("float32"), random(300, seed=1).astype("float32"), abs(random(300, 2, seed=2)).astype("float32"),
               (np.float32(0.01), np.float64(0.9), np.float64(0.99), np.bool_(True)), 300, 1e-8],
    lambda _, weights, gradient, moments, *__: [adam(*(a.astype(float) for a in (weights, gradient, moments)))[0], None,
                                               adam(*(a.astype(float) for a in (weights, gradient, moments)))[1]],
    tolerance={"float32": 1e-5},
)  # fmt: skip


def adam(weights, gradient, moments):
    m = 0.9 * moments[:, 0] + 0.1 * gradient
    v = 0.99 * moments[:, 1] + 0.01 * gradient**2
    step = m / (np.sqrt(v) + 1e-8) + 0.1 * weights
    return weights - 0.01 * step, np.stack([m, v], axis=1)


# ---- 11. rows gathered by 64-bit indices, sixteen bytes at a time

GATHER = Subject(
    "gather", """
__global__ void gather(const float4* table, const long long* index, float4* out, int width) {
    int row = blockIdx.x;
    for (int i = threadIdx.x; i < width; i += blockDim.x) out[row * width + i] = table[index[row] * width + i];
}""",
    "gather", 11, 32,
    lambda _: [random(50, 68).astype("float32"), numbers(11, dtype="int64") % 50, np.zeros((11, 68), np.float32), 17],
    lambda _, table, index, *__: [None, None, table[index]],
)  # fmt: skip

# ---- 12. complex numbers

COMPLEX = Subject(
    "complex product", """
__global__ void product(const float2* a, const float2* b, float2* c, int n, float2 scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 p = a[i], q = b[i];
    c[i] = make_float2((p.x * q.x - p.y * q.y) * scale.x, (p.x * q.y + p.y * q.x) * scale.y);
}""",
    "product", 3, 64,
    lambda _: [*((random(150, seed=s) + 1j * random(150, seed=s + 1)).astype("complex64") for s in (0, 2, 4)), 150, 2 + 2j],
    lambda _, a, b, *__: [None, None, 2 * a.astype(complex) * b],
    dtypes=("complex64",), tolerance={"complex64": 1e-5},
)  # fmt: skip

# ---- 13. arrays of several lengths by a list of pointers

LISTS = Subject(
    "lists", """
__global__ void scale(const float* const* xs, float* y, const int* lengths, int width, float by) {
    const float* x = xs[blockIdx.x];
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        y[blockIdx.x * width + i] = i < lengths[blockIdx.x] ? by * x[i] : 0.0f;
}""",
    "scale", 3, 64,
    lambda _: [
        [random(n, seed=n).astype("float32") for n in (100, 64, 1)],
        np.full((3, 100), np.nan, np.float32), np.array([100, 64, 1], np.int32), 100, 2.0,
    ],
    lambda _, xs, *__: [..., np.array([[*(2 * x), *[0] * (100 - len(x))] for x in xs])],
)  # fmt: skip

# ---- 14. a row over the blocks of a cluster, which read each other's shared memory

CLUSTER = Subject(
    "cluster", """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void centre(const float* x, float* y, int cols) {
    __shared__ float total[128], own;
    cg::cluster_group cluster = cg::this_cluster();
    int tid = threadIdx.x, ranks = cluster.num_blocks(), row = blockIdx.x / ranks;
    float sum = 0;
    for (int i = cluster.block_rank() * 128 + tid; i < cols; i += ranks * 128) sum += x[row * cols + i];
    total[tid] = sum;
    for (int step = 64; step; step /= 2) {
        __syncthreads();
        if (tid < step) total[tid] += total[tid + step];
    }
    if (tid == 0) own = total[0];
    cluster.sync();
    sum = 0;
    for (int rank = 0; rank < ranks; rank++) sum += *cluster.map_shared_rank(&own, rank);
    cluster.sync();
    for (int i = cluster.block_rank() * 128 + tid; i < cols; i += ranks * 128)
        y[row * cols + i] = x[row * cols + i] - sum / cols;
}""",
    "centre", 8, 128,
    lambda _: [random(2, 1000).astype("float32"), np.zeros((2, 1000), np.float32), 1000],
    lambda _, x, *__: [None, x - x.astype(float).mean(axis=1, keepdims=True)],
    tolerance={"float32": 1e-5}, how={"cluster": 4},
)  # fmt: skip

SUBJECTS = (
    ADD, TRANSPOSE, SCAN, HISTOGRAM, LAYERNORM, SORT, STENCIL, LAST_BLOCK,
    ACROSS_BLOCKS, ADAM, GATHER, COMPLEX, LISTS, CLUSTER,
)  # fmt: skip

CASES = [(subject, dtype) for subject in SUBJECTS for dtype in subject.dtypes]
