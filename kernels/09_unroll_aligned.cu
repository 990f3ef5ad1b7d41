// unroll_aligned: 07_float4_aligned with two numbers left open, for a search to set.
//   x, y     (rows, cols) float32, row-major, both at 16 bytes
//   macros   UNROLL turns of a loop written out; IN_FLIGHT vectors asked for in each
//   grid     rows                 block   BLOCK threads, a multiple of WARP
//   shared   2 floats per warp    needs   cols a multiple of 4
//   traffic  2 reads + 1 write per element (least: 1 + 1)
//   next     rows that start anywhere -> 09_unroll; rows too short for a block -> 10_warp

#include "block_reduce.cuh"  // block_max, block_sum
#include "float4.cuh"        // max4, sum4, exp4, scale4

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_unroll_aligned(const float* x, float* y, int rows, int cols) {
    __shared__ float maxima[WARPS], sums[WARPS];
    int vectors = cols / 4;
    const float4* x_row = (const float4*)x + (long long)blockIdx.x * vectors;
    float4* y_row = (float4*)y + (long long)blockIdx.x * vectors;
    float4 v[IN_FLIGHT], nothing = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};

    // 1. max and sum of this thread's columns
    float thread_max = -INFINITY, thread_sum = 0.0f;
#pragma unroll UNROLL
    for (int first = threadIdx.x; first < vectors; first += IN_FLIGHT * BLOCK) {
        for (int i = 0, at = first; i < IN_FLIGHT; i++, at += BLOCK)
            v[i] = at < vectors ? x_row[at] : nothing;
        float new_max = thread_max;
        for (int i = 0; i < IN_FLIGHT; i++) new_max = fmaxf(new_max, max4(v[i]));
        float shift = new_max == -INFINITY ? 0.0f : new_max;  // -inf - -inf would be NaN
        thread_sum *= expf(thread_max - shift);
        for (int i = 0; i < IN_FLIGHT; i++) thread_sum += sum4(exp4(v[i], shift));
        thread_max = new_max;
    }
    // 2. max and sum of the row
    float row_max = block_max(thread_max, maxima);
    float scale = 1.0f / block_sum(thread_sum * expf(thread_max - row_max), sums);
    // 3. write
#pragma unroll UNROLL
    for (int first = threadIdx.x; first < vectors; first += IN_FLIGHT * BLOCK) {
        for (int i = 0, at = first; i < IN_FLIGHT; i++, at += BLOCK)
            v[i] = at < vectors ? x_row[at] : nothing;
        for (int i = 0, at = first; i < IN_FLIGHT; i++, at += BLOCK)
            if (at < vectors) y_row[at] = scale4(exp4(v[i], row_max), scale);
    }
}
