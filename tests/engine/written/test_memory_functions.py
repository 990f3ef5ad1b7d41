"""Loads and stores with hints, address spaces, clusters."""

import numpy as np
import pytest
from engine.launched import DTYPES, Rows, like, run, zeros

from softmax_lib import emulator
from softmax_lib.engine.errors import IllegalAddress

LOADS = ("__ldg", "__ldca", "__ldcg", "__ldcs", "__ldcv", "__ldlu")
STORES = ("__stwb", "__stcg", "__stcs", "__stwt")
KINDS = ("float", "double", "int", "unsigned", "long long", "unsigned long long", "short", "unsigned char")  # fmt: skip


def test_hints_change_no_value():
    """All types in one kernel, of which each has its arrays in bytes."""
    places, body = range(0, 128 * len(KINDS), 128), ""
    for kind, place in zip(KINDS, places, strict=True):
        lines = [f"y[{i}] = {load}(x + {i});" for i, load in enumerate(LOADS)]
        lines += [f"{store}(y + {6 + i}, x[{i}]);" for i, store in enumerate(STORES)]
        body += f"{{ auto x = ({kind}*)(a + {place}), y = ({kind}*)(b + {place});\n{' '.join(lines)} }}\n"
    given, found = np.zeros((2, 128 * len(KINDS)), np.uint8)
    for kind, place in zip(KINDS, places, strict=True):
        given[place : place + 128].view(DTYPES[kind])[:6] = range(3, 9)
    run(body, given, found, block=1)
    for kind, place in zip(KINDS, places, strict=True):
        values = found[place : place + 128].view(DTYPES[kind])[:10].tolist()
        assert values == [3, 4, 5, 6, 7, 8, 3, 4, 5, 6], kind


