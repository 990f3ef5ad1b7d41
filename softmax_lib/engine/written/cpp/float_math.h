// The functions of the CUDA guide's tables, where the C library lacks one, is less exact than the
// guide promises, or differs at the edges. All others are <math.h>'s.
#pragma once

#include "special_functions.h"

// ---- 1. one argument

#define EMULATOR_OF_EITHER(name)                                                                 \
    EMULATOR_C double name(double x) EMULATOR_NOEXCEPT { return emulator_##name(x); }            \
    EMULATOR_C float name##f(float x) EMULATOR_NOEXCEPT { return (float)emulator_##name(x); }    \
    EMULATOR_INLINE float name(float x) { return name##f(x); }
EMULATOR_ONLY_CUDA(EMULATOR_OF_EITHER)
EMULATOR_C double rsqrt(double x) EMULATOR_NOEXCEPT {
    double near = 1.0 / __builtin_sqrt(x), product = x * near;
    double rest = __builtin_fma(-product, near, 1.0) - __builtin_fma(x, near, -product) * near;
    return rest == rest ? __builtin_fma(near * 0.5, rest, near) : near;  // no number at 0 and infinity
}
EMULATOR_C float rsqrtf(float x) EMULATOR_NOEXCEPT { return (float)(1.0 / __builtin_sqrt(x)); }
EMULATOR_INLINE float rsqrt(float x) { return rsqrtf(x); }

// Whatever in a kernel calls these, <cmath> too, gets the runtime's instead of the C library's.
#if defined(__ELF__)
#define EMULATOR_REPLACE(name) __asm__(".set " #name ", emulator_" #name);
#define EMULATOR_REPLACE_TO(T, name, Float, whole) EMULATOR_REPLACE(name)
EMULATOR_OF_DOUBLE(EMULATOR_REPLACE) EMULATOR_OF_FLOAT(EMULATOR_REPLACE)
EMULATOR_TO_INTEGER_TYPES(EMULATOR_REPLACE_TO)
#endif

// ---- 2. several

EMULATOR_C double jn(int n, double x) EMULATOR_NOEXCEPT { return emulator_jn(n, x); }
EMULATOR_C double yn(int n, double x) EMULATOR_NOEXCEPT { return emulator_yn(n, x); }
EMULATOR_C float jnf(int n, float x) EMULATOR_NOEXCEPT { return (float)emulator_jn(n, x); }
EMULATOR_C float ynf(int n, float x) EMULATOR_NOEXCEPT { return (float)emulator_yn(n, x); }
EMULATOR_INLINE float jn(int n, float x) { return jnf(n, x); }
EMULATOR_INLINE float yn(int n, float x) { return ynf(n, x); }

EMULATOR_C double rhypot(double a, double b) EMULATOR_NOEXCEPT { return emulator_rnorm(a, b, 0, 0); }
EMULATOR_C float rhypotf(float a, float b) EMULATOR_NOEXCEPT { return (float)emulator_rnorm(a, b, 0, 0); }
#define EMULATOR_NORM(r)                                                                         \
    EMULATOR_INLINE double r##norm3d(double a, double b, double c) {                             \
        return emulator_##r##norm(a, b, c, 0);                                                   \
    }                                                                                            \
    EMULATOR_INLINE double r##norm4d(double a, double b, double c, double d) {                   \
        return emulator_##r##norm(a, b, c, d);                                                   \
    }                                                                                            \
    EMULATOR_INLINE float r##norm3df(float a, float b, float c) { return (float)r##norm3d(a, b, c); } \
    EMULATOR_INLINE float r##norm4df(float a, float b, float c, float d) {                       \
        return (float)r##norm4d(a, b, c, d);                                                     \
    }                                                                                            \
    EMULATOR_NORM_OF_MANY(r, double, ) EMULATOR_NORM_OF_MANY(r, float, f)
#define EMULATOR_NORM_OF_MANY(r, T, f)                                                           \
    EMULATOR_INLINE T r##norm##f(int dim, const T* p) {                                          \
        double length = 0;                                                                       \
        for (int i = 0; i < dim; i++) length = emulator_norm(length, p[i], 0, 0);                \
        return (T)emulator_##r##norm(length, 0, 0, 0);                                           \
    }
EMULATOR_NORM() EMULATOR_NORM(r)

EMULATOR_INLINE float fdividef(float a, float b) { return a / b; }
EMULATOR_INLINE double fdivide(double a, double b) { return a / b; }
EMULATOR_C float powif(float x, int n) { return __builtin_powif(x, n); }
EMULATOR_C double powi(double x, int n) { return __builtin_powi(x, n); }

// ---- 3. results through pointers: the kernel writes them, so that a trace sees it

