// Arithmetic of single numbers as the hardware rounds it.
#pragma once
#include <cfenv>
#include <cmath>
#include <type_traits>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "lanes.h"

namespace machine {

// Kinds of numbers: whole ones of 8 to 64 bits, signed or not, and floats of 16, 32 or 64 bits.
enum Kind : uint32_t { U8, S8, U16, S16, U32, S32, U64, S64, F16, F32, F64, BF16 };

enum Rounding : uint32_t { NEAREST, DOWN, UP, TO_ZERO };
enum FloatFlags : uint32_t { ROUNDING = 3, FLUSHED = 4, SATURATED = 8 };  // FLUSHED: .FTZ, SATURATED: .SAT

// Numbers too small to be normal become zeros of their sign.
INLINE float flush(float x) { return std::fabs(x) < 1.17549435e-38f ? std::copysign(0.0f, x) : x; }
INLINE float saturate(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

using emulator::add_to_odd;

// The processor rounds to the nearest and keeps subnormals, or rounds in another direction, for which WebAssembly has no
// instructions: doubles that want one end a launch there.
INLINE void turn(uint32_t rounding) {
#if defined(__wasm__)
    if (rounding != NEAREST) __builtin_trap();
#elif defined(__SSE2__)
    constexpr unsigned MASK_ALL = 0x1f80;
    _mm_setcsr(MASK_ALL | rounding << 13);  // the same numbers as ours
    __asm__ volatile("" ::: "memory");
#else
    constexpr int WAYS[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    std::fesetround(WAYS[rounding]);
#endif
}

// While it lives the processor rounds in a direction; loops that read and write memory stay within.
class Direction {
public:
    explicit Direction(uint32_t rounding) : is_turned_(rounding != NEAREST) {
        if (is_turned_) turn(rounding);
    }
    ~Direction() {
        if (is_turned_) turn(NEAREST);
    }
    Direction(const Direction&) = delete;
    Direction& operator=(const Direction&) = delete;

private:
    bool is_turned_;
};

// While it lives the processor does as a launch wants it, whatever its thread had asked for; then nothing of it is left.
class OwnArithmetic {
public:
    OwnArithmetic() {
        std::fegetenv(&before_);
        turn(NEAREST);
    }
    ~OwnArithmetic() {
        std::fesetenv(&before_);
#if defined(__AVX2__)
        _mm256_zeroupper();
#endif
    }
    OwnArithmetic(const OwnArithmetic&) = delete;
    OwnArithmetic& operator=(const OwnArithmetic&) = delete;

private:
    std::fenv_t before_;
};

// The same direction for a number whose sign is turned afterwards.
INLINE uint32_t mirrored(uint32_t rounding) { return rounding == DOWN ? UP : rounding == UP ? DOWN : rounding; }

// x rounded to a whole number.
INLINE double to_whole(double x, uint32_t rounding) {
    switch (rounding) {
        case DOWN: return std::floor(x);
        case UP: return std::ceil(x);
        case TO_ZERO: return std::trunc(x);
        default: return std::nearbyint(x);
    }
}

// The greater or smaller one; a NaN only where both are one, or where it is to be passed on. -0 is less than 0.
template <class T> using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T> INLINE T least(T a, T b) {
    T less = a < b ? a : b;
    less = a == b ? bits_as<T>(bits_as<BitsOf<T>>(a) | bits_as<BitsOf<T>>(b)) : less;
    return a != a ? b : b != b ? a : less;
}
template <class T> INLINE T greatest(T a, T b) {
    T more = a > b ? a : b;
    more = a == b ? bits_as<T>(bits_as<BitsOf<T>>(a) & bits_as<BitsOf<T>>(b)) : more;
    return a != a ? b : b != b ? a : more;
}

// Whether two numbers are as bits 0 to 3 of `how` say: less, equal, greater, or one of them a NaN.
struct Comparison {
    bool less, equal, greater, unordered;
    INLINE explicit Comparison(uint32_t how) : less(how & 1), equal(how & 2), greater(how & 4), unordered(how & 8) {}
    template <class T> INLINE bool operator()(T x, T y) const {
        return (less & (x < y)) | (equal & (x == y)) | (greater & (x > y)) | (unordered & ((x != x) | (y != y)));
    }
};

// x, exact or cut to odd, as a float in a direction other than the nearest.
INLINE float round_to_float(double x, uint32_t rounding) {
    auto near = static_cast<float>(x);
    bool is_below = near < x, is_above = near > x;  // and so what is to be is the next float on the other side
    bool goes_up = is_below & (rounding == UP || (rounding == TO_ZERO && x < 0));
    bool goes_down = is_above & (rounding == DOWN || (rounding == TO_ZERO && x > 0));
    int step = goes_up - goes_down;
    uint32_t bits = word(near);
    if (near == 0.0f) return step ? real(1u | (step < 0 ? 1u << 31 : 0u)) : near;
    return real(bits + static_cast<uint32_t>(near < 0 ? -step : step));
}

// What is done with two or three numbers, of any type.
struct Sum { template <class T> INLINE T operator()(T a, T b, T) const { return static_cast<T>(a + b); } };
struct Difference { template <class T> INLINE T operator()(T a, T b, T) const { return static_cast<T>(a - b); } };
struct Product { template <class T> INLINE T operator()(T a, T b, T) const { return a * b; } };
struct Fused {
    INLINE double operator()(double a, double b, double c) const { return std::fma(a, b, c); }
    INLINE float operator()(float a, float b, float c) const {
#if defined(__wasm__)  // which would call a function
        return static_cast<float>(add_to_odd(static_cast<double>(a) * b, c));
#else
        return std::fma(a, b, c);
#endif
    }
};

// The same of floats, rounded in any direction: by the processor while this lives, or where it cannot by what a double
// keeps of them. A sum that is nothing has the sign of a sum rounded down.
template <class F> struct Directed {
#if !defined(__wasm__)
    Direction direction;
    INLINE explicit Directed(uint32_t rounding) : direction(rounding) {}
    INLINE float operator()(float a, float b, float c) const { return F{}(a, b, c); }
#else
    uint32_t rounding;
    INLINE explicit Directed(uint32_t rounding) : rounding(rounding) {}
    INLINE float operator()(float a, float b, float c) const {
        if (rounding == NEAREST) return F{}(a, b, c);
        constexpr bool MULTIPLIES = !std::is_same_v<F, Sum>, ADDS = !std::is_same_v<F, Product>;
        double first = MULTIPLIES ? static_cast<double>(a) * b : a, second = MULTIPLIES ? c : b;
        if (!ADDS) return round_to_float(first, rounding);
        double sum = add_to_odd(first, second);
        if (sum == 0.0 && rounding == DOWN) return std::signbit(first) || std::signbit(second) ? -0.0f : 0.0f;
        return round_to_float(sum, rounding);
    }
#endif
};

constexpr uint32_t NAN_BITS = 0x7fffffff;
// The NaN that the hardware makes, whatever went in.
INLINE float settled(float x) { return x != x ? real(NAN_BITS) : x; }

// 2^x within 2 units of the last place, as the special function unit has it; what is not a normal number is zero.
INLINE float power_of_two(float x) {
    float bounded = x < 128.0f ? x : 128.0f;
    bounded = bounded > -127.0f ? bounded : -127.0f;
    float whole = std::nearbyintf(bounded), part = bounded - whole;
    float p = 1.535336188e-4f;
    p = std::fma(p, part, 1.339887440e-3f);
    p = std::fma(p, part, 9.618437357e-3f);
    p = std::fma(p, part, 5.550332548e-2f);
    p = std::fma(p, part, 2.402264791e-1f);
    p = std::fma(p, part, 6.931472028e-1f);
    p = std::fma(p, part, 1.0f);
    // n is 128 only where p is 1, and -127 only where p is 1 or more, so that the exponent stays within its bits
    auto n = static_cast<uint32_t>(static_cast<int32_t>(whole));
    float scaled = real(word(p) + (n << 23));
    scaled = scaled < 1.17549435e-38f ? 0.0f : scaled;
    return x != x ? real(NAN_BITS) : scaled;
}

// Whether a / b needs the long way: the quotient, or a step on the way there, may leave the normal numbers.
INLINE bool needs_long_division(float a, float b) {
    int of_a = static_cast<int>(word(a) >> 23 & 255), of_b = static_cast<int>(word(b) >> 23 & 255);
    return (of_b < 3) | (of_b > 252) | (of_a < 26) | (of_a == 255) | (of_a - of_b < -124) | (of_a - of_b > 126);
}

// ---- 16 bits

INLINE float from_half(uint16_t bits, bool is_bfloat) {
    return is_bfloat ? emulator::to_float<emulator::BfloatFormat>(bits) : emulator::to_float<emulator::HalfFormat>(bits);
}
INLINE uint16_t to_half(double x, bool is_bfloat, uint32_t rounding = NEAREST) {
    auto how = static_cast<emulator::Rounding>(rounding);
    return is_bfloat ? emulator::round_to<emulator::BfloatFormat>(x, how) : emulator::round_to<emulator::HalfFormat>(x, how);
}

}  // namespace machine
