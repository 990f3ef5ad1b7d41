// What threads, warps and blocks tell one another of a row: its largest number and a sum.
#pragma once

#include "powers.cuh"

// The largest of some numbers, and the sum of their exponentials: over the power of that number, but
// where it is near to 0 as it is. Of a backward pass two sums, of magnitudes and of the numbers.
struct alignas(16) Pair {
    float max;
    double sum;
};

template <int LANES> __device__ float group_max(float value) {
#pragma unroll
    for (int offset = LANES / 2; offset > 0; offset /= 2)
        value = max_or_nan(value, __shfl_xor_sync(0xffffffff, value, offset));
    return value;
}

template <int LANES, typename T> __device__ T group_sum(T value) {
#pragma unroll
    for (int offset = LANES / 2; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffff, value, offset);
    return value;
}

// As many lanes as there are pairs, up to the next power of two and a whole warp.
__device__ constexpr int lanes_for(int pairs) {
    int lanes = 1;
    while (lanes < pairs && lanes < WARP) lanes *= 2;
    return lanes;
}

__device__ inline bool is_plain(float max) { return fabsf(max) < PLAIN_MAX || max == -INFINITY; }

// The power of two that a pair's sum is over.
__device__ inline int base_of(float max) {
    return is_plain(max) ? 0 : power_of(max);
}

// times 2^powers, which is 0 for very few
__device__ inline double scaled(double sum, int powers) {
    return sum * __hiloint2double((1023 + max(min(powers, 1000), -1000)) << 20, 0);
}

__device__ inline double rebased(const Pair& part, float max) {
    return scaled(part.sum, min(base_of(part.max) - base_of(max), 0));
}

// Of exponentials that a thread adds up, over the power of their max. Their bits merely move to
// become float64: the instruction for it would wait for the unit that makes exponentials.
template <bool SHORT> struct Sum {
    float max;
    Over over;
    double parts[2] = {0, 0};  // by turns, so that none waits for the one before
    // Many powers of two too small, so that its exponent is never negative.
    static constexpr int BEHIND = 1023 - 127 - Over::BIAS + LESS<SHORT>;
    __device__ explicit Sum(float max) : max(max), over(max) {}
    __device__ void add(int turn, float value) {  // of this bias, too
        unsigned bits = __float_as_uint(value);
        parts[turn % 2] += __hiloint2double((bits >> 3) + (Over::BIAS << 20), bits * (1u << 29));
    }
    // `add_all` adds exponentials by `exp`, which it tells whether they are all on the grid.
    template <typename Add> __device__ void take(Add add_all) {
        if (SHORT && is_on_grid(max))
            add_all(true);
        else
            add_all(false);
    }
    __device__ float exp(float number, bool on_grid) const {
        return on_grid ? exp_on_grid(number, over) : exp_over<SHORT>(number, over);
    }
    __device__ Pair pair() const {
        double sum = parts[0] + parts[1];
        int powers = BEHIND + (is_plain(max) ? over.power() : 0);
        bool none = !(fabsf(max) < NEAR);  // the row has larger numbers, or its sum is made exactly
        return {max, none ? 0 : __hiloint2double(__double2hiint(sum) + (powers << 20),
                                                 __double2loint(sum))};
    }
};

// One pair of two, or of those of LANES threads. Pairs of a backward pass have no max.
template <bool HAS_MAX> __device__ Pair joined(const Pair& a, const Pair& b) {
    if (!HAS_MAX) return {a.max + b.max, a.sum + b.sum};
    float max = max_or_nan(a.max, b.max);
    if (is_plain(a.max) && is_plain(b.max)) return {max, a.sum + b.sum};
    return {max, rebased(a, max) + rebased(b, max)};
}

template <int LANES, bool HAS_MAX> __device__ Pair group_pair(Pair mine) {
    if (!HAS_MAX) return {group_sum<LANES>(mine.max), group_sum<LANES>(mine.sum)};
    if (__all_sync(0xffffffff, is_plain(mine.max)))
        return {group_max<LANES>(mine.max), group_sum<LANES>(mine.sum)};
    float max = group_max<LANES>(mine.max);
    return {max, group_sum<LANES>(rebased(mine, max))};
}

// One pair of COUNT, by every warp that asks: in the same order each time. The lanes of a warp do
// it in groups, each group all of it.
template <int COUNT, bool HAS_MAX> __device__ Pair merge(const Pair* pairs) {
    constexpr int LANES = lanes_for(COUNT), EACH = (COUNT + LANES - 1) / LANES;
    int lane = threadIdx.x % LANES;
    Pair some[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        bool has = COUNT % LANES == 0 || lane + i * LANES < COUNT;
        some[i].max = has ? pairs[lane + i * LANES].max : HAS_MAX ? -INFINITY : 0;
        some[i].sum = has ? pairs[lane + i * LANES].sum : 0;
    }
#pragma unroll
    for (int step = 1; step < EACH; step *= 2)
#pragma unroll
        for (int i = 0; i + step < EACH; i += 2 * step)
            some[i] = joined<HAS_MAX>(some[i], some[i + step]);
    return group_pair<LANES, HAS_MAX>(some[0]);
}