#define EMULATOR_TWO_RESULTS(T, f)                                                    \
    EMULATOR_C_OVER T frexp##f(T x, int* exponent) EMULATOR_NOEXCEPT {                \
        int found = 0;                                                                \
        T fraction = __builtin_frexp##f(x, &found);                                   \
        *exponent = found;                                                            \
        return fraction;                                                              \
    }                                                                                 \
    EMULATOR_C_OVER T modf##f(T x, T* whole) EMULATOR_NOEXCEPT {                      \
        T found;                                                                      \
        T fraction = __builtin_modf##f(x, &found);                                    \
        *whole = found;                                                               \
        return fraction;                                                              \
    }                                                                                 \
    EMULATOR_C_OVER T remquo##f(T x, T y, int* quotient) EMULATOR_NOEXCEPT {          \
        int found = 0;                                                                \
        T rest = __builtin_remquo##f(x, y, &found);                                   \
        *quotient = found;                                                            \
        return rest;                                                                  \
    }                                                                                 \
    EMULATOR_C_OVER void sincos##f(T x, T* sine, T* cosine) EMULATOR_NOEXCEPT {       \
        T s = __builtin_sin##f(x), c = __builtin_cos##f(x);                           \
        *sine = s;                                                                    \
        *cosine = c;                                                                  \
    }                                                                                 \
    EMULATOR_C void sincospi##f(T x, T* sine, T* cosine) EMULATOR_NOEXCEPT {          \
        *sine = sinpi##f(x);                                                          \
        *cosine = cospi##f(x);                                                        \
    }
EMULATOR_TWO_RESULTS(float, f) EMULATOR_TWO_RESULTS(double, )
EMULATOR_INLINE void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
EMULATOR_INLINE void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }

// ---- 4. the larger and the smaller

namespace emulator {

// A NaN loses against a number, -0 against 0.
template <class T>
EMULATOR_INLINE T larger(T a, T b) {
    return a > b || b != b || (a == b && __builtin_signbit(b)) ? a : b;
}
template <class T>
EMULATOR_INLINE T smaller(T a, T b) {
    return a < b || b != b || (a == b && __builtin_signbit(a)) ? a : b;
}

}  // namespace emulator

#define EMULATOR_LARGER_FLOATS(T, f)                                                                        \
    EMULATOR_C_OVER T fmax##f(T a, T b) EMULATOR_NOEXCEPT { return emulator::larger(a, b); }                \
    EMULATOR_C_OVER T fmin##f(T a, T b) EMULATOR_NOEXCEPT { return emulator::smaller(a, b); }
EMULATOR_LARGER_FLOATS(float, f) EMULATOR_LARGER_FLOATS(double, )

// Each pair of types that CUDA has; of others, such as max(1.0f, 2), it says that they are ambiguous.
#define EMULATOR_LARGER(A, B, C)                                                     \
    EMULATOR_INLINE constexpr C max(A a, B b) { return (C)a < (C)b ? (C)b : (C)a; }  \
    EMULATOR_INLINE constexpr C min(A a, B b) { return (C)b < (C)a ? (C)b : (C)a; }
#define EMULATOR_LARGER_INTEGERS(T, U) \
    EMULATOR_LARGER(T, T, T) EMULATOR_LARGER(U, U, U) EMULATOR_LARGER(T, U, U) EMULATOR_LARGER(U, T, U)
EMULATOR_LARGER_INTEGERS(int, unsigned)
EMULATOR_LARGER_INTEGERS(long, unsigned long)
EMULATOR_LARGER_INTEGERS(long long, unsigned long long)
#define EMULATOR_LARGER_OF(A, B, T)                                                       \
    EMULATOR_INLINE T max(A a, B b) { return emulator::larger<T>(a, b); }                 \
    EMULATOR_INLINE T min(A a, B b) { return emulator::smaller<T>(a, b); }
EMULATOR_LARGER_OF(float, float, float) EMULATOR_LARGER_OF(double, double, double)
EMULATOR_LARGER_OF(float, double, double) EMULATOR_LARGER_OF(double, float, double)
#define EMULATOR_LARGER_BY_NAME(u, T)                              \
    EMULATOR_INLINE T u##max(T a, T b) { return max(a, b); }       \
    EMULATOR_INLINE T u##min(T a, T b) { return min(a, b); }
EMULATOR_LARGER_BY_NAME(u, unsigned) EMULATOR_LARGER_BY_NAME(ll, long long)
EMULATOR_LARGER_BY_NAME(ull, unsigned long long)

// ---- 5. fast approximations, in single precision: these here are closer than a GPU's

// As on the GPU: 2 to the power of the rounded product, so the error grows with |x|.
EMULATOR_C float __expf(float x) EMULATOR_NOEXCEPT { return exp2f(x * 1.4426950408889634f); }
EMULATOR_C float __exp10f(float x) EMULATOR_NOEXCEPT { return exp2f(x * 3.3219280948873623f); }
EMULATOR_C float __logf(float x) EMULATOR_NOEXCEPT { return log2f(x) * 0.6931471805599453f; }
EMULATOR_C float __log10f(float x) EMULATOR_NOEXCEPT { return log2f(x) * 0.30102999566398120f; }
EMULATOR_C float __powf(float x, float y) EMULATOR_NOEXCEPT { return exp2f(y * log2f(x)); }
#define EMULATOR_AS_IT_IS(name) \
    EMULATOR_C float __##name(float x) EMULATOR_NOEXCEPT { return name(x); }
EMULATOR_AS_IT_IS(log2f) EMULATOR_AS_IT_IS(sinf) EMULATOR_AS_IT_IS(cosf) EMULATOR_AS_IT_IS(tanf) EMULATOR_AS_IT_IS(tanhf)
EMULATOR_C void __sincosf(float x, float* sine, float* cosine) EMULATOR_NOEXCEPT {
    sincosf(x, sine, cosine);
}
// Beyond 2 to the 126 the GPU takes the divisor for infinite.
EMULATOR_INLINE float __fdividef(float a, float b) {
    return __builtin_fabsf(b) > 0x1p126f ? a * __builtin_copysignf(0.0f, b) : a / b;
}
EMULATOR_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
