"""CUDA's vector types: sizes, alignments, all ways to write one down, and copies that are one access."""

from functools import cache

import numpy as np
import pytest
from engine.device_functions import check_values
from engine.launched import launch

from softmax_lib.engine.toolchain import toolchain
from softmax_lib.engine.written import trace_launch

SIZES = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8,
         "longlong": 8, "ulonglong": 8, "float": 4, "double": 8}  # fmt: skip
ELEMENTS = {"char": "signed char", "uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned",
            "ulong": "unsigned long", "longlong": "long long", "ulonglong": "unsigned long long"}  # fmt: skip
MEMBERS = "xyzw"
TYPES = [(f"{name}{count}", size, count) for name, size in SIZES.items() for count in (1, 2, 3, 4)]


def test_every_type_has_cudas_size_and_alignment():
    check_values({f"sizeof({name})": size * count for name, size, count in TYPES}, "int")
    # of 2 and 4 members the size of the whole, as far as one access reaches; else a member's
    aligned = {
        f"alignof({name})": size if count in (1, 3) else min(16, size * count)
        for name, size, count in TYPES
    }
    check_values(aligned, "int")


def test_every_type_is_made_and_read_member_by_member():
    values = "1, 2, 3, 4"
    check_values({
        f"{made.format(name, values[: 3 * count - 2])}.{member}": n
        for name, _, count in TYPES
        for made in ("make_{}({})", "{}{{{}}}")
        for n, member in enumerate(MEMBERS[:count], 1)
    }, "int")  # fmt: skip


def test_every_type_keeps_what_its_members_are():
    source = "template <class A, class B> struct same { static constexpr bool value = false; };\n"
    source += "template <class A> struct same<A, A> { static constexpr bool value = true; };\n"
    source += "\n".join(
        f"static_assert(same<decltype({name}::{member}), {ELEMENTS.get(name[:-1], name[:-1])}>::value);"
        for name, _, count in TYPES
        for member in MEMBERS[:count]
    )
    y = np.zeros(1, np.float32)
    launch(f'{source}\nextern "C" __global__ void check(float* y) {{ *y = 1; }}\n', 1, 1, [y])
    assert y[0] == 1


WAYS = """
__constant__ float4 constant = {1, 2, 3, 4};
__constant__ float2 several[2] = {{5, 6}, {7, 8}};
__device__ int4 flat[2] = {9, 10, 11, 12, 13, 14, 15, 16};
constexpr float4 compiled = {17, 18, 19, 20};
static_assert(compiled.w == 20 && float4{1, 2}.z == 0);
constexpr float4 again = compiled;
union Pack { float4 vector; float members[4]; unsigned bits[4]; };
struct Pair { float2 first; double2 second; };
template <class T, int n> struct alignas(sizeof(T) * n) Vector { T members[n]; };

__device__ float sum(float4 v) { return v.x + v.y + v.z + v.w; }
__device__ void scale(float4& v, float by) { v.x *= by; v.w *= by; }

extern "C" __global__ void ways(const float* x, float* y, float4 by_value, uchar4 bytes) {
    __shared__ float4 tile[32];
    tile[threadIdx.x] = reinterpret_cast<const float4*>(x)[threadIdx.x];
    __syncthreads();
    if (threadIdx.x) return;
    int n = 0;
    y[n++] = sum(constant);
    y[n++] = several[1].y;
    y[n++] = flat[1].w;
    y[n++] = again.z;
    y[n++] = sum(tile[1]);
    Pack pack;
    pack.vector = tile[2];
    Pack copy = pack;
    copy.members[0] += 0.5f;
    y[n++] = copy.vector.x;
    Pair pair = {make_float2(1, 2), {3, 4}};
    Pair other = pair;
    other.second.y = 5;
    y[n++] = pair.second.y + other.second.y + other.first.x;
    float4 v = {1, 2};
    v = {v.y, v.x, 3.0f, 4.0f};
    scale(v, 10);
    y[n++] = v.x + v.z + v.w;
    auto [a, b, c, d] = v;
    y[n++] = a + d;
    float4 empty = {};
    y[n++] = sum(empty) + sum(float4());
    Vector<float, 4> four = *reinterpret_cast<const Vector<float, 4>*>(x);
    y[n++] = four.members[3];
    y[n++] = sum(by_value);
    y[n++] = bytes.x + 256 * bytes.w;
    float4* where = &tile[3];
    where->y = 0.25f;
    y[n++] = tile[3].y;
    uint3 here = blockIdx;
    dim3 size = blockDim;
    uint3 as_vector = size;
    y[n++] = here.x + as_vector.x + 100 * size.z;
    y[n++] = n;
}
"""


