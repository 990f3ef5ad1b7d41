// Arithmetic under another rounding mode, and a function of each mode: rn, rz, ru and rd.
#pragma once

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
EMULATOR_INLINE void hide(int& value) { asm volatile("" : "+r"(value)::"memory"); }
EMULATOR_INLINE void hide(unsigned& value) { asm volatile("" : "+r"(value)::"memory"); }
EMULATOR_INLINE void hide(long long& value) { asm volatile("" : "+r"(value)::"memory"); }
EMULATOR_INLINE void hide(unsigned long long& value) { asm volatile("" : "+r"(value)::"memory"); }

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

EMULATOR_IN_EACH_MODE(float, __fadd, (float a, float b), (hide(a), hide(b)), a + b)
EMULATOR_IN_EACH_MODE(float, __fsub, (float a, float b), (hide(a), hide(b)), a - b)
EMULATOR_IN_EACH_MODE(float, __fmul, (float a, float b), (hide(a), hide(b)), a * b)
EMULATOR_IN_EACH_MODE(float, __fdiv, (float a, float b), (hide(a), hide(b)), a / b)
EMULATOR_IN_EACH_MODE(float, __frcp, (float a), (hide(a)), 1.0f / a)
EMULATOR_IN_EACH_MODE(float, __fsqrt, (float a), (hide(a)), __builtin_sqrtf(a))
EMULATOR_IN_EACH_MODE(float, __fmaf, (float a, float b, float c), (hide(a), hide(b), hide(c)),
                      __builtin_fmaf(a, b, c))
EMULATOR_IN_EACH_MODE(float, __fmaf_ieee, (float a, float b, float c), (hide(a), hide(b), hide(c)),
                      __builtin_fmaf(a, b, c))
EMULATOR_IN_EACH_MODE(double, __dadd, (double a, double b), (hide(a), hide(b)), a + b)
EMULATOR_IN_EACH_MODE(double, __dsub, (double a, double b), (hide(a), hide(b)), a - b)
EMULATOR_IN_EACH_MODE(double, __dmul, (double a, double b), (hide(a), hide(b)), a * b)
EMULATOR_IN_EACH_MODE(double, __ddiv, (double a, double b), (hide(a), hide(b)), a / b)
EMULATOR_IN_EACH_MODE(double, __drcp, (double a), (hide(a)), 1.0 / a)
EMULATOR_IN_EACH_MODE(double, __dsqrt, (double a), (hide(a)), __builtin_sqrt(a))
EMULATOR_IN_EACH_MODE(double, __fma, (double a, double b, double c), (hide(a), hide(b), hide(c)),
                      __builtin_fma(a, b, c))
// By double: right for every float, as a search through all of them shows.
EMULATOR_INLINE float __frsqrt_rn(float x) { return (float)(1.0 / __builtin_sqrt(x)); }
