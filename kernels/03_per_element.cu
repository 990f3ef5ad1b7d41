// per_element: one thread per element, each of them reducing its whole row again.
//   x, y     (rows, cols) float32, row-major
//   grid     one thread per element    block   any size
//   shared   none                      needs   any cols >= 1
//   traffic  2 * cols + 1 reads + 1 write per element (least: 1 + 1)
//   next     cols threads compute the same maximum and sum -> 03_naive

extern "C" __global__ void softmax_per_element(const float* __restrict__ x, float* __restrict__ y,
                                               int rows, int cols) {
    long long element = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (element >= (long long)rows * cols) return;
    const float* x_row = x + element / cols * cols;

    // 1. max
    float row_max = -INFINITY;
    for (int col = 0; col < cols; col++) row_max = fmaxf(row_max, x_row[col]);

    // 2. sum
    float row_sum = 0.0f;
    for (int col = 0; col < cols; col++) row_sum += expf(x_row[col] - row_max);

    // 3. write
    y[element] = expf(x[element] - row_max) / row_sum;
}
