// unfused: one launch per operation, every intermediate result in global memory.
//   x, y     (rows, cols) float32, row-major; row_max, row_sum (rows,) float32 scratch
//   grid     rows                 block   BLOCK threads, a multiple of WARP
//   shared   1 float per warp     needs   any cols >= 1
//   traffic  4 reads + 2 writes per element (least: 1 + 1)
//   next     one launch that keeps the row needs none of the middle -> 08_fusion

#include "block_reduce.cuh"

// 1. max of each row
extern "C" __global__ void softmax_unfused_max(const float* __restrict__ x,
                                               float* __restrict__ row_max, int rows, int cols) {
    __shared__ float maxima[WARPS];
    const float* x_row = x + (long long)blockIdx.x * cols;
    float thread_max = -INFINITY;
    for (int col = threadIdx.x; col < cols; col += BLOCK) {
        thread_max = fmaxf(thread_max, x_row[col]);
    }
    float top = block_max(thread_max, maxima);
    if (threadIdx.x == 0) row_max[blockIdx.x] = top;
}

// 2. y = exp(x - max)
extern "C" __global__ void softmax_unfused_exp(const float* __restrict__ x,
                                               const float* __restrict__ row_max,
                                               float* __restrict__ y, int rows, int cols) {
    const float* x_row = x + (long long)blockIdx.x * cols;
    float* y_row = y + (long long)blockIdx.x * cols;
    float top = row_max[blockIdx.x];
    for (int col = threadIdx.x; col < cols; col += BLOCK) y_row[col] = expf(x_row[col] - top);
}

// 3. sum of each row of y
extern "C" __global__ void softmax_unfused_sum(const float* __restrict__ y,
                                               float* __restrict__ row_sum, int rows, int cols) {
    __shared__ float sums[WARPS];
    const float* y_row = y + (long long)blockIdx.x * cols;
    float thread_sum = 0.0f;
    for (int col = threadIdx.x; col < cols; col += BLOCK) thread_sum += y_row[col];
    float total = block_sum(thread_sum, sums);
    if (threadIdx.x == 0) row_sum[blockIdx.x] = total;
}

// 4. y = y / sum
extern "C" __global__ void softmax_unfused_divide(const float* __restrict__ row_sum,
                                                  float* __restrict__ y, int rows, int cols) {
    float* y_row = y + (long long)blockIdx.x * cols;
    float scale = 1.0f / row_sum[blockIdx.x];
    for (int col = threadIdx.x; col < cols; col += BLOCK) y_row[col] *= scale;
}
