// A block a row, 16 bytes a load, and four loads in flight before the first is used.
constexpr int IN_FLIGHT = 4;

__device__ float warp_sum(float value) {
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2)
        value += __shfl_xor_sync(0xffffffff, value, lanes);
    return value;
}

extern "C" __global__ void rmsnorm(const float4* x, const float4* weight, float4* y,
                                   int rows, int cols, float eps) {
    __shared__ float partial[WARP];
    int vectors = cols / 4;
    const float4* x_row = x + (size_t)blockIdx.x * vectors;
    float4* y_row = y + (size_t)blockIdx.x * vectors;

    float squares = 0.0f;
    for (int first = threadIdx.x; first < vectors; first += IN_FLIGHT * blockDim.x) {
        float4 v[IN_FLIGHT];
        for (int i = 0; i < IN_FLIGHT; i++) {
            int at = first + i * blockDim.x;
            v[i] = at < vectors ? x_row[at] : float4{0, 0, 0, 0};
        }
        for (int i = 0; i < IN_FLIGHT; i++)
            squares += v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z + v[i].w * v[i].w;
    }
    int lane = threadIdx.x % WARP;
    squares = warp_sum(squares);
    if (lane == 0) partial[threadIdx.x / WARP] = squares;
    __syncthreads();
    squares = warp_sum(lane < blockDim.x / WARP ? partial[lane] : 0.0f);

    float scale = rsqrtf(squares / cols + eps);
    for (int at = threadIdx.x; at < vectors; at += blockDim.x) {
        float4 v = x_row[at], w = weight[at];
        y_row[at] = {v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w};
    }
}
