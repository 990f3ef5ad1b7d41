// float4_aligned: 06_shuffle with 4 loads of 16 bytes in flight per thread, on aligned rows.
//   x, y     (rows, cols) float32, row-major, both at 16 bytes
//   grid     rows                 block   BLOCK threads, a multiple of WARP
//   shared   2 floats per warp    needs   cols a multiple of 4
//   traffic  2 reads + 1 write per element (least: 1 + 1)
//   next     rows that start anywhere -> 07_float4; the row is read twice -> 08_fusion

#include "block_reduce.cuh"  // block_max, block_sum

constexpr int IN_FLIGHT = 4;  // vectors that a thread asks for before it uses the first

__device__ float max4(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }
__device__ float sum4(float4 v) { return (v.x + v.y) + (v.z + v.w); }
__device__ float4 scale4(float4 v, float s) { return {v.x * s, v.y * s, v.z * s, v.w * s}; }
__device__ float4 exp4(float4 v, float shift) {
    return {expf(v.x - shift), expf(v.y - shift), expf(v.z - shift), expf(v.w - shift)};
}

extern "C" __global__ void softmax_float4_aligned(const float* x, float* y, int rows, int cols) {
    __shared__ float maxima[WARPS], sums[WARPS];
    int vectors = cols / 4;
    const float4* x_row = (const float4*)x + (long long)blockIdx.x * vectors;
    float4* y_row = (float4*)y + (long long)blockIdx.x * vectors;
    float4 v[IN_FLIGHT], nothing = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};

    // 1. max and sum of this thread's columns
    float thread_max = -INFINITY, thread_sum = 0.0f;
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
    for (int first = threadIdx.x; first < vectors; first += IN_FLIGHT * BLOCK) {
        for (int i = 0, at = first; i < IN_FLIGHT; i++, at += BLOCK)
            v[i] = at < vectors ? x_row[at] : nothing;
        for (int i = 0, at = first; i < IN_FLIGHT; i++, at += BLOCK)
            if (at < vectors) y_row[at] = scale4(exp4(v[i], row_max), scale);
    }
}
