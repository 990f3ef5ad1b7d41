"""CUDA's vector types: sizes, alignments, all ways to write one down, and copies that are one access."""

import numpy as np
import pytest
from engine.device_functions import Function, call_each
from engine.launch_on import launch

from softmax_lib.engine.toolchain import toolchain
from softmax_lib.engine.written import trace_launch

SIZES = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8,
         "longlong": 8, "ulonglong": 8, "float": 4, "double": 8}  # fmt: skip
ELEMENTS = {"char": "signed char", "uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned",
            "ulong": "unsigned long", "longlong": "long long", "ulonglong": "unsigned long long"}  # fmt: skip
MEMBERS = "xyzw"
TYPES = [(f"{name}{count}", size, count) for name, size in SIZES.items() for count in (1, 2, 3, 4)]


def alignment(size, count):
    """Of 2 and 4 members the size of the whole, as far as one access reaches; else a member's."""
    return size if count in (1, 3) else min(16, size * count)


def numbers(expressions):
    """What each C++ expression is, as an int."""
    calls = [Function(each, "int", ("int",), f"(int)({each})") for each in expressions]
    return [int(found[0]) for found in call_each(calls, np.zeros(1, np.int32)).values()]


def test_every_type_has_cudas_size_and_alignment():
    found = numbers([f"{what}({name})" for name, _, _ in TYPES for what in ("sizeof", "alignof")])
    expected = [n for _, size, count in TYPES for n in (size * count, alignment(size, count))]
    wrong = [(TYPES[i // 2], a, b) for i, (a, b) in enumerate(zip(found, expected, strict=True)) if a != b]  # fmt: skip
    assert not wrong


def test_every_type_is_made_and_read_member_by_member():
    values = "1, 2, 3, 4".split(", ")
    reads, expected = [], []
    for name, _, count in TYPES:
        some = ", ".join(values[:count])
        for made in (f"make_{name}({some})", f"{name}{{{some}}}"):
            reads += [f"{made}.{member}" for member in MEMBERS[:count]]
            expected += range(1, count + 1)
    assert numbers(reads) == expected


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


def accesses(body, x, y, before="", parameters="const float* x, float* y"):
    """(operation, array, bytes) of each access of the only thread."""
    source = f'{before}\nextern "C" __global__ void copy({parameters}) {{\n{body}\n}}\n'
    traced = trace_launch(source, 1, 1, [x, y])
    return [(event.operation, event.array, event.size) for event in traced]


COPIES = [
    "to[{0}] = from[{0}];",
    "V v = from[{0}]; to[{0}] = v;",
    "V v = from[{0}]; v.x += v.y; to[{0}] = v;",
    "V v = __ldg(from + {0}); v.y = 3; __stcs(to + {0}, v);",
    "V v; v = *(from + {0}); V w = v; *(to + {0}) = w;",
    "V v[2]; for (int i = 0; i < 1; i++) v[i] = from[i + {0}]; for (int i = 0; i < 1; i++) to[i + {0}] = v[i];",
]
"""Each is one load and one store, of the whole."""


BYTES = "const unsigned char* x, unsigned char* y"


@pytest.mark.parametrize("name", "char2 short2 float2 double2 char4 ushort4 float4".split())
def test_a_copy_is_one_load_and_one_store(name):
    size = SIZES[name[:-1]] * int(name[-1])
    x, y = np.zeros((2, 128), np.uint8)
    head = f"typedef {name} V; const V* from = reinterpret_cast<const V*>(x); V* to = reinterpret_cast<V*>(y);"
    body = "\n".join(f"{{ {copy.format(i)} }}" for i, copy in enumerate(COPIES))
    found = accesses(f"{head}\n{body}", x, y, parameters=BYTES)
    assert found == [("load", "x", size), ("store", "y", size)] * len(COPIES)


@pytest.mark.parametrize(
    ("name", "count", "size"),
    [("double4", 2, 16), ("longlong4", 2, 16), ("char3", 3, 1), ("short3", 3, 2), ("float3", 3, 4), ("uint3", 3, 4)],
)  # fmt: skip
def test_32_bytes_are_two_accesses_of_16_and_three_members_are_three(name, count, size):
    x, y = np.zeros((2, 64), np.uint8)
    body = f"typedef {name} V; reinterpret_cast<V*>(y)[0] = reinterpret_cast<const V*>(x)[0];"
    found = accesses(body, x, y, parameters=BYTES)
    assert sorted(found) == [("load", "x", size)] * count + [("store", "y", size)] * count


@pytest.mark.parametrize(
    "value",
    ["make_float4(a, 2, a, 4)", "float4{a, 2, a, 4}", "{a, 2, a, 4}", "a > 0 ? float4{a, 1, 2, 3} : float4{a}"],
)  # fmt: skip
def test_a_new_vector_is_one_store(value):
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    target = "float4 v = " if "?" in value else "reinterpret_cast<float4*>(y)[0] = "
    body = f"float a = x[0]; {target}{value};" + (" *(float4*)y = v;" if "?" in value else "")
    assert accesses(body, x, y) == [("load", "x", 4), ("store", "y", 16)]


def test_users_vectors_are_copied_whole_where_they_are_aligned():
    before = (
        "#include <cuda_fp16.h>\n"
        "template <class T, int n> struct alignas(sizeof(T) * n) Vector { T members[n]; };\n"
        "struct Pair { float maximum, sum; };\n"
        "struct __align__(8) AlignedPair { float maximum, sum; };\n"
    )
    x, y = np.zeros(16, np.float32), np.zeros(16, np.float32)
    for kind, sizes in (
        ("Vector<float, 4>", [16]), ("Vector<__half, 8>", [16]), ("Vector<__half2, 2>", [8]),
        ("AlignedPair", [8]), ("Pair", [4, 4]), ("__half2", [4]), ("__half", [2]),
    ):  # fmt: skip
        body = f"{kind} v = *reinterpret_cast<const {kind}*>(x); *reinterpret_cast<{kind}*>(y) = v;"
        found = accesses(body, x, y, before)
        expected = [
            (what, array, size) for what, array in (("load", "x"), ("store", "y")) for size in sizes
        ]
        if toolchain().is_clang:  # it takes structs apart, whatever it is told
            found, expected = ([sum(size for *_, size in some)] for some in (found, expected))
        assert found == expected, kind


def test_a_halfs_pair_is_one_store():
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    before = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
    for value in (
        "__floats2half2_rn(a, a)",
        "__half2(__float2half(a), __float2half(1))",
        "__float2half2_rn(a) * __float2half2_rn(3)",
    ):
        body = f"float a = x[0]; *reinterpret_cast<__half2*>(y) = {value};"
        assert accesses(body, x, y, before) == [("load", "x", 4), ("store", "y", 4)], value
    pair = "*reinterpret_cast<__nv_bfloat162*>(y) = __floats2bfloat162_rn(x[0], x[0]);"
    assert accesses(pair, x, y, before)[-1] == ("store", "y", 4)