NAMED = """
    struct Row { const int* x; __device__ Row(const int* x, uint4*) : x(x) {} };
    template <typename R> __device__ int first(const int* x) {
        extern __shared__ uint4 chunks[];
        R row(x, chunks);
        return row.x[0];
    }
"""
NEIGHBOURS = (1, 2, 3, 0, 5, 6, 7, 4)
"""Of blocks in clusters of four, the next in each."""
ROWS = Rows({
    "vectors are loaded and stored whole": ("""
    float4 four = __ldg((const float4*)a);
    float2 two = __ldcs((const float2*)a + 2);
    __stcs((float4*)b, make_float4(four.w, four.z, four.y, four.x));
    __stcg((float2*)b + 2, make_float2(two.y, two.x));
    __stwt(b + 6, 7);""", [like("float", 1, 2, 3, 4, 5, 6), zeros("float", 7)], [None, [4, 3, 2, 1, 6, 5, 7]]),
    "an address of shared memory comes back from 32 bits": ("""
    __shared__ int first[8];
    __shared__ int second[8];
    unsigned at = (unsigned)__cvta_generic_to_shared(second + threadIdx.x);
    int* there = (int*)__cvta_shared_to_generic(at);
    first[threadIdx.x] = 0;
    *there = 10 + threadIdx.x;
    a[threadIdx.x] = second[threadIdx.x];
    a[8 + threadIdx.x] = at - (unsigned)__cvta_generic_to_shared(second);
    a[16] = (there == second + threadIdx.x) + 2 * (__cvta_global_to_generic(__cvta_generic_to_global(a)) == a);""", [zeros("int", 17)], [[*range(10, 18), *range(0, 32, 4), 3]]),
    "memory of a size known later": ("""
    int* own = (int*)alloca(4 * (threadIdx.x + 1));
    for (int i = 0; i <= threadIdx.x; i++) own[i] = i;
    a[threadIdx.x] = own[threadIdx.x];""", [zeros("int", 8)], [[*range(8)]]),
    "blocks wait for one another by words that no cache keeps": ("""
    ulonglong2* said = (ulonglong2*)a;
    if (threadIdx.x == 0) __stwt(&said[blockIdx.x], make_ulonglong2(1, 10 * blockIdx.x));
    ulonglong2 heard = __ldcv(&said[threadIdx.x]);
    while (heard.x != 1) heard = __ldcv(&said[threadIdx.x]);
    b[4 * blockIdx.x + threadIdx.x] = heard.y;""", [zeros("unsigned long long", 8), zeros("unsigned long long", 16)], [None, [0, 10, 20, 30] * 4], {"grid": 4, "block": 4, "cooperative": True}),
    "shared memory that is only named needs no bytes": ("a[0] = first<Row>(a) + 1;", [like("int", 7)], [[8]], {"block": 1, "before": NAMED}),
    "each address is of one memory": ("""
    __shared__ int tile[4];
    extern __shared__ int dynamic[];
    volatile int own = 3;
    int many[50000]; many[threadIdx.x] = own;
    const void* pointers[] = {a, &variable, tile, tile + 3, dynamic, (int*)&own, many, many + 49999};
    for (int i = 0; i < 8; i++) {
        a[i] = 4 * (__isGlobal(pointers[i]) != 0) + 2 * (__isShared(pointers[i]) != 0) + (__isLocal(pointers[i]) != 0);
    }""", [zeros("int", 8)], [[4, 4, 2, 2, 2, 1, 1, 1]], {"block": 1, "before": "__device__ int variable;\n", "shared_bytes": 64}),
    "where a block is in its cluster": ("""
    if (threadIdx.x + threadIdx.y) return;
    dim3 size = __clusterDim(), index = __clusterRelativeBlockIdx(), cluster = __clusterIdx(),
         clusters = __clusterGridDimInClusters();
    int block = blockIdx.x + gridDim.x * blockIdx.y;
    int found[] = {(int)size.x, (int)size.y, (int)__clusterSizeInBlocks(), (int)index.x, (int)index.y,
                   (int)__clusterRelativeBlockRank(), (int)cluster.x, (int)cluster.y, (int)clusters.x, (int)clusters.y};
    for (int i = 0; i < 10; i++) a[10 * block + i] = found[i];""", [zeros("int", 10 * 24)],
        [[n for y, x in np.ndindex(4, 6) for n in (3, 2, 6, x % 3, y % 2, x % 3 + 3 * (y % 2), x // 3, y // 2, 2, 2)]],
        {"grid": (6, 4), "block": (2, 2), "cluster": (3, 2)}),
    "blocks of a cluster read each other's shared memory": ("""
    __shared__ int tile[32];
    unsigned rank = __clusterRelativeBlockRank(), size = __clusterSizeInBlocks();
    tile[threadIdx.x] = 100 * blockIdx.x + threadIdx.x;
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    int* next = (int*)__cluster_map_shared_rank(tile, (rank + 1) % size);
    int* own = (int*)__cluster_map_shared_rank(tile, rank);
    a[blockIdx.x * 32 + threadIdx.x] = next[threadIdx.x];
    b[blockIdx.x * 32 + threadIdx.x] = __cluster_query_shared_rank(next) + 10 * __isClusterShared(next)
        + 100 * (__isCtaShared(next) != 0) + 1000 * (__isCtaShared(own) != 0) + 10000 * (__isShared(next) != 0) + 20000 * (__isShared(own) != 0);
    __cluster_barrier_arrive_relaxed();
    __cluster_barrier_wait();""", [zeros("int", 8 * 32), zeros("int", 8 * 32)],
        [[100 * n + t for n in NEIGHBOURS for t in range(32)], [n % 4 + 21010 for n in NEIGHBOURS for _ in range(32)]],
        {"grid": 8, "block": 32, "cluster": 4}),
}, block=8)  # fmt: skip
"""Of 8 threads where nothing else is said: a body, its arrays, and what they hold afterwards."""


@pytest.mark.parametrize("name", ROWS)
def test_arrays_hold_what_is_stored(name):
    ROWS.check(name)


def test_shared_memory_that_is_sized_at_the_launch_is_traced_by_its_name():
    text = """__global__ void k(const float* x, float* y) {
    extern __shared__ float tile[];
    __shared__ float offset;
    tile[threadIdx.x + 12000] = x[threadIdx.x];
    if (threadIdx.x == 0) offset = 0.5f;
    __syncthreads();
    y[threadIdx.x] = tile[12000 + blockDim.x - 1 - threadIdx.x] + offset;
}"""
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    traced = emulator.trace_launch(text, 1, 64, [x, y], shared_bytes=4 * 12064)
    assert y.tolist() == [63.5 - i for i in range(64)]
    stores = [(e.array, e.element) for e in traced if e.operation == "store" and e.array != "y"]
    assert stores == [("tile", 12000), ("offset", 0), *[("tile", 12000 + i) for i in range(1, 64)]]
    with pytest.raises(IllegalAddress, match=r"past the end of its 0 elements at kernel\.cu:4"):
        emulator.trace_launch(text, 1, 64, [x, y])
