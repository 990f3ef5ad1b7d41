// cluster: what 14_cluster taught, for 14_tma.

#include <cooperative_groups.h>

__device__ inline float4 fast_exp4(float4 v, float shift) {
    return {__expf(v.x - shift), __expf(v.y - shift), __expf(v.z - shift), __expf(v.w - shift)};
}

// (max, sum) of the cluster's row, in every thread, from those of its warps. All blocks have
// started; `pairs` is CLUSTER * WARPS pairs of shared memory.
__device__ inline float2 cluster_pair(float top, float total, float2* pairs) {
    auto cluster = cooperative_groups::this_cluster();
    int lane = threadIdx.x % WARP, warp = cluster.thread_rank() / WARP;
    if (lane < CLUSTER) *cluster.map_shared_rank(&pairs[warp], lane) = {top, total};
    cluster.sync();
    float row_max = -INFINITY, row_sum = 0.0f;
    for (int i = lane; i < CLUSTER * WARPS; i += WARP) row_max = fmaxf(row_max, pairs[i].x);
    row_max = warp_max(row_max);
    for (int i = lane; i < CLUSTER * WARPS; i += WARP)
        row_sum += pairs[i].y * __expf(pairs[i].x - row_max);
    return {row_max, warp_sum(row_sum)};
}
