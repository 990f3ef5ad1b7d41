// Numbers that become numbers of another kind as the hardware rounds them: floats of 16 bits, and whole numbers.
//
// Kernels are compiled with it too. It is in their runtime's namespace, since a source may have any other name.
#pragma once
#include <cstdint>
#include <limits>

namespace emulator {

#define EMULATOR_ALWAYS_INLINE inline __attribute__((always_inline, no_sanitize("float-cast-overflow")))

template <class To, class From> EMULATOR_ALWAYS_INLINE To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

// ---- floats of 16 bits

enum class Rounding : uint32_t { nearest, down, up, zero };

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
    uint64_t bits = bits_as<uint64_t>(x), magnitude = bits & ~(uint64_t(1) << 63);
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

template <class F>
EMULATOR_ALWAYS_INLINE float to_float(uint16_t bits) {
    if constexpr (F::fraction == 7) return bits_as<float>((uint32_t)bits << 16);
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = (uint32_t)(bits & 0x7fff) << 13;
    if (rest > 0x0f800000) return bits_as<float>(0x7fffffff);  // no number
    if (rest == 0x0f800000) return bits_as<float>(sign | 0x7f800000);
    return bits_as<float>(sign | bits_as<uint32_t>(bits_as<float>(rest) * 0x1p112f));
}

// a + b in double precision, where what is lost leaves the last bit odd: rounded once more to fewer
// bits, in whatever direction, the sum is as if it had been rounded once.
EMULATOR_ALWAYS_INLINE double add_to_odd(double a, double b) {
    double sum = a + b, of_b = sum - a, lost = (a - (sum - of_b)) + (b - of_b);
    uint64_t bits = bits_as<uint64_t>(sum);
    // towards what was lost: a step away from zero where it has the sum's sign
    uint64_t step = (lost > 0.0) == (sum > 0.0) ? bits + 1 : bits - 1;
    bool is_inexact = ((lost < 0.0) | (lost > 0.0)) & !(bits & 1);  // of infinities nothing is lost, but a NaN
    return bits_as<double>(is_inexact ? step : bits);
}

// ---- whole numbers

// What no number of type T is becomes, as cvt does it: zero, but 1 in the highest place where
// T has 64 bits or the float has.
template <class T, class Float>
constexpr T not_a_number = sizeof(T) == 8 || sizeof(Float) == 8 ? T(1) << (8 * sizeof(T) - 1) : T(0);

template <class T, class Float>
EMULATOR_ALWAYS_INLINE T saturate(Float integral) {
    constexpr T lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
    constexpr Float end = Float(highest / 2 + 1) * 2;  // one more than the highest
    if (integral != integral) return not_a_number<T, Float>;
    if (integral >= end) return highest;
    return integral < Float(lowest) ? lowest : T(integral);
}

}  // namespace emulator
