// fused for bfloat16: 16 bytes hold eight numbers, and the arithmetic stays in float32.
#include <cuda_bf16.h>

constexpr int VECTORS = 2;

__device__ float warp_sum(float value) {
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2)
        value += __shfl_xor_sync(0xffffffff, value, lanes);
    return value;
}

__device__ float2 pair(const uint4& eight, int i) {
    return __bfloat1622float2(reinterpret_cast<const __nv_bfloat162*>(&eight)[i]);
}

extern "C" __global__ void rmsnorm(const __nv_bfloat16* x, const __nv_bfloat16* weight,
                                   __nv_bfloat16* y, int rows, int cols, float eps) {
    __shared__ float partial[WARP];
    const uint4* x_row = reinterpret_cast<const uint4*>(x) + (size_t)blockIdx.x * (cols / 8);
    const uint4* weights = reinterpret_cast<const uint4*>(weight);
    uint4* y_row = reinterpret_cast<uint4*>(y) + (size_t)blockIdx.x * (cols / 8);

    uint4 v[VECTORS], w[VECTORS];
    for (int i = 0; i < VECTORS; i++) v[i] = x_row[threadIdx.x + i * blockDim.x];
    for (int i = 0; i < VECTORS; i++) w[i] = weights[threadIdx.x + i * blockDim.x];

    float squares = 0.0f;
    for (int i = 0; i < 4 * VECTORS; i++) {
        float2 f = pair(v[i / 4], i % 4);
        squares += f.x * f.x + f.y * f.y;
    }
    int lane = threadIdx.x % WARP;
    squares = warp_sum(squares);
    if (blockDim.x > WARP) {
        if (lane == 0) partial[threadIdx.x / WARP] = squares;
        __syncthreads();
        squares = warp_sum(lane < blockDim.x / WARP ? partial[lane] : 0.0f);
    }

    float scale = rsqrtf(squares / cols + eps);
    for (int i = 0; i < VECTORS; i++) {
        uint4 out;
        for (int j = 0; j < 4; j++) {
            float2 f = pair(v[i], j), g = pair(w[i], j);
            reinterpret_cast<__nv_bfloat162*>(&out)[j] =
                __floats2bfloat162_rn(f.x * scale * g.x, f.y * scale * g.y);
        }
        y_row[threadIdx.x + i * blockDim.x] = out;
    }
}
