// Floating point in 16 bits, as bits: what cuda_fp16.h and cuda_bf16.h are made of.
#pragma once
#include "../../cpp/conversions.h"

namespace emulator {

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

// An integer as a double that rounds to the same: bits far below any last place are run together.
template <class Integer>
EMULATOR_INLINE double for_rounding(Integer x) {
    uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    if (size >> 53) size = (size & ~uint64_t(0xfff)) | uint64_t((size & 0xfff) != 0) << 11;
    double rounds_so = (double)size;
    return x < 0 ? -rounds_so : rounds_so;
}

}  // namespace emulator

// How sixteen_bit_numbers.h makes the names of functions.
#define EMULATOR_JOIN_(a, b, c) a##b##c
#define EMULATOR_JOIN(a, b, c) EMULATOR_JOIN_(a, b, c)
#define NAME_(before, after) EMULATOR_JOIN(before, WORD_, after)
#define PAIR_NAME_(before, after) EMULATOR_JOIN(before, WORD_, 2##after)
