"""CUDA's C++ library: cuda::atomic, and what cuda::std has of the standard library."""

import math
from functools import reduce

import numpy as np
import pytest
from engine.device_functions import check_values
from engine.launched import DTYPES, Rows, like, run, zeros

from softmax_lib import emulator
from softmax_lib.engine.errors import CompileError

ATOMIC = """#include <cuda/atomic>
#pragma nv_diag_suppress static_var_with_dynamic_init
"""
MEMBERS = range(4 * 64)


# ---- atomics that refer to an element of an array

SCOPES = ("thread_scope_system", "thread_scope_device")
CHANGES = {
    "fetch_add(7)": lambda v, i: v + 7,
    "fetch_sub(i)": lambda v, i: v - i,
    "fetch_min(i - 9)": lambda v, i: min(v, i - 9),
    "fetch_max(i + 9, cuda::memory_order_relaxed)": lambda v, i: max(v, i + 9),
    "operator++()": lambda v, i: v + 1,
    "operator--(0)": lambda v, i: v - 1,
    "operator+=(3)": lambda v, i: v + 3,
    "operator-=(2)": lambda v, i: v - 2,
}
BITS = {
    "fetch_and(~(1 << i % 9), cuda::memory_order_acq_rel)": lambda v, i: v & ~(1 << i % 9),
    "fetch_or(1 << i % 9)": lambda v, i: v | (1 << i % 9),
    "fetch_xor(i)": lambda v, i: v ^ i,
}
KINDS = {
    "int": CHANGES | BITS, "unsigned": BITS, "long long": CHANGES | BITS, "unsigned long long": BITS,
    "short": CHANGES, "float": CHANGES, "double": CHANGES,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_each_change_of_an_element(kind):
    changes = {
        (change, scope): function
        for change, function in KINDS[kind].items()
        for scope in SCOPES
        if not (kind in ("float", "double") and change.startswith("operator") and "=" not in change)
    }
    lines = [
        f"cuda::atomic_ref<{kind}, cuda::{scope}>(a[{row}]).{change};"
        for row, (change, scope) in enumerate(changes)
    ]
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n" + "\n".join(lines)
    start = np.full(len(changes), 5, DTYPES[kind])
    found = run(body, start, grid=4, block=64, before=ATOMIC)
    for got, (change, function) in zip(found, changes.items(), strict=True):
        assert got == np.array(reduce(function, MEMBERS, 5)).astype(DTYPES[kind]), change


ROWS = Rows({
    "what a change returns": ("""
    cuda::atomic_ref<int, cuda::thread_scope_device> one(a[0]);
    int out[] = {one.fetch_add(2), one++, ++one, one += 5, one.exchange(40), one--, --one, one -= 1,
                 one.fetch_max(50), one.fetch_min(3), one |= 8, one &= 9, one ^= 1, one = 77, one.load(), one};
    for (int i = 0; i < 16; i++) b[i] = out[i];
    int expected = 5;
    b[16] = one.compare_exchange_strong(expected, 6);
    b[17] = expected;
    b[18] = one.compare_exchange_weak(expected, 8, cuda::memory_order_acquire, cuda::memory_order_relaxed);
    b[19] = one.is_lock_free() + 10 * decltype(one)::is_always_lock_free;
    one.store(3, cuda::memory_order_release);""", [like("int", 10), zeros("int", 20)],
        [[3], [10, 12, 14, 19, 19, 40, 38, 37, 37, 50, 11, 9, 8, 77, 77, 77, 0, 77, 1, 11]], {"block": 1}),
    "pointers step by elements": ("""
    cuda::atomic<float*, cuda::thread_scope_block> at(a);
    float* before = at.fetch_add(3);
    b[0] = before - a; b[1] = at.load() - a; b[2] = at.fetch_sub(1) - a; b[3] = at - a;""", [zeros("float", 4), zeros("int", 4)], [None, [0, 3, 3, 2]], {"block": 1}),
    "one in shared memory and one of the whole device": ("""
    __shared__ cuda::atomic<int, cuda::thread_scope_block> count;
    if (threadIdx.x == 0) count = 3;
    __syncthreads();
    count.fetch_add(1, cuda::memory_order_relaxed);
    total++;
    __syncthreads();
    a[blockIdx.x * 64 + threadIdx.x] = count + 1000 * sizeof(count);
    if (total.load() == 100 + 2 * 64) b[0] = 1;""", [zeros("int", 128), zeros("int", 1)], [[4067] * 128, [1]],
        {"grid": 2, "before": ATOMIC + "__device__ cuda::atomic<int, cuda::thread_scope_device> total(100);\n"}),
    "small structures are atomic too": ("""
    struct Best { float value; int index; };
    cuda::atomic_ref<Best, cuda::thread_scope_device> best(*(Best*)a);
    Best seen = best.load(), mine = {(float)((threadIdx.x * 37) % 64), (int)threadIdx.x};
    while (mine.value > seen.value && !best.compare_exchange_weak(seen, mine)) { }
    __syncthreads();
    Best found = best;
    b[threadIdx.x] = found.value + 100 * found.index;""", [zeros("float", 2), zeros("float", 64)], [None, [63 + 100 * max(range(64), key=lambda t: t * 37 % 64)] * 64]),
    "a thread waits for a value": ("""
    __shared__ cuda::atomic<int, cuda::thread_scope_block> turn;
    __shared__ int order[64];
    if (threadIdx.x == 0) turn = 0;
    __syncthreads();
    for (int seen; (seen = turn.load()) != 63 - threadIdx.x;) turn.wait(seen);  // the last thread first
    order[turn] = threadIdx.x;
    turn.fetch_add(1, cuda::memory_order_release);
    turn.notify_all();
    __syncthreads();
    a[threadIdx.x] = order[threadIdx.x];""", [zeros("int", 64)], [[*range(63, -1, -1)]]),
    "the standard library's names": ("""
    cuda::std::atomic_ref<int> sum(a[0]);
    sum.fetch_add(2, cuda::std::memory_order_relaxed);
    sum += 1;
    cuda::std::atomic_thread_fence(cuda::std::memory_order_seq_cst);""", [zeros("int", 1)], [[3 * 64 * 3]], {"grid": 3, "before": "#include <cuda/std/atomic>\n"}),
}, block=64, before=ATOMIC)  # fmt: skip
"""Of 64 threads where nothing else is said: a body, its arrays, and what they hold afterwards."""


@pytest.mark.parametrize("name", ROWS)
def test_arrays_hold_what_atomics_leave(name):
    ROWS.check(name)


# ---- the standard library

STD = "#include <cuComplex.h>\n#include <cuda/cmath>\n#include <cuda/functional>\n" + "".join(
    f"#include <cuda/std/{name}>\n"
    for name in "array bit climits cmath complex cstddef cstdint functional limits optional tuple type_traits utility".split()
)
VALUES = {
    "cuda::std::numeric_limits<float>::infinity()": math.inf,
    "cuda::std::numeric_limits<int>::max() / 1024": 2097151,
    "cuda::std::numeric_limits<float>::lowest()": float(np.finfo(np.float32).min),
    "CHAR_BIT + sizeof(cuda::std::uint16_t) + sizeof(cuda::std::size_t)": 18,
    "cuda::std::is_same_v<cuda::std::remove_const_t<const int>, int> + 2 * cuda::std::is_floating_point<float>::value": 3,
    "cuda::std::fabs(-2.5f) + cuda::std::sqrt(16.0f) + cuda::std::floor(1.5f)": 7.5,
    "cuda::std::isnan(NAN) + 2 * cuda::std::isinf(INFINITY)": 3,
    "cuda::std::max(1, 5) + 10 * cuda::std::min(2, 3)": 25,
    "cuda::std::array<float, 4>{1, 2, 3, 4}[2] + cuda::std::array<int, 7>().size()": 10,
    "cuda::std::get<1>(cuda::std::make_tuple(1, 2.5f, 3.0))": 2.5,
    "cuda::std::pair<int, float>(3, 0.5f).first + cuda::std::make_pair(1, 0.5f).second": 3.5,
    "cuda::std::plus<float>()(1, 2) + cuda::std::multiplies<>()(3, 4) + cuda::std::less<int>()(1, 2)": 16,
    "cuda::maximum<float>()(3, 8) + cuda::minimum<>()(1.5f, 2)": 9.5,
    "cuda::proclaim_return_type<int>([](float v) { return (int)v; })(3.75f)": 3,
    "cuda::std::optional<int>(7).value_or(3) + cuda::std::optional<int>().value_or(3)": 10,
    "cuda::std::popcount(0xf0u) + 10 * cuda::std::countl_zero(1u) + 1000 * cuda::std::countr_zero(8u)": 3314,
    "cuda::std::countl_one(0xf0000000u) + 10 * cuda::std::countr_one(7u)": 34,
    "cuda::std::bit_ceil(100u) + cuda::std::bit_floor(100u) + cuda::std::bit_width(100u)": 128 + 64 + 7,
    "cuda::std::has_single_bit(64u) + 2 * cuda::std::has_single_bit(65u)": 1,
    "cuda::std::rotl((unsigned char)0x81, 1) + cuda::std::rotr(1u, 32)": 3 + 1,
    "cuda::std::bit_cast<float>(0x3fc00000)": 1.5,
    "cuda::ceil_div(10, 4) + 10 * cuda::round_up(10, 4) + 1000 * cuda::round_down(10, 4)": 3 + 120 + 8000,
    "(cuda::std::complex<float>(1, 2) * cuda::std::complex<float>(3, 4)).real()": -5,
    "(cuda::std::complex<float>(1, 2) * cuda::std::complex<float>(3, 4)).imag()": 10,
    "(cuda::std::complex<float>(10, 5) / cuda::std::complex<float>(1, 2)).imag()": -3,
    "cuda::std::abs(cuda::std::complex<float>(3, 4)) + cuda::std::norm(cuda::std::complex<float>(3, 4))": 30,
    "cuda::std::conj(cuda::std::complex<float>(3, 4)).imag() + (2.0f * cuda::std::complex<float>(1, 1)).real()": -2,
    "cuda::std::arg(cuda::std::complex<float>(-1, 0))": float(np.float32(math.pi)),
    "cuda::std::exp(cuda::std::complex<float>(0, 0)).real()": 1,
    "cuda::std::polar(2.0f, 0.0f).real() + cuda::std::polar(2.0f, 0.0f).imag()": 2,
    "cuCreal(cuComplexFloatToDouble(make_cuComplex(3, 4))) + cuComplexDoubleToFloat(make_cuDoubleComplex(3, 4)).y": 7,
    "__int2double_rn(-3) + __uint2double_rn(8)": 5,
    "[](float x) { float s, c; sincospi(x, &s, &c); return 2 * s + c; }(0.5f)": 2,
    "cuda::std::complex<float>(1, 2) != cuda::std::complex<float>(1, 3)": 1,
    "cuda::std::complex<float>(1, 2) == cuda::std::complex<float>(1, 3)": 0,
}  # fmt: skip


def test_the_standard_library_in_namespace_cuda():
    check_values(VALUES, "float", STD)


HEADERS = [
    *[f"cuda/std/{name}" for name in (
        "array", "atomic", "barrier", "bit", "bitset", "cassert", "cfloat", "chrono", "climits", "cmath",
        "complex", "cstddef", "cstdint", "cstdlib", "cstring", "ctime", "functional", "initializer_list",
        "iterator", "latch", "limits", "numeric", "optional", "ratio", "semaphore", "tuple", "type_traits",
        "utility", "variant")],
    *[f"cuda/{name}" for name in ("atomic", "barrier", "cmath", "functional", "latch", "pipeline", "semaphore")],
    *[f"cooperative_groups{name}.h" for name in ("", "/reduce", "/scan", "/memcpy_async")],
    "cuda_pipeline.h", "cuda_pipeline_primitives.h", "cuda_awbarrier.h", "cuda_awbarrier_primitives.h",
    "cuda_fp16.hpp", "cuda_bf16.hpp", "cuda.h", "cuda_runtime_api.h", "device_functions.h", "math_functions.h",
    "cuda_runtime.h", "device_launch_parameters.h", "math_constants.h",
]  # fmt: skip


def test_all_headers_go_together_twice():
    both = "".join(f"#include <{name}>\n" for name in [*HEADERS, *reversed(HEADERS)])
    assert run("a[0] = 1;", zeros("int", 1), block=1, before=both)[0] == 1


def test_what_the_library_reads_is_read_at_the_readers_line():
    source = """#include <algorithm>
#include <cuda/std/array>
extern "C" __global__ void largest(const float* x, float* y) {
    float least = x[0];
    least = std::min(least, x[threadIdx.x]);
    least = cuda::std::min(least, x[threadIdx.x + 1]);
    y[threadIdx.x] = least;
}
"""
    x = np.arange(33, 0, -1).astype(np.float32)
    y = np.zeros(32, np.float32)
    events = emulator.trace_launch(source, 1, 32, [x, y]).events
    assert sorted(set(events["line"].tolist())) == [4, 5, 6, 7]
    assert (y == x[1:]).all()


WITH_STREAMS = {f"cuda/std/{name}" for name in ("bitset", "chrono", "iterator", "numeric")}
"""Those of which the standard library's own header does."""


def test_no_header_brings_in_streams():
    before = "".join(f"#include <{name}>\n" for name in HEADERS if name not in WITH_STREAMS)
    with pytest.raises(CompileError, match="ios_base"):
        run("a[0] = sizeof(std::ios_base);", zeros("int", 1), before=before)
