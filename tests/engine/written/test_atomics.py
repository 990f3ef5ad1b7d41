"""Atomics on every type that CUDA has them for, against plain Python and numpy."""

from functools import reduce

import numpy as np
import pytest
from engine.launched import DTYPES, Rows, like, run, run_all, zeros

THREADS, BLOCKS = 64, 8
MEMBERS = range(THREADS * BLOCKS)
SCOPES = ("", "_block", "_system")


def wrap(kind, value):
    """The integer as it is in the C++ type."""
    return int(np.uint64(value % (1 << 64)).astype(DTYPES[kind]))


def decrement(old, limit):
    return limit if old == 0 or old > limit else old - 1


ADDS = ("int", "unsigned", "unsigned long long")
EXTREMES = ("int", "unsigned", "long long", "unsigned long long")

INTEGERS = [
    *[("atomicAdd", kind, 5, "i * 0x1234567", lambda o, v: o + v) for kind in ADDS],
    *[("atomicSub", kind, 5, "i * 0x1234567", lambda o, v: o - v) for kind in ("int", "unsigned")],
    *[("atomicMin", kind, 7, "i - 100", min) for kind in EXTREMES],
    *[("atomicMax", kind, 7, "i - 100", max) for kind in EXTREMES],
    *[("atomicAnd", kind, -1, "~(1 << i % 20)", lambda o, v: o & v) for kind in EXTREMES],
    *[("atomicOr", kind, 1 << 25, "1 << i % 20", lambda o, v: o | v) for kind in EXTREMES],
    *[("atomicXor", kind, 3, "i * 977", lambda o, v: o ^ v) for kind in EXTREMES],
    ("atomicInc", "unsigned", 98, "99", lambda o, most: 0 if o >= most else o + 1),
    ("atomicDec", "unsigned", 2, "99", decrement),
    ("atomicDec", "unsigned", 500, "99", decrement),
]
"""Operation, type, first value, each thread's number, and what the operation makes of two numbers."""


def value_of(kind, text, i):
    """A thread's number as C++ computes it, in int, and converts it."""
    return wrap(kind, wrap("int", eval(text, {"i": i})))


def test_integers():
    """All of the table in one kernel, in each scope, since compiling takes longer than anything else."""
    table = [(scope, *row) for scope in SCOPES for row in INTEGERS]
    arrays = {kind: zeros(kind, len(table)) for kind in EXTREMES}
    lines = []
    for row, (scope, name, kind, start, value, _) in enumerate(table):
        pointer = "abcd"[EXTREMES.index(kind)]
        arrays[kind][row] = wrap(kind, start)
        lines.append(f"    {name}{scope}({pointer} + {row}, ({kind})({value}));")
    body = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n" + "\n".join(lines)
    run(body, *arrays.values(), grid=BLOCKS, block=THREADS)
    for row, (scope, name, kind, start, value, function) in enumerate(table):
        expected = reduce(function, (value_of(kind, value, i) for i in MEMBERS), wrap(kind, start))
        assert arrays[kind][row] == wrap(kind, expected), (name, scope, kind)


def test_what_was_there_before_is_returned():
    body = """
    __shared__ unsigned here;
    if (threadIdx.x == 0) here = 0;
    __syncthreads();
    b[threadIdx.x] = atomicAdd(WHERE, 3u);
    __syncthreads();
    if (threadIdx.x == 0) *a = *WHERE;"""
    bodies = {where: body.replace("WHERE", where) for where in ("a", "&here")}
    for total, before in run_all(bodies, zeros("unsigned", 1), zeros("unsigned", 128), block=128).values():  # fmt: skip
        assert sorted(before.tolist()) == list(range(0, 3 * 128, 3))
        assert total[0] == 3 * 128


def test_an_exchange_hands_every_value_on_once():
    kinds = ("int", "unsigned", "unsigned long long", "float")
    lines = [
        f"    {p}[1 + thread] = atomicExch({p}, ({kind})(thread + 1));"
        for p, kind in zip("abcd", kinds, strict=True)
    ]
    body = "    int thread = blockIdx.x * blockDim.x + threadIdx.x;\n" + "\n".join(lines)
    arrays = [zeros(kind, 1 + len(MEMBERS)) for kind in kinds]
    for found in run(body, *arrays, grid=BLOCKS, block=THREADS):
        # thread t took what came before it, and left t + 1: a chain from 0 to the last
        assert sorted(found) == list(range(len(MEMBERS) + 1))


def test_compare_and_swap_loses_no_update():
    kinds = ("int", "unsigned", "unsigned long long", "unsigned short")
    lines = [
        f"{{ {kind} seen = *{p}, expected; do {{ expected = seen; seen = atomicCAS({p}, expected, ({kind})(expected + 3)); }} while (seen != expected); }}"
        for p, kind in zip("abcd", kinds, strict=True)
    ]
    arrays = [zeros(kind, 1) for kind in kinds]
    for found in run("\n".join(lines), *arrays, grid=BLOCKS, block=THREADS):
        assert found[0] == 3 * len(MEMBERS)


# ---- floats


