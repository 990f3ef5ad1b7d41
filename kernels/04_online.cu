// online: one thread per row; a running maximum and sum in one pass, then the write.
//   x, y     (rows, cols) float32, row-major
//   grid     one thread per row    block   any size
//   shared   none                  needs   any cols >= 1
//   traffic  2 reads + 1 write per element (least: 1 + 1)
//   next     neighbouring threads read addresses a row apart -> 05_shared

extern "C" __global__ void softmax_online(const float* __restrict__ x, float* __restrict__ y,
                                          int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* x_row = x + (long long)row * cols;
    float* y_row = y + (long long)row * cols;

    // 1. max and sum: a new maximum rescales what was summed under the old one
    float row_max = -INFINITY, row_sum = 0.0f;
    for (int col = 0; col < cols; col++) {
        float value = x_row[col];
        if (value > row_max) {
            row_sum *= expf(row_max - value);
            row_max = value;
        }
        // -inf adds nothing, and before any maximum is known -inf - -inf would be NaN
        if (value != -INFINITY) row_sum += expf(value - row_max);
    }

    // 2. write
    float scale = 1.0f / row_sum;
    for (int col = 0; col < cols; col++) y_row[col] = expf(x_row[col] - row_max) * scale;
}
