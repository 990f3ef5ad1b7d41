// topk: the K largest of each row and their softmax, in one read; a list per thread, then the block meets.
//   x        (rows, cols) float32, row-major, without NaN
//   values   (rows, K) float32, largest first    places   (rows, K) int32, their columns
//   grid     rows                 block   BLOCK threads, a multiple of WARP
//   shared   4 floats per warp    needs   1 <= K <= cols
//   traffic  1 read per element (the least), 2 K writes per row
//   next     nearly every turn of a warp, one of its 32 lists changes -> 11_topk_warp

#include "block_reduce.cuh"
#include "best.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_topk(const float* __restrict__ x, float* __restrict__ values, int* __restrict__ places,
             int rows, int cols) {
    __shared__ float maxima[WARPS], sums[WARPS];
    __shared__ Found firsts[WARPS];
    const float* x_row = x + (long long)blockIdx.x * cols;

    // 1. one read: max and sum as before, and the K best, of this thread's columns
    float thread_max = -INFINITY, thread_sum = 0.0f;
    Found best[K];
    start(best);
    for (int col = threadIdx.x; col < cols; col += BLOCK) {
        float value = x_row[col];
        if (value > thread_max) {
            thread_sum *= expf(thread_max - value);
            thread_max = value;
        }
        if (value > -INFINITY) thread_sum += expf(value - thread_max);
        insert(best, {value, col});
    }

    // 2. max and sum of the row
    float row_max = block_max(thread_max, maxima);
    float row_sum = block_sum(thread_sum * expf(thread_max - row_max), sums);

    // 3. K times: the best of what the threads still have
    for (int i = 0; i < K; i++) {
        Found first = take(best, firsts);
        if (threadIdx.x == 0) {
            long long at = (long long)blockIdx.x * K + i;
            values[at] = expf(first.value - row_max) / row_sum;
            places[at] = first.place;
        }
    }
}