def test_floats_add_up():
    body = """
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd_SCOPE(a, 0.25f * thread);
    atomicAdd_SCOPE(b, 0.25 * thread);
    atomicAdd_SCOPE((float2*)a + 1, make_float2(thread, -thread));
    atomicAdd_SCOPE((float4*)a + 1, make_float4(thread, 2, 3, -0.5f * thread));"""
    bodies = {scope: body.replace("_SCOPE", scope) for scope in SCOPES}
    total, count = sum(MEMBERS), len(MEMBERS)
    sums = [total / 4, 0, total, -total, total, 2 * count, 3 * count, -total / 2]
    found = run_all(bodies, zeros("float", 8), zeros("double", 1), grid=BLOCKS, block=THREADS)
    for scope, (single, double) in found.items():
        assert single.tolist() == sums, scope
        assert double[0] == total / 4


TINY = float(np.float32(1e-40))


LOCK = """
    __shared__ int lock, count;
    if (threadIdx.x == 0) lock = count = 0;
    __syncthreads();
    while (atomicCAS_SCOPE(&lock, 0, 1) != 0) { }
    int before = *(volatile int*)&count;
    *(volatile int*)&count = before + 1;
    __threadfence_block();
    atomicExch_SCOPE(&lock, 0);
    __syncthreads();
    a[threadIdx.x] = count;"""
SIXTEEN = """
    __shared__ __TYPE single;
    __shared__ __TYPE2 both;
    if (threadIdx.x == 0) {
        single = __float2WORD(0.0f);
        both = __floats2WORD2_rn(1.0f, 2.0f);
    }
    __syncthreads();
    atomicAdd(&single, __float2WORD(0.5f));
    atomicAdd(&both, __floats2WORD2_rn(0.25f, -0.5f));
    __syncthreads();
    a[0] = __WORD2float(single); a[1] = __low2float(both); a[2] = __high2float(both);"""
HEADERS = "#include <cmath>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
OWN = """
    __device__ float atomicMax(float* address, float value) {
        return __int_as_float(value >= 0 ? atomicMax((int*)address, __float_as_int(value))
                                         : atomicMin((unsigned*)address, __float_as_uint(value)));
    }"""

ROWS = Rows({
    "compare and swap leaves another value as it is": ("b[0] = atomicCAS(a, 4, 9); b[1] = atomicCAS_block(a, 5, 9); b[2] = atomicCAS_system(a, 5, 1);", [like("int", 5), zeros("int", 3)], [[9], [5, 5, 9]]),
    "neighbours of a short stay": ("atomicCAS(a + 1, (unsigned short)2, (unsigned short)0xabcd);", [like("unsigned short", 1, 2, 3)], [[1, 0xABCD, 3]]),
    "float vectors return what was there": ("""
    float2 two = atomicAdd((float2*)a, make_float2(10, 20));
    float4 four = atomicAdd((float4*)a + 1, make_float4(1, 2, 3, 4));
    b[0] = two.x; b[1] = two.y; b[2] = four.x; b[3] = four.y; b[4] = four.z; b[5] = four.w;""", [like("float", 1, 2, 0, 0, 3, 4, 5, 6), zeros("float", 6)], [[11, 22, 0, 0, 4, 6, 8, 10], [1, 2, 3, 4, 5, 6]]),
    "subnormals are flushed in global memory and kept in shared": ("""
    __shared__ float here[2];
    here[0] = a[0]; here[1] = 0;
    atomicAdd(here, a[0]);
    atomicAdd(here + 1, 1e-40f);
    atomicAdd(a + 1, 1e-40f);  // to zero
    atomicAdd(a + 2, 0.0f);    // a subnormal that is there
    atomicAdd(a + 3, -1.2e-38f);  // a normal number with a subnormal result
    a[4] = here[0]; a[5] = here[1];""", [like("float", TINY, 0, TINY, 1.3e-38, 0, 0)], [[TINY, 0, 0, 0, float(np.float32(TINY) * 2), TINY]]),
    "nan and infinity add as floats do": ("float* f = (float*)a; atomicAdd(f, INFINITY); atomicAdd(f + 1, -INFINITY); atomicAdd(f + 2, NAN);", [like("unsigned", 0x3F800000, 0x7F800000, 0)], [[0x7F800000, 0x7FFFFFFF, 0x7FFFFFFF]]),
    **{
        f"a lock of a block lets one in at a time: atomicCAS{scope}": (LOCK.replace("_SCOPE", scope), [zeros("int", 96)], [[96] * 96], {"block": 96})
        for scope in ("", "_block")
    },
    **{
        f"{word}s add up": (SIXTEEN.replace("TYPE", of).replace("WORD", word), [zeros("float", 3)], [[32, 17, -30]], {"block": 64})
        for of, word in (("half", "half"), ("nv_bfloat16", "bfloat16"))
    },
    "a kernel can have an atomic of its own": ("atomicMax(a, 0.5 * threadIdx.x - 20.0);", [like("float", -3)], [[11.5]], {"block": 64, "before": OWN}),
}, block=1, before=HEADERS)  # fmt: skip
"""Of a single thread where nothing else is said: a body, its arrays, and what they hold afterwards."""


@pytest.mark.parametrize("name", ROWS)
def test_arrays_hold_what_atomics_leave(name):
    ROWS.check(name)
