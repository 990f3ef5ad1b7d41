// What float_math.h has from the runtime: too long to compile with every kernel, or in no C library.
#pragma once

#define EMULATOR_OF_ONE(DO)                                                                            \
    DO(cbrt) DO(rcbrt) DO(exp10) DO(log10) DO(cosh) DO(tanh) DO(sinpi) DO(cospi) DO(tgamma) DO(lgamma) \
    DO(erfinv) DO(erfcinv) DO(erfcx) DO(normcdf) DO(normcdfinv)                                        \
    DO(j0) DO(j1) DO(y0) DO(y1) DO(cyl_bessel_i0) DO(cyl_bessel_i1)
#define EMULATOR_DECLARE(name) EMULATOR_API double emulator_##name(double) EMULATOR_CONSTANT;
EMULATOR_OF_ONE(EMULATOR_DECLARE)
EMULATOR_API double emulator_jn(int n, double x) EMULATOR_CONSTANT;
EMULATOR_API double emulator_yn(int n, double x) EMULATOR_CONSTANT;
// The length of a vector, and one over it; those of fewer members have zeros at the end.
EMULATOR_API double emulator_norm(double a, double b, double c, double d) EMULATOR_CONSTANT;
EMULATOR_API double emulator_rnorm(double a, double b, double c, double d) EMULATOR_CONSTANT;
