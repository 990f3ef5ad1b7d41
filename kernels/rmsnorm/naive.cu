// A thread a row, two passes: sum of squares, then the row once more.
extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y,
                                   int rows, int cols, float eps) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* x_row = x + (size_t)row * cols;
    float* y_row = y + (size_t)row * cols;

    float squares = 0.0f;
    for (int col = 0; col < cols; col++) squares += x_row[col] * x_row[col];
    float scale = rsqrtf(squares / cols + eps);
    for (int col = 0; col < cols; col++) y_row[col] = x_row[col] * scale * weight[col];
}