def test_all_ways_to_write_a_vector_down():
    x, y = np.arange(128, dtype=np.float32), np.zeros(16, np.float32)
    by_value = np.array([(1, 2, 3, 4.5)], "f4,f4,f4,f4")[0]
    bytes_ = np.array([(1, 2, 3, 4)], "u1,u1,u1,u1")[0]
    launch(WAYS, 1, 32, [x, y, by_value, bytes_])
    assert y.tolist() == [10, 8, 16, 19, 4 + 5 + 6 + 7, 8.5, 4 + 5 + 1, 20 + 3 + 40, 60, 0, 3, 10.5, 1 + 1024, 0.25,
                          32 + 100, 15]  # fmt: skip


# ---- how a trace sees them

COPIES = [
    "to[{0}] = from[{0}];",
    "V v = from[{0}]; to[{0}] = v;",
    "V v = from[{0}]; v.x += v.y; to[{0}] = v;",
    "V v = __ldg(from + {0}); v.y = 3; __stcs(to + {0}, v);",
    "V v; v = *(from + {0}); V w = v; *(to + {0}) = w;",
    "V v[2]; for (int i = 0; i < 1; i++) v[i] = from[i + {0}]; for (int i = 0; i < 1; i++) to[i + {0}] = v[i];",
]
"""Each is one load and one store, of the whole."""
BEFORE = """#include <cuda_bf16.h>
template <class T, int n> struct alignas(sizeof(T) * n) Vector { T members[n]; };
struct Pair { float maximum, sum; };
struct __align__(8) AlignedPair { float maximum, sum; };
template <class V> __device__ V& at(const void* place) { return *reinterpret_cast<V*>(const_cast<void*>(place)); }
extern "C" __global__ void copy(const float* x, float* y) {
"""


def copied(*sizes, stored=None):
    """The accesses of a line that loads what has these sizes, and stores as many, or something else."""
    loads, stores = (
        [(what, size) for size in some]
        for what, some in (("load", sizes), ("store", stored or sizes))
    )
    return sorted([*loads, *stores])


LINES = {
    **{
        f"typedef {name} V; auto from = (const V*)x; auto to = (V*)y; {copy.format(i)}": copied(SIZES[name[:-1]] * int(name[-1]))
        for name in "char2 short2 float2 double2 char4 ushort4 float4".split() for i, copy in enumerate(COPIES)
    },
    # 32 bytes are two accesses of 16, and three members are three
    **{
        f"at<{name}>(y) = at<{name}>(x);": copied(*sizes) for name, sizes in {
            "double4": [16] * 2, "longlong4": [16] * 2, "char3": [1] * 3, "short3": [2] * 3, "float3": [4] * 3, "uint3": [4] * 3,
        }.items()
    },
    # a new vector is one store
    **{
        f"float a = x[0]; {line}": copied(4, stored=[16]) for line in (
            "at<float4>(y) = make_float4(a, 2, a, 4);", "at<float4>(y) = float4{a, 2, a, 4};", "at<float4>(y) = {a, 2, a, 4};",
            "float4 v = a > 0 ? float4{a, 1, 2, 3} : float4{a}; at<float4>(y) = v;",
        )
    },
    **{
        f"float a = x[0]; at<{pair}>(y) = {value};": copied(4, stored=[4]) for pair, value in (
            ("__half2", "__floats2half2_rn(a, a)"), ("__half2", "__half2(__float2half(a), __float2half(1))"),
            ("__half2", "__float2half2_rn(a) * __float2half2_rn(3)"), ("__nv_bfloat162", "__floats2bfloat162_rn(a, a)"),
        )
    },
    # users' vectors are copied whole where they are aligned
    **{
        f"{kind} v = at<const {kind}>(x); at<{kind}>(y) = v;": copied(*sizes) for kind, sizes in {
            "Vector<float, 4>": [16], "Vector<__half, 8>": [16], "Vector<__half2, 2>": [8], "AlignedPair": [8], "Pair": [4, 4],
            "__half2": [4], "__half": [2],
        }.items()
    },
}  # fmt: skip
"""By a line of a kernel, its accesses: what it does and how many bytes it moves."""


@cache
def accesses():
    """Those of each of `LINES`, by one thread."""
    body = "\n".join(f"{{ {line} }}" for line in LINES)
    x, y = np.ones((2, 64), np.float32)
    found = {line: [] for line in LINES}
    for event in trace_launch(f"{BEFORE}{body}\n}}\n", 1, 1, [x, y]):
        assert event.array == {"load": "x", "store": "y"}[event.operation]
        line = [*LINES][event.line - BEFORE.count("\n") - 1]
        found[line].append((event.operation, event.size))
    return found


@pytest.mark.parametrize("line", LINES)
def test_a_line_has_a_gpus_accesses(line):
    found, expected = sorted(accesses()[line]), LINES[line]
    # clang takes a structure apart, whatever it is told
    if toolchain().is_clang and line.startswith("Pair"):
        found, expected = (sum(size for _, size in some) for some in (found, expected))
    assert found == expected
