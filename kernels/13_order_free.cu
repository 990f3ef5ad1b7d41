// order_free: one block per row, read once; it adds up whole numbers, so that their order leaves no trace.
//   x, y     (rows, cols) float32, row-major
//   grid     rows                 block   BLOCK threads, a multiple of WARP
//   shared   12 bytes per warp    needs   cols <= BLOCK * PER_THREAD
//   traffic  1 read + 1 write per element (least: 1 + 1)
//   next     rows that no block holds, and 4 bytes a load -> fast/README.md

#include "block_reduce.cuh"  // ALL_LANES, WARPS, block_max

// As block_sum, but of whole numbers: (a + b) + c is a + (b + c), to the last bit.
__device__ long long block_total(long long value, long long* partial) {
    for (int bit = WARP / 2; bit > 0; bit /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, bit);
    if (threadIdx.x % WARP == 0) partial[threadIdx.x / WARP] = value;
    __syncthreads();
    value = 0;
    for (int warp = 0; warp < WARPS; warp++) value += partial[warp];
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_order_free(const float* x, float* y, int rows, int cols) {
    __shared__ float maxima[WARPS];
    __shared__ long long totals[WARPS];
    long long start = (long long)blockIdx.x * cols;

    // 1. read, and max: its order never mattered
    float v[PER_THREAD], thread_max = -INFINITY;
#pragma unroll
    for (int i = 0, col = threadIdx.x; i < PER_THREAD; i++, col += BLOCK)
        v[i] = col < cols ? x[start + col] : -INFINITY, thread_max = fmaxf(thread_max, v[i]);
    float row_max = block_max(thread_max, maxima);
    // 2. sum, in units so small that a row of ones stays below 2^63
    float unit = 1ll << (31 + __clz(cols));
    long long total = 0;
    bool has_nan = false;  // which no whole number is
#pragma unroll
    for (int i = 0; i < PER_THREAD; i++) {
        v[i] = expf(v[i] - row_max);
        has_nan |= isnan(v[i]);
        total += __float2ll_rn(v[i] * unit);
    }
    float scale = unit / block_total(total, totals);
    if (__syncthreads_or(has_nan)) scale = nanf("");
    // 3. write
#pragma unroll
    for (int i = 0, col = threadIdx.x; i < PER_THREAD; i++, col += BLOCK)
        if (col < cols) y[start + col] = v[i] * scale;
}
