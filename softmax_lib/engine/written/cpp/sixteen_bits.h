// Floating point in 16 bits, as bits: what cuda_fp16.h and cuda_bf16.h are made of.
#pragma once

namespace emulator {

enum class Rounding { nearest, zero, up, down };

// The bits of sign, exponent and fraction make 16. The NaN is the one that the GPU returns.
template <int fraction_bits>
struct Format {
    static constexpr int fraction = fraction_bits, bias = (1 << (14 - fraction)) - 1;
    static constexpr unsigned infinity = 0x7fffu >> fraction << fraction, nan = 0x7fff;
};
typedef Format<10> HalfFormat;
typedef Format<7> BfloatFormat;

// What a double becomes, rounded once.
template <class F>
inline uint16_t round_to(double x, Rounding rounding = Rounding::nearest) {
    uint64_t bits, magnitude;
    __builtin_memcpy(&bits, &x, 8);
    magnitude = bits & ~(uint64_t(1) << 63);
    unsigned sign = (unsigned)(bits >> 63) << 15;
    constexpr uint64_t one = uint64_t(1) << 52;  // the bit that a double leaves out
    if (magnitude > 0x7ff * one) return F::nan;
    if (magnitude == 0x7ff * one) return (uint16_t)(sign | F::infinity);
    int exponent = (int)(magnitude >> 52) - 1023 + F::bias, below = exponent < 1 ? 1 - exponent : 0;
    int shift = 52 - F::fraction + (below < 14 ? below : 14);  // by more, nothing is left anyway
    uint64_t digits = magnitude < one ? magnitude : (magnitude & (one - 1)) | one;
    uint64_t kept = digits >> shift, rest = digits & ((uint64_t(1) << shift) - 1);
    uint64_t tie = uint64_t(1) << (shift - 1);
    bool is_large = exponent >= (1 << (15 - F::fraction)) - 1;
    // `kept` has the bit that is left out, which counts as one more in the exponent
    uint64_t result = kept + ((uint64_t)(exponent > 1 ? exponent - 1 : 0) << F::fraction);
    if (is_large) result = F::infinity - 1, rest = tie + 1;
    bool away = rounding == Rounding::nearest ? rest > tie || (rest == tie && (kept & 1))
                                              : rest && rounding == (sign ? Rounding::down : Rounding::up);
    return (uint16_t)(sign | (result + away));
}

// The usual rounding of a float, which kernels do most.
template <class F>
inline uint16_t round_float(float x) {
    uint32_t bits = __float_as_uint(x), magnitude = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    if (magnitude > 0x7f800000) return F::nan;
    if constexpr (F::fraction == 7) return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    if (magnitude >= 0x47800000) return (uint16_t)(sign | F::infinity);  // 65536
    if (magnitude < 0x38800000) {  // a subnormal half: the addition leaves its multiples in the last places
        return (uint16_t)(sign | (__float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3f000000));
    }
    return (uint16_t)(sign | ((magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13));
}

template <class F>
EMULATOR_INLINE float to_float(uint16_t bits) {
    if constexpr (F::fraction == 7) return __uint_as_float((uint32_t)bits << 16);
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = (uint32_t)(bits & 0x7fff) << 13;
    if (rest > 0x0f800000) return __uint_as_float(0x7fffffff);  // no number
    if (rest == 0x0f800000) return __uint_as_float(sign | 0x7f800000);
    return __uint_as_float(sign | __float_as_uint(__uint_as_float(rest) * 0x1p112f));
}

// An integer as a double that rounds to the same: bits far below any last place are run together.
template <class Integer>
EMULATOR_INLINE double for_rounding(Integer x) {
    uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    if (size >> 53) size = (size & ~uint64_t(0xfff)) | uint64_t((size & 0xfff) != 0) << 11;
    double rounds_so = (double)size;
    return x < 0 ? -rounds_so : rounds_so;
}

// a * b + c so that rounding it again is right. The product is exact; where the sum is not, its last
// bit is made odd, which tells on which side of the sum the exact one lies.
inline double fused(double a, double b, double c) {
    double product = a * b, sum = product + c;
    double of_c = sum - product, rest = (product - (sum - of_c)) + (c - of_c);
    long long bits = __double_as_longlong(sum);
    if (rest != 0 && rest == rest && sum - sum == 0 && !(bits & 1)) {
        bits += (rest > 0) == (sum > 0) ? 1 : -1;
    }
    return __longlong_as_double(bits);
}

}  // namespace emulator

// How sixteen_bit_numbers.h makes the names of functions.
#define EMULATOR_JOIN_(a, b, c) a##b##c
#define EMULATOR_JOIN(a, b, c) EMULATOR_JOIN_(a, b, c)
#define NAME_(before, after) EMULATOR_JOIN(before, WORD_, after)
#define PAIR_NAME_(before, after) EMULATOR_JOIN(before, WORD_, 2##after)
