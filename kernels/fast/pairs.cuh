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

// As many lanes as there are pairs, up to the next power of two and a whole warp.
__device__ constexpr int lanes_for(int pairs) {
    int lanes = 1;
    while (lanes < pairs && lanes < WARP) lanes *= 2;
    return lanes;
}

// One pair of COUNT, by every warp that asks: in the same order each time. The lanes of a warp do
// it in groups, each group all of it. Pairs of a backward pass have no max.
template <int COUNT, bool HAS_MAX> __device__ Pair merge(const Pair* pairs) {
    constexpr int LANES = lanes_for(COUNT), EACH = (COUNT + LANES - 1) / LANES;
    int lane = threadIdx.x % LANES;
    Pair some[EACH];
    float max = HAS_MAX ? -INFINITY : 0, sum = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        some[i] = lane + i * LANES < COUNT ? pairs[lane + i * LANES] : Pair{-INFINITY, 0};
        if (HAS_MAX) max = fmaxf(max, some[i].max);
    }
    if (HAS_MAX) max = group_max<LANES>(max);
#pragma unroll
    for (int i = 0; i < EACH; i++)
        sum += HAS_MAX ? some[i].sum * expf(some[i].max - shift_of(max)) : some[i].sum;
    return {max, group_sum<LANES>(sum)};
}
