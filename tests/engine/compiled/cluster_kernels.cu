// Kernels whose blocks tell each other something, and copies to shared memory: launched as fast_cases.py says.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Each block reads what the next one holds.
extern "C" __global__ void load_from_other(const float* x, float* y) {
    __shared__ float mine[128];
    auto cluster = cg::this_cluster();
    mine[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    cluster.sync();
    float* other = cluster.map_shared_rank(mine, (cluster.block_rank() + 1) % cluster.num_blocks());
    float v = other[threadIdx.x];
    cluster.sync();
    y[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

// Each block writes into the next one, every second word of it.
extern "C" __global__ void store_to_other(const float* x, float* y) {
    __shared__ float mine[256];
    auto cluster = cg::this_cluster();
    float* other = cluster.map_shared_rank(mine, (cluster.block_rank() + 1) % cluster.num_blocks());
    cluster.sync();
    other[threadIdx.x * 2] = x[blockIdx.x * blockDim.x + threadIdx.x];
    cluster.sync();
    y[blockIdx.x * blockDim.x + threadIdx.x] = mine[threadIdx.x & ~1];
}

// All add to one word of the first block, and read it: for one block it is its own.
extern "C" __global__ void add_to_first(const float* x, float* y) {
    __shared__ int sum;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) sum = 0;
    cluster.sync();
    int* first = cluster.map_shared_rank(&sum, 0);
    atomicAdd(first, (int)threadIdx.x);
    cluster.sync();
    y[blockIdx.x * blockDim.x + threadIdx.x] = *first;
    cluster.sync();
}

// Where a block is in its cluster, and the cluster in the grid.
extern "C" __global__ void where(const float* x, float* y) {
    auto cluster = cg::this_cluster();
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    dim3 at = cluster.block_index(), sides = cluster.dim_blocks();
    y[block * blockDim.x + threadIdx.x] =
        cluster.block_rank() + 10 * at.x + 100 * at.y + 1000 * at.z + 10000 * sides.x + 100000 * sides.y + 1000000 * sides.z;
}

// Some threads have ended before the others come to the cluster's barrier.
extern "C" __global__ void some_end(const float* x, float* y) {
    __shared__ float mine[128];
    auto cluster = cg::this_cluster();
    if (threadIdx.x >= 40 + 20 * cluster.block_rank()) return;
    mine[threadIdx.x] = x[threadIdx.x] + cluster.block_rank();
    cluster.barrier_arrive();
    float v = x[threadIdx.x + 128];
    cluster.barrier_wait();
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    y[blockIdx.x * blockDim.x + threadIdx.x] = v + cluster.map_shared_rank(mine, next)[threadIdx.x % 40];
    cluster.sync();
}

// Two phases of an mbarrier: arrivals of one and of two, waited for by its state and by its parity.
extern "C" __global__ void two_phases(const float* x, float* y) {
    __shared__ __align__(8) unsigned long long barrier;
    __shared__ float told[128];
    unsigned at = shared_address(&barrier);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"((int)blockDim.x + 2));
    __syncthreads();
    told[threadIdx.x] = x[threadIdx.x];
    unsigned long long state;
    if (threadIdx.x == 3) asm volatile("mbarrier.arrive.shared.b64 _, [%0], 2;" ::"r"(at) : "memory");
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
    for (int done = 0; !done;)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(at), "l"(state) : "memory");
    y[blockIdx.x * blockDim.x + threadIdx.x] = told[blockDim.x - 1 - threadIdx.x];
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at) : "memory");
    if (threadIdx.x == 3) asm volatile("mbarrier.arrive.shared.b64 _, [%0], 2;" ::"r"(at) : "memory");
    asm volatile("{ .reg .pred done;\nagain: mbarrier.try_wait.parity.shared.b64 done, [%0], 1;\n@!done bra again; }" ::"r"(at) : "memory");
    y[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

// A block sends each other one words of its row, and bytes are what its barrier counts.
extern "C" __global__ void send_words(const float* x, float* y) {
    __shared__ __align__(8) unsigned long long barrier;
    __shared__ __align__(16) float got[8 * 32 * 4];
    auto cluster = cg::this_cluster();
    unsigned n = cluster.num_blocks(), at = shared_address(&barrier), from, to;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at));
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(n * 32 * 4));
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(n * 32 * 16));
    }
    cluster.sync();
    for (unsigned other = 0; other < n; other++) {
        int word = (cluster.block_rank() * 32 + threadIdx.x) * 4;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(shared_address(&got[word])), "r"(other));
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(from) : "r"(at), "r"(other));
        const float* v = x + (blockIdx.x * 32 + threadIdx.x) * 4;
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                     "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "r"(from) : "memory");
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(to + 4),
                     "f"(v[1]), "r"(from) : "memory");
    }
    asm volatile("{ .reg .pred done;\nagain: mbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n@!done bra again; }" ::"r"(at) : "memory");
    float sum = 0;
    for (unsigned i = threadIdx.x; i < n * 32 * 4; i += 32) sum += got[i] * (1 + i % 7);
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    cluster.sync();
}

// All blocks of a grid meet.
extern "C" __global__ void all_meet(const float* x, float* y) {
    auto grid = cg::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int turn = 1; turn < 4; turn++) {
        y[i] = x[i] * turn;
        grid.sync();
        float next = y[(i + blockDim.x) % (gridDim.x * blockDim.x)];
        grid.sync();
        y[i] = next;
    }
}

// So many bytes a lane, from and to bytes behind the start; 17 are 16 past the first cache.
template <int BYTES> __global__ void copies(const float* x, float* y, unsigned lanes, int from, int to) {
    __shared__ __align__(128) char held[2048];
    constexpr int EACH = BYTES == 17 ? 16 : BYTES;
    if (lanes >> threadIdx.x & 1) {
        unsigned at = shared_address(held + to + threadIdx.x * EACH);
        const char* source = (const char*)x + from + threadIdx.x * EACH;
        if (BYTES == 17) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(source) : "memory");
        else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(source), "n"(EACH) : "memory");
    }
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    if (lanes == 0) y[threadIdx.x] = held[threadIdx.x];
}
