// shuffle_plain: 06_shuffle in as few lines as it takes: the same loads, the same results.
//   x, y     (rows, cols) float32, row-major
//   grid     rows                 block   BLOCK threads, a multiple of WARP
//   shared   2 floats per warp    needs   any cols >= 1
//   traffic  2 reads + 1 write per element (least: 1 + 1)
//   next     a thread waits for one load before it asks for the next -> 07_float4_aligned

constexpr unsigned ALL_LANES = 0xffffffff;
constexpr int WARPS = BLOCK / WARP;

__device__ float warp_max(float value) {
    for (int bit = WARP / 2; bit > 0; bit /= 2)
        value = fmaxf(value, __shfl_xor_sync(ALL_LANES, value, bit));
    return value;
}
__device__ float warp_sum(float value) {
    for (int bit = WARP / 2; bit > 0; bit /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, bit);
    return value;
}

extern "C" __global__ void softmax_shuffle_plain(const float* x, float* y, int rows, int cols) {
    __shared__ float maxima[WARPS], sums[WARPS];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const float* x_row = x + (long long)blockIdx.x * cols;
    float* y_row = y + (long long)blockIdx.x * cols;

    // 1. max and sum of this thread's columns
    float thread_max = -INFINITY, thread_sum = 0.0f;
    for (int col = threadIdx.x; col < cols; col += blockDim.x) {
        float value = x_row[col];
        if (value > thread_max) thread_sum *= expf(thread_max - value), thread_max = value;
        if (value != -INFINITY) thread_sum += expf(value - thread_max);
    }
    // 2. max of the row: each warp leaves its own in shared memory, then all warps read them all
    float warp_value = warp_max(thread_max);
    if (lane == 0) maxima[warp] = warp_value;
    __syncthreads();
    float row_max = warp_max(lane < WARPS ? maxima[lane] : -INFINITY);
    // 3. sum of the row, likewise
    warp_value = warp_sum(thread_sum * expf(thread_max - row_max));
    if (lane == 0) sums[warp] = warp_value;
    __syncthreads();
    float scale = 1.0f / warp_sum(lane < WARPS ? sums[lane] : 0.0f);
    // 4. write
    for (int col = threadIdx.x; col < cols; col += blockDim.x)
        y_row[col] = expf(x_row[col] - row_max) * scale;
}
