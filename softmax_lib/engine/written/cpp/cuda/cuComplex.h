// CUDA's complex numbers: pairs of floats or doubles, real part first.
#pragma once

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

// T is float with f at the end of names, or double without.
#define EMULATOR_COMPLEX(Complex, T, f)                                                               \
    EMULATOR_INLINE Complex make_##Complex(T real, T imaginary) { return Complex{real, imaginary}; }  \
    EMULATOR_INLINE T cuCreal##f(Complex a) { return a.x; }                                           \
    EMULATOR_INLINE T cuCimag##f(Complex a) { return a.y; }                                           \
    EMULATOR_INLINE Complex cuConj##f(Complex a) { return Complex{a.x, -a.y}; }                       \
    EMULATOR_INLINE Complex cuCadd##f(Complex a, Complex b) { return Complex{a.x + b.x, a.y + b.y}; } \
    EMULATOR_INLINE Complex cuCsub##f(Complex a, Complex b) { return Complex{a.x - b.x, a.y - b.y}; } \
    EMULATOR_INLINE Complex cuCmul##f(Complex a, Complex b) {                                         \
        return Complex{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};                                 \
    }                                                                                                 \
    EMULATOR_INLINE Complex cuCfma##f(Complex a, Complex b, Complex c) {                              \
        return Complex{a.x * b.x + c.x - a.y * b.y, a.x * b.y + c.y + a.y * b.x};                     \
    }                                                                                                 \
    /* scaled, so that the squares of b neither overflow nor vanish */                                \
    EMULATOR_INLINE Complex cuCdiv##f(Complex a, Complex b) {                                         \
        T scale = 1 / (__builtin_fabs##f(b.x) + __builtin_fabs##f(b.y));                              \
        a = Complex{a.x * scale, a.y * scale};                                                        \
        b = Complex{b.x * scale, b.y * scale};                                                        \
        T rest = 1 / (b.x * b.x + b.y * b.y);                                                         \
        return Complex{(a.x * b.x + a.y * b.y) * rest, (a.y * b.x - a.x * b.y) * rest};               \
    }                                                                                                 \
    EMULATOR_INLINE T cuCabs##f(Complex a) { return hypot##f(a.x, a.y); }
EMULATOR_COMPLEX(cuFloatComplex, float, f)
EMULATOR_COMPLEX(cuDoubleComplex, double, )

EMULATOR_INLINE cuComplex make_cuComplex(float real, float imaginary) { return cuComplex{real, imaginary}; }
EMULATOR_INLINE cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return cuDoubleComplex{a.x, a.y}; }
EMULATOR_INLINE cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) {
    return cuFloatComplex{(float)a.x, (float)a.y};
}
