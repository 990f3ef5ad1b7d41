// Words taken for two numbers of 16 bits or four of 8, __vadd2, __vmaxs4, __vcmpgtu2, ..., and fused
// minima and maxima, __viaddmax_s16x2, ... Each stands here as a formula of one number.
#pragma once

namespace emulator {

EMULATOR_INLINE int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
EMULATOR_INLINE int size_of(int x) { return x < 0 ? -x : x; }

}  // namespace emulator

// ---- 1. lane by lane

// `value` is of x, and y and z, which are the same bits of the words a, b and c, from T's `least` to
// its `most`. `result` is what stands for them in the result.
#define EMULATOR_LANES(name, T, parameters, y_of, z_of, value)                                 \
    EMULATOR_INLINE unsigned name parameters {                                                 \
        using namespace emulator;                                                              \
        typedef T Number;                                                                      \
        constexpr int bits = 8 * sizeof(T);                                                    \
        constexpr int least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max(); \
        unsigned result = 0;                                                                   \
        for (int place = 0; place < 32; place += bits) {                                       \
            int x = (T)(a >> place), y = y_of, z = z_of;                                       \
            result |= ((unsigned)(value) & (0xffffffffu >> (32 - bits))) << place;             \
        }                                                                                      \
        return result;                                                                         \
    }
#define EMULATOR_LANES1(name, T, value) EMULATOR_LANES(name, T, (unsigned a), 0, 0, value)
#define EMULATOR_LANES2(name, T, value) \
    EMULATOR_LANES(name, T, (unsigned a, unsigned b), (T)(b >> place), 0, value)
#define EMULATOR_LANES3(name, T, value) \
    EMULATOR_LANES(name, T, (unsigned a, unsigned b, unsigned c), (T)(b >> place), (T)(c >> place), value)

#define EMULATOR_SIGNED(words, name, value) \
    EMULATOR_LANES##words(name##2, short, value) EMULATOR_LANES##words(name##4, signed char, value)
#define EMULATOR_UNSIGNED(words, name, value) \
    EMULATOR_LANES##words(name##2, unsigned short, value) EMULATOR_LANES##words(name##4, unsigned char, value)
#define EMULATOR_BOTH(name, value) EMULATOR_SIGNED(2, name##s, value) EMULATOR_UNSIGNED(2, name##u, value)

EMULATOR_SIGNED(1, __vabs, size_of(x)) EMULATOR_SIGNED(1, __vabsss, clamp(size_of(x), least, most))
EMULATOR_SIGNED(1, __vneg, -x) EMULATOR_SIGNED(1, __vnegss, clamp(-x, least, most))
EMULATOR_SIGNED(2, __vadd, x + y) EMULATOR_SIGNED(2, __vsub, x - y)
EMULATOR_SIGNED(2, __vaddss, clamp(x + y, least, most))
EMULATOR_SIGNED(2, __vsubss, clamp(x - y, least, most))
EMULATOR_UNSIGNED(2, __vaddus, clamp(x + y, least, most))
EMULATOR_UNSIGNED(2, __vsubus, clamp(x - y, least, most))
EMULATOR_UNSIGNED(2, __vhaddu, (x + y) >> 1)
EMULATOR_BOTH(__vavg, (x + y + (x + y >= 0)) >> 1)  // halves away from zero
EMULATOR_BOTH(__vabsdiff, size_of(x - y))
EMULATOR_BOTH(__vmax, x > y ? x : y)
EMULATOR_BOTH(__vmin, x < y ? x : y)

