// What threads, warps and blocks tell one another of a row: its largest number and a sum.
#pragma once

// The largest of some numbers, and the sum of exp(number - max); of a backward pass 0 and its sum.
struct Pair {
    float max, sum;
};

template <int LANES> __device__ float group_max(float value) {
#pragma unroll
    for (int offset = LANES / 2; offset > 0; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
    return value;
}

template <int LANES> __device__ float group_sum(float value) {
#pragma unroll
    for (int offset = LANES / 2; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffff, value, offset);
    return value;
}

// Where nothing but -infinity was seen: exp(-infinity - 0) is 0, and exp(-infinity + infinity)
// no number.
__device__ inline float shift_of(float max) { return max == -INFINITY ? 0.0f : max; }

// One pair of COUNT, by every warp that asks: in the same order each time.
template <int COUNT> __device__ Pair merge(const Pair* pairs) {
    constexpr int EACH = (COUNT + WARP - 1) / WARP;
    int lane = threadIdx.x % WARP;
    Pair some[EACH];
    float max = -INFINITY, sum = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        some[i] = lane + i * WARP < COUNT ? pairs[lane + i * WARP] : Pair{-INFINITY, 0};
        max = fmaxf(max, some[i].max);
    }
    max = group_max<WARP>(max);
#pragma unroll
    for (int i = 0; i < EACH; i++) sum += some[i].sum * expf(some[i].max - shift_of(max));
    return {max, group_sum<WARP>(sum)};
}
