// Exponentials that depend on their numbers alone. Each is computed over a power of two of its own,
// and brought over a row's by another factor of this kind, which rounds nothing: whatever part of
// the row was seen before, and in whatever order, they have the same bits.
#pragma once

#include "numbers.cuh"

constexpr float LOG2_E = 1.4426950408889634f, LOG2_E_REST = 1.9259629911e-8f;
constexpr float ROUNDER = 12582912.0f;  // 1.5 * 2^23: whole numbers below 2^22 are its last bits
constexpr float NEAR = 1 << 20, FAR = NEAR - 256;
constexpr float GRID = 384, GRID_MAX = 88;  // 1.5 * 2^8: 2^7 to either side, which are 88 * log2(e), are whole 2^-15
constexpr float PLAIN_MAX = 500;  // exponentials of what is no further from 0 have their place in float64

// The emulator has no PTX.
#ifdef __CUDACC_RTC__
__device__ inline float exp2_or_zero(float value) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(value));
    return power;
}
__device__ inline float times_or_zero(float a, float b) {
    float product;
    asm("mul.ftz.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
    return product;
}
__device__ inline float add_or_zero(float a, float b, float c) {
    float sum;
    asm("fma.rn.ftz.f32 %0, %1, %2, %3;" : "=f"(sum) : "f"(a), "f"(b), "f"(c));
    return sum;
}
#else
__device__ inline float or_zero(float value) { return fabsf(value) < 0x1p-126f ? 0 : value; }
__device__ inline float exp2_or_zero(float value) { return or_zero(exp2f(value)); }
__device__ inline float times_or_zero(float a, float b) { return or_zero(a * b); }
__device__ inline float add_or_zero(float a, float b, float c) { return or_zero(fmaf(a, b, c)); }
#endif

// Where nothing but -infinity was seen: exp(-infinity - 0) is 0, and exp(-infinity + infinity)
// no number.
__device__ inline float shift_of(float max) { return max == -INFINITY ? 0.0f : max; }

// The power of two over which exponentials are taken where `max` is the largest number: so that this
// one's is between 1.4 and 2.9.
__device__ inline int power_of(float max) {
    float near = fmaxf(shift_of(max), -2 * NEAR);  // below it there are no bits of ROUNDER's kind
    return __float_as_int(fmaf(near, LOG2_E, ROUNDER)) - __float_as_int(ROUNDER) - 1;
}

// That power, for all numbers of which `max` is the largest; of what is far from 0 there are none.
struct Over {
    static constexpr int BIAS = 127;  // of a float's exponent
    float rounder;                    // leaves a number's power, over this one and with that bias
    Over() = default;
    __device__ explicit Over(float max) {
        float rounded = fmaf(fabsf(max) < NEAR ? max : 0, LOG2_E, ROUNDER);
        rounder = 2 * ROUNDER + (BIAS + 1) - rounded;
    }
    __device__ int power() const { return __float_as_int(ROUNDER) + BIAS - __float_as_int(rounder); }
};

// For results of 16 bits a number's power of two is rounded to whole 2^-15; to take a row's from that
// rounds nothing. What is left is below 0, for an approximate exp2 of two numbers of one sign and a
// whole number apart differs by a power of two alone: the row's power is one of LESS too many.
template <bool SHORT> constexpr int LESS = SHORT ? 2 : 0;
__device__ inline bool is_on_grid(float max) { return fabsf(max) < GRID_MAX || max == -INFINITY; }
__device__ inline float exp_on_grid(float of, Over over) {
    return exp2_or_zero(fmaf(of, LOG2_E, GRID) - (GRID + (over.power() + LESS<true>)));
}

// An exponential over 2^LESS: a number between 0.7 and 1.5, and a power of two.
template <bool SHORT> __device__ float exp_over(float of, Over over) {
    // of what is smaller nothing is left beside a number that is on the grid
    if (SHORT && of >= -2 * GRID_MAX && of < GRID_MAX) return exp_on_grid(of, over);
    float power = fmaxf(fmaf(of, LOG2_E, over.rounder), ROUNDER + LESS<SHORT> + 1);
    float rest = fmaf(of, LOG2_E, over.rounder - power);
    unsigned bits = (__float_as_uint(power) - LESS<SHORT>) * (1u << 23);
    return times_or_zero(exp2_or_zero(fmaf(of, LOG2_E_REST, rest)), __uint_as_float(bits));
}
