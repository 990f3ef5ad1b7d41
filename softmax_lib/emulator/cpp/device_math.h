// CUDA's arithmetic beyond <math.h>: fast approximations, exact roundings, bits.
#pragma once

namespace emulator {

// The machine's fmaxf is a call; this is two instructions. A NaN loses against a number.
EMULATOR_INLINE float larger(float a, float b) { return a > b || b != b ? a : b; }
EMULATOR_INLINE float smaller(float a, float b) { return a < b || b != b ? a : b; }

// As on the GPU: 2 to the power of the rounded product, so the error grows with |x|.
EMULATOR_INLINE float fast_exp(float x) { return exp2f(x * 1.4426950408889634f); }
EMULATOR_INLINE float fast_exp10(float x) { return exp2f(x * 3.3219280948873623f); }
EMULATOR_INLINE float fast_log(float x) { return log2f(x) * 0.6931471805599453f; }
EMULATOR_INLINE float fast_pow(float x, float y) { return exp2f(y * log2f(x)); }

template <class A, class B>
using both_arithmetic = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>;

}  // namespace emulator

// Macros, because <math.h> of some systems declares functions of these names.
#define fmaxf ::emulator::larger
#define fminf ::emulator::smaller
#define __expf ::emulator::fast_exp
#define __exp10f ::emulator::fast_exp10
#define __logf ::emulator::fast_log
#define __log2f log2f
#define __powf ::emulator::fast_pow
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf

template <class A, class B, class = emulator::both_arithmetic<A, B>>
EMULATOR_INLINE auto max(A a, B b) {
    typedef std::common_type_t<A, B> C;
    if constexpr (std::is_same_v<C, float>) return fmaxf((C)a, (C)b);
    else if constexpr (std::is_floating_point_v<C>) return (C)std::fmax((C)a, (C)b);
    else return (C)a < (C)b ? (C)b : (C)a;
}
template <class A, class B, class = emulator::both_arithmetic<A, B>>
EMULATOR_INLINE auto min(A a, B b) {
    typedef std::common_type_t<A, B> C;
    if constexpr (std::is_same_v<C, float>) return fminf((C)a, (C)b);
    else if constexpr (std::is_floating_point_v<C>) return (C)std::fmin((C)a, (C)b);
    else return (C)b < (C)a ? (C)b : (C)a;
}

EMULATOR_INLINE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
EMULATOR_INLINE float fdividef(float a, float b) { return a / b; }
EMULATOR_INLINE float __fdividef(float a, float b) { return a * (1.0f / b); }
EMULATOR_INLINE float __frcp_rn(float x) { return 1.0f / x; }
EMULATOR_INLINE float __fsqrt_rn(float x) { return sqrtf(x); }
EMULATOR_INLINE float __frsqrt_rn(float x) { return 1.0f / sqrtf(x); }
EMULATOR_INLINE float __fadd_rn(float a, float b) { return a + b; }
EMULATOR_INLINE float __fsub_rn(float a, float b) { return a - b; }
EMULATOR_INLINE float __fmul_rn(float a, float b) { return a * b; }
EMULATOR_INLINE float __fdiv_rn(float a, float b) { return a / b; }
EMULATOR_INLINE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
EMULATOR_INLINE float __saturatef(float x) { return fmaxf(0.0f, fminf(x, 1.0f)); }

EMULATOR_INLINE int __float_as_int(float x) { int bits; memcpy(&bits, &x, 4); return bits; }
EMULATOR_INLINE unsigned __float_as_uint(float x) { unsigned bits; memcpy(&bits, &x, 4); return bits; }
EMULATOR_INLINE float __int_as_float(int bits) { float x; memcpy(&x, &bits, 4); return x; }
EMULATOR_INLINE float __uint_as_float(unsigned bits) { float x; memcpy(&x, &bits, 4); return x; }
EMULATOR_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
EMULATOR_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
EMULATOR_INLINE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
EMULATOR_INLINE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
EMULATOR_INLINE int __ffs(int x) { return __builtin_ffs(x); }
EMULATOR_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
EMULATOR_INLINE unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; bit++) reversed |= (x >> bit & 1u) << (31 - bit);
    return reversed;
}
EMULATOR_INLINE int __mul24(int a, int b) { return (int)((unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8)); }
EMULATOR_INLINE int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
EMULATOR_INLINE unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
