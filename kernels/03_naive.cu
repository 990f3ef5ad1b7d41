// naive: one thread per row, three passes over it.
//   x, y     (rows, cols) float32, row-major
//   grid     one thread per row    block   any size
//   shared   none                  needs   any cols >= 1
//   traffic  3 reads + 1 write per element (least: 1 + 1)
//   next     the first two passes can be one -> 04_online

extern "C" __global__ void softmax_naive(const float* __restrict__ x, float* __restrict__ y,
                                         int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    // 64-bit: rows * cols may pass 2^31
    const float* x_row = x + (long long)row * cols;
    float* y_row = y + (long long)row * cols;

    // 1. max
    float row_max = -INFINITY;
    for (int col = 0; col < cols; col++) row_max = fmaxf(row_max, x_row[col]);

    // 2. sum; fmaxf dropped any NaN, expf lets it back in
    float row_sum = 0.0f;
    for (int col = 0; col < cols; col++) row_sum += expf(x_row[col] - row_max);

    // 3. write; one division per row, and a multiplication per element
    float scale = 1.0f / row_sum;
    for (int col = 0; col < cols; col++) y_row[col] = expf(x_row[col] - row_max) * scale;
}
