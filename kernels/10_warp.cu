// warp: LANES neighbouring threads per row, so that a block has several; nobody waits for a block.
//   x, y     (rows, cols) float32, row-major
//   macros   LANES threads of a row, 1 to 32 of a warp; TURNS rows of each group of them
//   grid     rows * LANES / (BLOCK * TURNS), rounded up      block   BLOCK threads
//   shared   none                 needs   cols <= LANES * PER_THREAD
//   traffic  1 read + 1 write per element (least: 1 + 1)
//   next     longer rows need more threads -> 08_fusion

constexpr unsigned ALL_LANES = 0xffffffff;
constexpr int ROWS = BLOCK / LANES;  // of a block at a time

// As in 06_shuffle, but for the bits that tell the lanes of one row apart.
__device__ float row_max(float value) {
    for (int bit = LANES / 2; bit > 0; bit /= 2) {
        value = fmaxf(value, __shfl_xor_sync(ALL_LANES, value, bit));
    }
    return value;
}

__device__ float row_sum(float value) {
    for (int bit = LANES / 2; bit > 0; bit /= 2) {
        value += __shfl_xor_sync(ALL_LANES, value, bit);
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_warp(const float* x, float* y, int rows, int cols) {
    int lane = threadIdx.x % LANES;
#pragma unroll 1
    for (int turn = 0; turn < TURNS; turn++) {
        long long row = ((long long)blockIdx.x * TURNS + turn) * ROWS + threadIdx.x / LANES;
        // behind the last row a group goes on, for its warp shuffles, but with a row of no columns
        int mine = row < rows ? cols : 0;
        const float* x_row = x + row * cols;
        float* y_row = y + row * cols;

        // 1. read
        float v[PER_THREAD];
#pragma unroll
        for (int i = 0; i < PER_THREAD; i++) {
            int col = lane + i * LANES;
            v[i] = col < mine ? x_row[col] : -INFINITY;
        }

        // 2. max and sum
        float thread_max = v[0], thread_sum = 0.0f;
#pragma unroll
        for (int i = 1; i < PER_THREAD; i++) thread_max = fmaxf(thread_max, v[i]);
        float max = row_max(thread_max);
#pragma unroll
        for (int i = 0; i < PER_THREAD; i++) {
            v[i] = expf(v[i] - max);
            thread_sum += v[i];  // 0 of what is not there
        }
        float scale = 1.0f / row_sum(thread_sum);

        // 3. write
#pragma unroll
        for (int i = 0; i < PER_THREAD; i++) {
            int col = lane + i * LANES;
            if (col < mine) y_row[col] = v[i] * scale;
        }
    }
}
