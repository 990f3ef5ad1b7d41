// Arithmetic and conversions in stated rounding modes, a function of each: rn, rz, ru and rd.
#pragma once
#include "special_functions.h"

// A function that some C library declares as its own, as which it has to be defined here.
#if defined(__APPLE__)
#define EMULATOR_NOEXCEPT
#else
#define EMULATOR_NOEXCEPT noexcept
#endif
#define EMULATOR_C extern "C" inline __attribute__((always_inline))
// The same for one that calls what it replaces: it must never stand on its own.
#define EMULATOR_C_OVER extern "C" inline __attribute__((always_inline, gnu_inline))

namespace emulator {

// The compiler knows nothing of rounding modes and would move arithmetic out of one, or do it
// itself. What goes in and what comes out of it passes through here, which neither is moved.
#if defined(__x86_64__)
#define EMULATOR_HIDE(value) asm volatile("" : "+x"(value)::"memory")
#else
#define EMULATOR_HIDE(value) asm volatile("" : "+w"(value)::"memory")
#endif
EMULATOR_INLINE void hide(float& value) { EMULATOR_HIDE(value); }
EMULATOR_INLINE void hide(double& value) { EMULATOR_HIDE(value); }
template <class Integer>
EMULATOR_INLINE void hide(Integer& value) { asm volatile("" : "+r"(value)::"memory"); }

struct RoundingMode {
    int before = fegetround();
    __attribute__((always_inline)) RoundingMode(int mode) { fesetround(mode); }
    __attribute__((always_inline)) ~RoundingMode() { fesetround(before); }
};

}  // namespace emulator

// (float, __fadd, (float a, float b), (hide(a), hide(b)), a + b) makes __fadd_rn, __fadd_rz, ...
#define EMULATOR_IN_EACH_MODE(T, name, parameters, hidden, expression)              \
    EMULATOR_INLINE T name##_rn parameters { return expression; }                   \
    EMULATOR_IN_MODE(T, name##_rz, FE_TOWARDZERO, parameters, hidden, expression)   \
    EMULATOR_IN_MODE(T, name##_ru, FE_UPWARD, parameters, hidden, expression)       \
    EMULATOR_IN_MODE(T, name##_rd, FE_DOWNWARD, parameters, hidden, expression)
#define EMULATOR_IN_MODE(T, name, mode, parameters, hidden, expression) \
    EMULATOR_INLINE T name parameters {                                 \
        using emulator::hide;                                           \
        emulator::RoundingMode scope(mode);                             \
        hidden;                                                         \
        T result = expression;                                          \
        hide(result);                                                   \
        return result;                                                  \
    }

// (double, d, , __fma) makes __dadd_rn, ..., and __fma_rn, ...
#define EMULATOR_ARITHMETIC(T, d, f, fma)                                                                \
    EMULATOR_IN_EACH_MODE(T, __##d##add, (T a, T b), (hide(a), hide(b)), a + b)                          \
    EMULATOR_IN_EACH_MODE(T, __##d##sub, (T a, T b), (hide(a), hide(b)), a - b)                          \
    EMULATOR_IN_EACH_MODE(T, __##d##mul, (T a, T b), (hide(a), hide(b)), a * b)                          \
    EMULATOR_IN_EACH_MODE(T, __##d##div, (T a, T b), (hide(a), hide(b)), a / b)                          \
    EMULATOR_IN_EACH_MODE(T, __##d##rcp, (T a), (hide(a)), 1 / a)                                        \
    EMULATOR_IN_EACH_MODE(T, __##d##sqrt, (T a), (hide(a)), __builtin_sqrt##f(a))                        \
    EMULATOR_FUSED(T, f, fma)
#define EMULATOR_FUSED(T, f, name) \
    EMULATOR_IN_EACH_MODE(T, name, (T a, T b, T c), (hide(a), hide(b), hide(c)), __builtin_fma##f(a, b, c))
EMULATOR_ARITHMETIC(float, f, f, __fmaf) EMULATOR_ARITHMETIC(double, d, , __fma)
EMULATOR_FUSED(float, f, __fmaf_ieee)
// By double: right for every float, as a search through all of them shows.
EMULATOR_INLINE float __frsqrt_rn(float x) { return (float)(1.0 / __builtin_sqrt(x)); }

// ---- from one type to another: out of range to the nearest end as on a GPU, or the same bits read anew

// (float, float, f, int, int) makes __float2int_rn, __float2int_rz, ...
#define EMULATOR_TO_INTEGER(Float, from, f, T, to)                                                             \
    EMULATOR_INLINE T __##from##2##to##_rn(Float x) {                                                \
        return emulator::saturate<T>(__builtin_nearbyint##f(x));                                               \
    }                                                                                                          \
    EMULATOR_INLINE T __##from##2##to##_rz(Float x) { return emulator::saturate<T>(__builtin_trunc##f(x)); }   \
    EMULATOR_INLINE T __##from##2##to##_ru(Float x) { return emulator::saturate<T>(__builtin_ceil##f(x)); }    \
    EMULATOR_INLINE T __##from##2##to##_rd(Float x) { return emulator::saturate<T>(__builtin_floor##f(x)); }
#define EMULATOR_TO_EACH_INTEGER(Float, from, f)               \
    EMULATOR_TO_INTEGER(Float, from, f, int, int)              \
    EMULATOR_TO_INTEGER(Float, from, f, unsigned, uint)        \
    EMULATOR_TO_INTEGER(Float, from, f, long long, ll)         \
    EMULATOR_TO_INTEGER(Float, from, f, unsigned long long, ull)
EMULATOR_TO_EACH_INTEGER(float, float, f)
EMULATOR_TO_EACH_INTEGER(double, double, )

#define EMULATOR_TO_FLOAT(From, from, T) EMULATOR_IN_EACH_MODE(T, __##from##2##T, (From x), (hide(x)), (T)x)
EMULATOR_TO_FLOAT(int, int, float) EMULATOR_TO_FLOAT(unsigned, uint, float) EMULATOR_TO_FLOAT(double, double, float)
EMULATOR_TO_FLOAT(long long, ll, float) EMULATOR_TO_FLOAT(unsigned long long, ull, float)
EMULATOR_TO_FLOAT(long long, ll, double) EMULATOR_TO_FLOAT(unsigned long long, ull, double)
EMULATOR_INLINE double __int2double_rn(int x) { return x; }
EMULATOR_INLINE double __uint2double_rn(unsigned x) { return x; }

#define EMULATOR_SAME_BITS(name, From, To) \
    EMULATOR_INLINE To name(From from) { To to; __builtin_memcpy(&to, &from, sizeof to); return to; }
EMULATOR_SAME_BITS(__float_as_int, float, int) EMULATOR_SAME_BITS(__float_as_uint, float, unsigned)
EMULATOR_SAME_BITS(__int_as_float, int, float) EMULATOR_SAME_BITS(__uint_as_float, unsigned, float)
EMULATOR_SAME_BITS(__double_as_longlong, double, long long)
EMULATOR_SAME_BITS(__longlong_as_double, long long, double)

EMULATOR_INLINE int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
EMULATOR_INLINE int __double2loint(double x) { return (int)__double_as_longlong(x); }
EMULATOR_INLINE double __hiloint2double(int high, int low) {
    return __longlong_as_double((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}
