// A block a row: neighbours read neighbours, and shuffles add up each warp's part.
__device__ float warp_sum(float value) {
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2)
        value += __shfl_xor_sync(0xffffffff, value, lanes);
    return value;
}

extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y,
                                   int rows, int cols, float eps) {
    __shared__ float partial[WARP];
    const float* x_row = x + (size_t)blockIdx.x * cols;
    float* y_row = y + (size_t)blockIdx.x * cols;

    float squares = 0.0f;
    for (int col = threadIdx.x; col < cols; col += blockDim.x)
        squares += x_row[col] * x_row[col];

    int lane = threadIdx.x % WARP;
    squares = warp_sum(squares);
    if (lane == 0) partial[threadIdx.x / WARP] = squares;
    __syncthreads();
    squares = warp_sum(lane < blockDim.x / WARP ? partial[lane] : 0.0f);

    float scale = rsqrtf(squares / cols + eps);
    for (int col = threadIdx.x; col < cols; col += blockDim.x)
        y_row[col] = x_row[col] * scale * weight[col];
}
