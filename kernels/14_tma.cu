// tma: 14_cluster with each block's share of the row in shared memory, asked for by one thread.
//   x, y     (rows, cols) float32, row-major, both at 16 bytes; y may be x
//   grid     rows * CLUSTER       block   BLOCK threads, a multiple of WARP
//   shared   dynamic: the share, rounded up to 16 bytes; 2 floats per warp of the cluster
//   needs    sm_90, cols a multiple of 4
//   traffic  1 read + 1 write per element (the least)
//   next     more blocks than a cluster has -> fast/grid

#include <cuda/barrier>

#include "block_reduce.cuh"  // warp_max, warp_sum
#include "cluster.cuh"       // fast_exp4, cluster_pair
#include "float4.cuh"        // max4, sum4, scale4

extern "C" __global__ void __cluster_dims__(CLUSTER) __launch_bounds__(BLOCK)
softmax_tma(const float* x, float* y, int rows, int cols) {
    extern __shared__ float4 share[];
    __shared__ float2 pairs[CLUSTER * WARPS];
    __shared__ cuda::barrier<cuda::thread_scope_block> here;
    auto cluster = cooperative_groups::this_cluster();
    int vectors = cols / 4, most = (vectors + CLUSTER - 1) / CLUSTER;  // of a share
    int first = min((int)cluster.block_rank() * most, vectors), mine = min(most, vectors - first);
    long long start = (long long)(blockIdx.x / CLUSTER) * vectors + first;

    // 1. read: one thread asks for the share, and the barrier opens when all its bytes are here
    if (threadIdx.x == 0) {
        init(&here, 1);
        cuda::aligned_size_t<16> bytes(16 * mine);
        if (mine) cuda::device::memcpy_async_tx(share, (const float4*)x + start, bytes, here);
        (void)cuda::device::barrier_arrive_tx(here, 1, bytes);
    }
    cluster.sync();  // every block has started, and its barrier is set
    here.wait_parity(false);
    // 2. max, exp and sum of this warp's columns
    float thread_max = -INFINITY, thread_sum = 0.0f;
    for (int at = threadIdx.x; at < mine; at += BLOCK) thread_max = fmaxf(thread_max, max4(share[at]));
    float top = warp_max(thread_max);
    float shift = top == -INFINITY ? 0.0f : top;  // -inf - -inf would be NaN
    for (int at = threadIdx.x; at < mine; at += BLOCK)
        thread_sum += sum4(share[at] = fast_exp4(share[at], shift));
    // 3. the blocks tell each other their pairs
    float2 row_pair = cluster_pair(top, warp_sum(thread_sum), pairs);
    // 4. write
    float scale = __fdividef(__expf(top - row_pair.x), row_pair.y);
    for (int at = threadIdx.x; at < mine; at += BLOCK)
        ((float4*)y)[start + at] = scale4(share[at], scale);
}
