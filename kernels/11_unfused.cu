// topk_unfused: a softmax that writes every probability, then a launch that reads them for the K largest.
//   x, y     (rows, cols) float32, row-major, x without NaN; y is scratch
//   values   (rows, K) float32, largest first    places   (rows, K) int32, their columns
//   grid     rows                 block   BLOCK threads, a multiple of WARP
//   shared   2 floats per warp    needs   1 <= K <= cols
//   traffic  4 reads + 1 write per element (least: 1 + 0), 2 K writes per row
//   next     only K of the probabilities are wanted: find them while reading x -> 11_topk

#include "block_reduce.cuh"
#include "best.cuh"

// 1. softmax: a read for the maximum, one for the sum, one for the probabilities
extern "C" __global__ void softmax_topk_probabilities(const float* __restrict__ x,
                                                      float* __restrict__ y, int rows, int cols) {
    __shared__ float maxima[WARPS], sums[WARPS];
    const float* x_row = x + (long long)blockIdx.x * cols;
    float* y_row = y + (long long)blockIdx.x * cols;

    float thread_max = -INFINITY, thread_sum = 0.0f;
    for (int col = threadIdx.x; col < cols; col += BLOCK) {
        thread_max = fmaxf(thread_max, x_row[col]);
    }
    float row_max = block_max(thread_max, maxima);

    for (int col = threadIdx.x; col < cols; col += BLOCK) {
        thread_sum += expf(x_row[col] - row_max);
    }
    float scale = 1.0f / block_sum(thread_sum, sums);

    for (int col = threadIdx.x; col < cols; col += BLOCK) {
        y_row[col] = expf(x_row[col] - row_max) * scale;
    }
}

// 2. the K largest of each row of probabilities
extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_topk_select(const float* __restrict__ y, float* __restrict__ values,
                    int* __restrict__ places, int rows, int cols) {
    __shared__ Found firsts[WARPS];
    const float* y_row = y + (long long)blockIdx.x * cols;
    Found best[K];
    start(best);
    for (int col = threadIdx.x; col < cols; col += BLOCK) insert(best, {y_row[col], col});
    for (int i = 0; i < K; i++) {
        Found first = take(best, firsts);
        if (threadIdx.x == 0) {
            long long at = (long long)blockIdx.x * K + i;
            values[at] = first.value;
            places[at] = first.place;
        }
    }
}
