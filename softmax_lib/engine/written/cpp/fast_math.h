// CUDA's fast approximations, in single precision. These here are closer than a GPU's.
#pragma once

// As on the GPU: 2 to the power of the rounded product, so the error grows with |x|.
EMULATOR_C float __expf(float x) EMULATOR_NOEXCEPT { return exp2f(x * 1.4426950408889634f); }
EMULATOR_C float __exp10f(float x) EMULATOR_NOEXCEPT { return exp2f(x * 3.3219280948873623f); }
EMULATOR_C float __log2f(float x) EMULATOR_NOEXCEPT { return log2f(x); }
EMULATOR_C float __logf(float x) EMULATOR_NOEXCEPT { return log2f(x) * 0.6931471805599453f; }
EMULATOR_C float __log10f(float x) EMULATOR_NOEXCEPT { return log2f(x) * 0.30102999566398120f; }
EMULATOR_C float __powf(float x, float y) EMULATOR_NOEXCEPT { return exp2f(y * log2f(x)); }
EMULATOR_C float __sinf(float x) EMULATOR_NOEXCEPT { return sinf(x); }
EMULATOR_C float __cosf(float x) EMULATOR_NOEXCEPT { return cosf(x); }
EMULATOR_C float __tanf(float x) EMULATOR_NOEXCEPT { return tanf(x); }
EMULATOR_C float __tanhf(float x) EMULATOR_NOEXCEPT { return tanhf(x); }
EMULATOR_C void __sincosf(float x, float* sine, float* cosine) EMULATOR_NOEXCEPT {
    sincosf(x, sine, cosine);
}
// Beyond 2 to the 126 the GPU takes the divisor for infinite.
EMULATOR_INLINE float __fdividef(float a, float b) {
    return __builtin_fabsf(b) > 0x1p126f ? a * __builtin_copysignf(0.0f, b) : a / b;
}
EMULATOR_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
