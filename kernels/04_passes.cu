// online_passes: 04_online with a launch per pass, so that each of them can be timed by itself.
//   x, y     (rows, cols) float32, row-major; row_max, row_sum (rows,) float32 scratch
//   grid     one thread per row    block   any size
//   shared   none                  needs   any cols >= 1
//   traffic  2 reads + 1 write per element (least: 1 + 1)
//   next     together they take what 04_online takes -> 04_online

// 1. max and sum
extern "C" __global__ void softmax_passes_online(const float* __restrict__ x,
                                                 float* __restrict__ row_max,
                                                 float* __restrict__ row_sum, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* x_row = x + (long long)row * cols;
    float top = -INFINITY, total = 0.0f;
    for (int col = 0; col < cols; col++) {
        float value = x_row[col];
        if (value > top) {
            total *= expf(top - value);
            top = value;
        }
        if (value != -INFINITY) total += expf(value - top);
    }
    row_max[row] = top;
    row_sum[row] = total;
}

// 2. write
extern "C" __global__ void softmax_passes_write(const float* __restrict__ x,
                                                const float* __restrict__ row_max,
                                                const float* __restrict__ row_sum,
                                                float* __restrict__ y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* x_row = x + (long long)row * cols;
    float* y_row = y + (long long)row * cols;
    float top = row_max[row], scale = 1.0f / row_sum[row];
    for (int col = 0; col < cols; col++) y_row[col] = expf(x_row[col] - top) * scale;
}
