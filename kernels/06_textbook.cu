// textbook: 06_shuffle as textbooks print it: a division per element, five barriers per row.
//   x, y     (rows, cols) float32, row-major
//   grid     rows          block   BLOCK threads, a multiple of WARP
//   shared   1 float per warp  needs   any cols >= 1
//   traffic  2 reads + 1 write per element (least: 1 + 1)
//   next     the division and three of the barriers are not needed -> 06_shuffle

constexpr unsigned ALL_LANES = 0xffffffff;
constexpr int WARPS = BLOCK / WARP;

__device__ float warp_max(float value) {
    for (int delta = WARP / 2; delta > 0; delta /= 2) {
        value = fmaxf(value, __shfl_down_sync(ALL_LANES, value, delta));
    }
    return value;  // right in lane 0 alone: the others keep what they had when no lane was left
}

__device__ float warp_sum(float value) {
    for (int delta = WARP / 2; delta > 0; delta /= 2) {
        value += __shfl_down_sync(ALL_LANES, value, delta);
    }
    return value;
}

extern "C" __global__ void softmax_textbook(const float* __restrict__ x, float* __restrict__ y,
                                            int rows, int cols) {
    __shared__ float partial[WARPS];
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

    // 2. max of the row: one value per warp, then the first warp reduces those
    float value = warp_max(thread_max);
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = warp_max(lane < WARPS ? partial[lane] : -INFINITY);
        if (lane == 0) partial[0] = value;
    }
    __syncthreads();
    float row_max = partial[0];
    __syncthreads();  // everyone has read partial[0] before it is overwritten

    // 3. sum of the row
    value = warp_sum(thread_sum * expf(thread_max - row_max));
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = warp_sum(lane < WARPS ? partial[lane] : 0.0f);
        if (lane == 0) partial[0] = value;
    }
    __syncthreads();
    float row_sum = partial[0];

    // 4. write
    for (int col = tid; col < cols; col += blockDim.x) {
        y_row[col] = expf(x_row[col] - row_max) / row_sum;
    }
}
