// A block a row of 16 * blockDim.x floats: one read, all of it in flight before the first use.
constexpr int VECTORS = 4;

__device__ float warp_sum(float value) {
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2)
        value += __shfl_xor_sync(0xffffffff, value, lanes);
    return value;
}

extern "C" __global__ void rmsnorm(const float4* x, const float4* weight, float4* y,
                                   int rows, int cols, float eps) {
    __shared__ float partial[WARP];
    const float4* x_row = x + (size_t)blockIdx.x * (cols / 4);
    float4* y_row = y + (size_t)blockIdx.x * (cols / 4);

    float4 v[VECTORS], w[VECTORS];
    for (int i = 0; i < VECTORS; i++) v[i] = x_row[threadIdx.x + i * blockDim.x];
    for (int i = 0; i < VECTORS; i++) w[i] = weight[threadIdx.x + i * blockDim.x];

    float squares = 0.0f;
    for (int i = 0; i < VECTORS; i++)
        squares += v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z + v[i].w * v[i].w;
    int lane = threadIdx.x % WARP;
    squares = warp_sum(squares);
    if (blockDim.x > WARP) {
        if (lane == 0) partial[threadIdx.x / WARP] = squares;
        __syncthreads();
        squares = warp_sum(lane < blockDim.x / WARP ? partial[lane] : 0.0f);
    }

    float scale = rsqrtf(squares / cols + eps);
    for (int i = 0; i < VECTORS; i++)
        y_row[threadIdx.x + i * blockDim.x] = {
            v[i].x * scale * w[i].x, v[i].y * scale * w[i].y,
            v[i].z * scale * w[i].z, v[i].w * scale * w[i].w};
}
