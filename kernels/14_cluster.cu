// cluster: 08_fusion_aligned with CLUSTER blocks per row, which tell each other their pairs.
//   x, y     (rows, cols) float32, row-major, both at 16 bytes; y may be x
//   grid     rows * CLUSTER       block   BLOCK threads, a power of two
//   shared   2 floats per warp of the cluster
//   needs    sm_90, cols a multiple of 4, at most CLUSTER * BLOCK * PER_THREAD
//   traffic  1 read + 1 write per element (the least)
//   next     a share asked for by one thread -> 14_tma

#include <cooperative_groups.h>

#include "block_reduce.cuh"  // warp_max, warp_sum
#include "float4.cuh"        // max4, sum4, scale4

constexpr int VECTORS = PER_THREAD / 4;  // of the row, in the registers of each thread

__device__ float4 fast_exp4(float4 v, float shift) {
    return {__expf(v.x - shift), __expf(v.y - shift), __expf(v.z - shift), __expf(v.w - shift)};
}

extern "C" __global__ void __cluster_dims__(CLUSTER) __launch_bounds__(BLOCK)
softmax_cluster(const float* x, float* y, int rows, int cols) {
    __shared__ float2 pairs[CLUSTER * WARPS];  // (max, sum) of each warp of the cluster
    auto cluster = cooperative_groups::this_cluster();
    cluster.barrier_arrive();  // "I have started": nobody writes to a block that hasn't
    int thread = cluster.thread_rank(), lane = thread % WARP, vectors = cols / 4;
    const float4* x_row = (const float4*)x + (long long)(blockIdx.x / CLUSTER) * vectors;
    float4* y_row = (float4*)y + (long long)(blockIdx.x / CLUSTER) * vectors;
    float4 v[VECTORS], nothing = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};

    // 1. read: the only time
    for (int i = 0, at = thread; i < VECTORS; i++, at += CLUSTER * BLOCK)
        v[i] = at < vectors ? x_row[at] : nothing;
    // 2. max, exp and sum of this warp's columns: nothing here waits for another warp
    float thread_max = -INFINITY, thread_sum = 0.0f;
    for (int i = 0; i < VECTORS; i++) thread_max = fmaxf(thread_max, max4(v[i]));
    float top = warp_max(thread_max);
    float shift = top == -INFINITY ? 0.0f : top;  // -inf - -inf would be NaN
    for (int i = 0; i < VECTORS; i++) thread_sum += sum4(v[i] = fast_exp4(v[i], shift));
    float total = warp_sum(thread_sum);
    // 3. lane b hands this warp's pair to block b; each warp merges all pairs by itself
    cluster.barrier_wait();
    if (lane < CLUSTER) *cluster.map_shared_rank(&pairs[thread / WARP], lane) = {top, total};
    cluster.sync();
    float row_max = -INFINITY, row_sum = 0.0f;
    for (int i = lane; i < CLUSTER * WARPS; i += WARP) row_max = fmaxf(row_max, pairs[i].x);
    row_max = warp_max(row_max);
    for (int i = lane; i < CLUSTER * WARPS; i += WARP)
        row_sum += pairs[i].y * __expf(pairs[i].x - row_max);
    // 4. write, each value brought from its warp's maximum to the row's
    float scale = __fdividef(__expf(top - row_max), warp_sum(row_sum));
    for (int i = 0, at = thread; i < VECTORS; i++, at += CLUSTER * BLOCK)
        if (at < vectors) y_row[at] = scale4(v[i], scale);
}
