// fusion_aligned: 07_float4_aligned with the row kept in registers, and one barrier per row.
//   x, y     (rows, cols) float32, row-major, both at 16 bytes; y may be x
//   grid     rows                 block   BLOCK threads, a power of two
//   shared   2 floats per warp    needs   cols a multiple of 4, at most BLOCK * PER_THREAD
//   traffic  1 read + 1 write per element (the least)
//   next     rows that start anywhere -> 08_fusion

#include "block_reduce.cuh"  // warp_max, warp_sum
#include "float4.cuh"        // max4, sum4, scale4

constexpr int VECTORS = PER_THREAD / 4;  // of the row, in the registers of each thread

__device__ float4 fast_exp4(float4 v, float shift) {
    return {__expf(v.x - shift), __expf(v.y - shift), __expf(v.z - shift), __expf(v.w - shift)};
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_fusion_aligned(const float* x, float* y, int rows, int cols) {
    __shared__ float2 pairs[WARPS];  // of each warp: its maximum, and its sum under that
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, vectors = cols / 4;
    const float4* x_row = (const float4*)x + (long long)blockIdx.x * vectors;
    float4* y_row = (float4*)y + (long long)blockIdx.x * vectors;
    float4 v[VECTORS], nothing = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};

    // 1. read: the only time
    for (int i = 0, at = threadIdx.x; i < VECTORS; i++, at += BLOCK)
        v[i] = at < vectors ? x_row[at] : nothing;
    // 2. max, exp and sum of this warp's columns: nothing here waits for another warp
    float thread_max = -INFINITY, thread_sum = 0.0f;
    for (int i = 0; i < VECTORS; i++) thread_max = fmaxf(thread_max, max4(v[i]));
    float top = warp_max(thread_max);
    float shift = top == -INFINITY ? 0.0f : top;  // -inf - -inf would be NaN
    for (int i = 0; i < VECTORS; i++) thread_sum += sum4(v[i] = fast_exp4(v[i], shift));
    float total = warp_sum(thread_sum);
    // 3. the warps meet once; each merges all pairs (max, sum) by itself
    if (lane == 0) pairs[warp] = {top, total};
    __syncthreads();
    float2 other = lane < WARPS ? pairs[lane] : float2{-INFINITY, 0.0f};
    float row_max = warp_max(other.x);
    float row_sum = warp_sum(other.y * __expf(other.x - row_max));
    // 4. write, each value brought from its warp's maximum to the row's
    float scale = __fdividef(__expf(top - row_max), row_sum);
    for (int i = 0, at = threadIdx.x; i < VECTORS; i++, at += BLOCK)
        if (at < vectors) y_row[at] = scale4(v[i], scale);
}
