// warp_plain: LANES neighbouring threads per row, so that a block has several; nobody waits for a block.
//   x, y     (rows, cols) float32, row-major; y may be x
//   macros   LANES threads of a row, 1 to 32 of a warp
//   grid     rows * LANES / BLOCK, rounded up      block   BLOCK threads
//   shared   none                 needs   cols <= LANES * PER_THREAD
//   traffic  1 read + 1 write per element (least: 1 + 1)
//   next     a block that takes several rows in turn -> 10_warp; longer rows -> 08_fusion

constexpr unsigned ALL_LANES = 0xffffffff;

// As in 06_shuffle, but for the bits that tell the lanes of one row apart.
__device__ float lanes_max(float value) {
    for (int bit = LANES / 2; bit > 0; bit /= 2)
        value = fmaxf(value, __shfl_xor_sync(ALL_LANES, value, bit));
    return value;
}
__device__ float lanes_sum(float value) {
    for (int bit = LANES / 2; bit > 0; bit /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, bit);
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_warp_plain(const float* x, float* y, int rows, int cols) {
    long long row = (long long)blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES;
    int lane = threadIdx.x % LANES;
    int mine = row < rows ? cols : 0;  // behind the last row: no columns, but shuffles
    const float* x_row = x + row * cols;
    float* y_row = y + row * cols;

    // 1. read
    float v[PER_THREAD], thread_max = -INFINITY, thread_sum = 0.0f;
#pragma unroll
    for (int i = 0, col = lane; i < PER_THREAD; i++, col += LANES)
        v[i] = col < mine ? x_row[col] : -INFINITY;
    // 2. max and sum
#pragma unroll
    for (int i = 0; i < PER_THREAD; i++) thread_max = fmaxf(thread_max, v[i]);
    float row_max = lanes_max(thread_max);
#pragma unroll
    for (int i = 0; i < PER_THREAD; i++) thread_sum += v[i] = expf(v[i] - row_max);
    float scale = 1.0f / lanes_sum(thread_sum);
    // 3. write
#pragma unroll
    for (int i = 0, col = lane; i < PER_THREAD; i++, col += LANES)
        if (col < mine) y_row[col] = v[i] * scale;
}
