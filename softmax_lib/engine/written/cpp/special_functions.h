// What kernels' headers and the runtime share: the functions of float_math.h that are too long to compile with
// every kernel, or in no C library.
#pragma once
#include "../../cpp/conversions.h"

// ---- 1. in no C library, or not in all

#define EMULATOR_ONLY_CUDA(DO)                                                                    \
    DO(rcbrt) DO(exp10) DO(sinpi) DO(cospi) DO(erfinv) DO(erfcinv) DO(erfcx) DO(normcdf)          \
    DO(normcdfinv) DO(j0) DO(j1) DO(y0) DO(y1) DO(cyl_bessel_i0) DO(cyl_bessel_i1)
#define EMULATOR_DECLARE(name) EMULATOR_API double emulator_##name(double) EMULATOR_CONSTANT;
EMULATOR_ONLY_CUDA(EMULATOR_DECLARE)
EMULATOR_API double emulator_jn(int n, double x) EMULATOR_CONSTANT;
EMULATOR_API double emulator_yn(int n, double x) EMULATOR_CONSTANT;
// The length of a vector, and one over it; those of fewer members have zeros at the end.
EMULATOR_API double emulator_norm(double a, double b, double c, double d) EMULATOR_CONSTANT;
EMULATOR_API double emulator_rnorm(double a, double b, double c, double d) EMULATOR_CONSTANT;

// ---- 2. in every C library, but less exact than CUDA promises, or other at the edges

#define EMULATOR_OF_DOUBLE(DO) DO(cbrt) DO(log10) DO(cosh) DO(tanh) DO(tgamma) DO(lgamma)
EMULATOR_OF_DOUBLE(EMULATOR_DECLARE)
#define EMULATOR_OF_FLOAT(DO) DO(erfcf) DO(tgammaf) DO(lgammaf)
#define EMULATOR_DECLARE_FLOAT(name) EMULATOR_API float emulator_##name(float) EMULATOR_CONSTANT;
EMULATOR_OF_FLOAT(EMULATOR_DECLARE_FLOAT)
#define EMULATOR_TO_INTEGER_TYPES(DO)                                                              \
    DO(long, lrintf, float, nearbyint) DO(long, lrint, double, nearbyint)                          \
    DO(long, lroundf, float, round) DO(long, lround, double, round)                                \
    DO(long long, llrintf, float, nearbyint) DO(long long, llrint, double, nearbyint)              \
    DO(long long, llroundf, float, round) DO(long long, llround, double, round)                    \
    DO(int, ilogbf, float, logb) DO(int, ilogb, double, logb)
#define EMULATOR_DECLARE_TO(T, name, Float, whole) EMULATOR_API T emulator_##name(Float) EMULATOR_CONSTANT;
EMULATOR_TO_INTEGER_TYPES(EMULATOR_DECLARE_TO)
