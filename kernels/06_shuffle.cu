// shuffle: one block per row; lanes of a warp meet in registers, warps once in shared memory.
//   x, y     (rows, cols) float32, row-major
//   grid     rows                 block   BLOCK threads, a multiple of WARP
//   shared   2 floats per warp    needs   any cols >= 1
//   traffic  2 reads + 1 write per element (least: 1 + 1)
//   next     a thread waits for one load before it asks for the next -> 07_float4

constexpr unsigned ALL_LANES = 0xffffffff;
constexpr int WARPS = BLOCK / WARP;

// Each lane takes in the value of the lane whose number differs from its own by one bit, for each
// of the five bits; then all 32 lanes hold the same result.
__device__ float warp_max(float value) {
    for (int bit = WARP / 2; bit > 0; bit /= 2) {
        value = fmaxf(value, __shfl_xor_sync(ALL_LANES, value, bit));
    }
    return value;
}

__device__ float warp_sum(float value) {
    for (int bit = WARP / 2; bit > 0; bit /= 2) {
        value += __shfl_xor_sync(ALL_LANES, value, bit);
    }
    return value;
}

extern "C" __global__ void softmax_shuffle(const float* __restrict__ x, float* __restrict__ y,
                                           int rows, int cols) {
    __shared__ float maxima[WARPS], sums[WARPS];
    int tid = threadIdx.x, lane = tid % WARP, warp = tid / WARP;
    const float* x_row = x + (long long)blockIdx.x * cols;
    float* y_row = y + (long long)blockIdx.x * cols;

    // 1. max and sum of this thread's columns
    float thread_max = -INFINITY, thread_sum = 0.0f;
    for (int col = tid; col < cols; col += blockDim.x) {
        float value = x_row[col];
        if (value > thread_max) {
            thread_sum *= expf(thread_max - value);
            thread_max = value;
        }
        if (value != -INFINITY) thread_sum += expf(value - thread_max);
    }

    // 2. max of the row: one value per warp, from which every warp finishes by itself
    float warp_value = warp_max(thread_max);
    if (lane == 0) maxima[warp] = warp_value;
    __syncthreads();
    float row_max = warp_max(lane < WARPS ? maxima[lane] : -INFINITY);

    // 3. sum of the row, in an array of its own, so that nothing in use is overwritten
    warp_value = warp_sum(thread_sum * expf(thread_max - row_max));
    if (lane == 0) sums[warp] = warp_value;
    __syncthreads();
    float scale = 1.0f / warp_sum(lane < WARPS ? sums[lane] : 0.0f);

    // 4. write
    for (int col = tid; col < cols; col += blockDim.x) {
        y_row[col] = expf(x_row[col] - row_max) * scale;
    }
}
