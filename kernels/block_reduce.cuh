// block_reduce: what 06_shuffle taught, for the kernels after it.

constexpr unsigned ALL_LANES = 0xffffffff;
constexpr int WARPS = BLOCK / WARP;

__device__ inline float warp_max(float value) {
    for (int bit = WARP / 2; bit > 0; bit /= 2) {
        value = fmaxf(value, __shfl_xor_sync(ALL_LANES, value, bit));
    }
    return value;
}

__device__ inline float warp_sum(float value) {
    for (int bit = WARP / 2; bit > 0; bit /= 2) {
        value += __shfl_xor_sync(ALL_LANES, value, bit);
    }
    return value;
}

// The maximum over the block's threads, in every thread; `partial` is WARPS floats of shared memory.
__device__ inline float block_max(float value, float* partial) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    value = warp_max(value);
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    return warp_max(lane < WARPS ? partial[lane] : -INFINITY);
}

// The sum over the block's threads, in every thread; `partial` is WARPS floats of shared memory.
__device__ inline float block_sum(float value, float* partial) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    value = warp_sum(value);
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    return warp_sum(lane < WARPS ? partial[lane] : 0.0f);
}