// All bits (cmp) or the lowest (set) where x and y compare so.
#define EMULATOR_COMPARE(kinds, name, condition) \
    kinds(__vcmp##name, (condition) ? -1 : 0) kinds(__vset##name, (condition) ? 1 : 0)
#define EMULATOR_LANES_SIGNED(name, value) EMULATOR_SIGNED(2, name, value)
EMULATOR_COMPARE(EMULATOR_LANES_SIGNED, eq, x == y) EMULATOR_COMPARE(EMULATOR_LANES_SIGNED, ne, x != y)
EMULATOR_COMPARE(EMULATOR_BOTH, gt, x > y) EMULATOR_COMPARE(EMULATOR_BOTH, ge, x >= y)
EMULATOR_COMPARE(EMULATOR_BOTH, lt, x < y) EMULATOR_COMPARE(EMULATOR_BOTH, le, x <= y)

// The sum of the absolute differences: the lanes of another function, added up.
#define EMULATOR_SUM(name, lanes, bits)                                                              \
    EMULATOR_INLINE unsigned name(unsigned a, unsigned b) {                                          \
        unsigned sum = 0;                                                                            \
        for (int place = 0; place < 32; place += bits) sum += lanes(a, b) >> place & ((1u << bits) - 1); \
        return sum;                                                                                  \
    }
EMULATOR_SUM(__vsads2, __vabsdiffs2, 16) EMULATOR_SUM(__vsads4, __vabsdiffs4, 8)
EMULATOR_SUM(__vsadu2, __vabsdiffu2, 16) EMULATOR_SUM(__vsadu4, __vabsdiffu4, 8)

// ---- 2. minima and maxima of sums or of three: whole words (s32, u32) or pairs (s16x2, u16x2)

#define EMULATOR_WORDS2(name, T, value) \
    EMULATOR_INLINE T name(T x, T y) { typedef T Number; return (T)(value); }
#define EMULATOR_WORDS3(name, T, value) \
    EMULATOR_INLINE T name(T x, T y, T z) { typedef T Number; return (T)(value); }
#define EMULATOR_SIGNED_BEST(words, name, value) \
    EMULATOR_WORDS##words(name##_s32, int, value) EMULATOR_LANES##words(name##_s16x2, short, value)
#define EMULATOR_UNSIGNED_BEST(words, name, value)      \
    EMULATOR_WORDS##words(name##_u32, unsigned, value)  \
    EMULATOR_LANES##words(name##_u16x2, unsigned short, value)
// relu: none below zero.
#define EMULATOR_BEST_RELU(words, name, value)                    \
    EMULATOR_WORDS##words(name##_s32_relu, int, max(value, 0))    \
    EMULATOR_LANES##words(name##_s16x2_relu, short, max(value, 0))
#define EMULATOR_BEST(name, value)                                                  \
    EMULATOR_SIGNED_BEST(3, name, value) EMULATOR_UNSIGNED_BEST(3, name, value)     \
    EMULATOR_BEST_RELU(3, name, value)
EMULATOR_BEST(__viaddmax, max((Number)(x + y), (Number)z))
EMULATOR_BEST(__viaddmin, min((Number)(x + y), (Number)z))
EMULATOR_BEST(__vimax3, max(max(x, y), z)) EMULATOR_BEST(__vimin3, min(min(x, y), z))
EMULATOR_BEST_RELU(2, __vimax, max(x, y)) EMULATOR_BEST_RELU(2, __vimin, min(x, y))

// These also say which it was: whether the first argument is the result.
#define EMULATOR_CHOICE(name, T, better)                               \
    EMULATOR_INLINE T name(T a, T b, bool* is_first) {                 \
        *is_first = a better b;                                        \
        return a better b ? a : b;                                     \
    }
#define EMULATOR_CHOICES(name, lanes, T, better)                                             \
    EMULATOR_INLINE unsigned name(unsigned a, unsigned b, bool* high_is_first, bool* low_is_first) { \
        *high_is_first = (T)(a >> 16) better (T)(b >> 16);                                   \
        *low_is_first = (T)a better (T)b;                                                    \
        return lanes(a, b);                                                                  \
    }
EMULATOR_CHOICE(__vibmax_s32, int, >=) EMULATOR_CHOICE(__vibmax_u32, unsigned, >=)
EMULATOR_CHOICE(__vibmin_s32, int, <=) EMULATOR_CHOICE(__vibmin_u32, unsigned, <=)
EMULATOR_CHOICES(__vibmax_s16x2, __vmaxs2, short, >=)
EMULATOR_CHOICES(__vibmax_u16x2, __vmaxu2, unsigned short, >=)
EMULATOR_CHOICES(__vibmin_s16x2, __vmins2, short, <=)
EMULATOR_CHOICES(__vibmin_u16x2, __vminu2, unsigned short, <=)
