// From one type to another: rounded in a stated mode, out of range to the nearest end as on a GPU,
// or the same bits read anew.
#pragma once

#include "saturation.h"

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

EMULATOR_IN_EACH_MODE(float, __int2float, (int x), (hide(x)), (float)x)
EMULATOR_IN_EACH_MODE(float, __uint2float, (unsigned x), (hide(x)), (float)x)
EMULATOR_IN_EACH_MODE(float, __ll2float, (long long x), (hide(x)), (float)x)
EMULATOR_IN_EACH_MODE(float, __ull2float, (unsigned long long x), (hide(x)), (float)x)
EMULATOR_IN_EACH_MODE(double, __ll2double, (long long x), (hide(x)), (double)x)
EMULATOR_IN_EACH_MODE(double, __ull2double, (unsigned long long x), (hide(x)), (double)x)
EMULATOR_IN_EACH_MODE(float, __double2float, (double x), (hide(x)), (float)x)
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
