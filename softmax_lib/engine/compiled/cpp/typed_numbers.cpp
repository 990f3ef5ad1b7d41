// What PTX does with numbers of any type: arithmetic, comparison, and from one width to another.
#include <algorithm>
#include <limits>

#include "operations.h"
#include "typed.h"

namespace machine {

namespace {

// ---- floats

// f(a, b, c) of single or double precision, as the flags want it.
template <class F> INLINE void floats(Warp& w, const Instruction& i, uint32_t lanes, F f) {
    Direction direction(i.variant & ROUNDING);
    if (kind_of(i) == F64) {
        each_number<double>(w, i, lanes, [&](double a, double b, double c) INLINE_LAMBDA { return f(a, b, c); });
    } else if (i.variant & (FLUSHED | SATURATED)) {
        bool flushes = i.variant & FLUSHED, saturates = i.variant & SATURATED;
        each_number<float>(w, i, lanes, [&](float a, float b, float c) INLINE_LAMBDA {
            float made = flushes ? flush(f(flush(a), flush(b), flush(c))) : f(a, b, c);
            return saturates ? saturate(made) : settled(made);
        });
    } else {
        each_number<float>(w, i, lanes, [&](float a, float b, float c) INLINE_LAMBDA { return settled(f(a, b, c)); });
    }
}

bool is_float(const Instruction& i) { return kind_of(i) == F32 || kind_of(i) == F64; }

// ---- sums and products: of whole numbers they are the same signed or not, and wrap

void add(Warp& w, const Instruction& i, uint32_t lanes) {
    if (is_float(i)) return floats(w, i, lanes, [](auto a, auto b, auto) INLINE_LAMBDA { return a + b; });
    of_bits(kind_of(i), [&](auto zero) {
        using T = decltype(zero);
        each_number<T>(w, i, lanes, [](T a, T b, T) INLINE_LAMBDA { return static_cast<T>(a + b); });
    });
}
void subtract(Warp& w, const Instruction& i, uint32_t lanes) {
    if (is_float(i)) return floats(w, i, lanes, [](auto a, auto b, auto) INLINE_LAMBDA { return a - b; });
    of_bits(kind_of(i), [&](auto zero) {
        using T = decltype(zero);
        each_number<T>(w, i, lanes, [](T a, T b, T) INLINE_LAMBDA { return static_cast<T>(a - b); });
    });
}
// a * b + c; of whole numbers its lower half.
void multiply_add(Warp& w, const Instruction& i, uint32_t lanes) {
    if (is_float(i)) return floats(w, i, lanes, [](auto a, auto b, auto c) INLINE_LAMBDA { return std::fma(a, b, c); });
    of_bits(kind_of(i), [&](auto zero) {
        using T = decltype(zero);
        each_number<T>(w, i, lanes, [](T a, T b, T c) INLINE_LAMBDA { return static_cast<T>(uint64_t{a} * b + c); });
    });
}
void multiply(Warp& w, const Instruction& i, uint32_t lanes) {
    floats(w, i, lanes, [](auto a, auto b, auto) INLINE_LAMBDA { return a * b; });
}
// The whole product and c, which is twice as wide.
void multiply_add_wide(Warp& w, const Instruction& i, uint32_t lanes) {
    switch (kind_of(i)) {
        case U16: return each_of<uint16_t, uint16_t, uint32_t>(w, i, lanes, [](uint32_t a, uint32_t b, uint32_t c) { return a * b + c; });
        case S16:
            return each_of<int16_t, int16_t, uint32_t>(w, i, lanes, [](int32_t a, int32_t b, uint32_t c) {
                return static_cast<uint32_t>(a * b) + c;
            });
        case U32: return each_of<uint32_t, uint32_t, uint64_t>(w, i, lanes, [](uint64_t a, uint64_t b, uint64_t c) { return a * b + c; });
        default:
            return each_of<int32_t, int32_t, uint64_t>(w, i, lanes, [](int64_t a, int64_t b, uint64_t c) {
                return static_cast<uint64_t>(a * b) + c;
            });
    }
}

template <class T> INLINE T upper(T a, T b, T c) {
    using Wide = typename std::conditional<std::is_signed<T>::value, int64_t, uint64_t>::type;
    Wide product = static_cast<Wide>(a) * static_cast<Wide>(b);
    return static_cast<T>(static_cast<uint64_t>(product >> 8 * sizeof(T)) + static_cast<uint64_t>(c));
}

// The upper half of the product, and c.
void multiply_add_upper(Warp& w, const Instruction& i, uint32_t lanes) {
    switch (kind_of(i)) {
        case U64:
            return each_number<uint64_t>(w, i, lanes, [](uint64_t a, uint64_t b, uint64_t c) {
                return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64) + c;
            });
        case S64:
            return each_of<int64_t, int64_t, uint64_t>(w, i, lanes, [](int64_t a, int64_t b, uint64_t c) {
                return static_cast<uint64_t>(static_cast<__int128>(a) * b >> 64) + c;
            });
        case U16: return each_number<uint16_t>(w, i, lanes, upper<uint16_t>);
        case S16: return each_number<int16_t>(w, i, lanes, upper<int16_t>);
        case U32: return each_number<uint32_t>(w, i, lanes, upper<uint32_t>);
        default: return each_number<int32_t>(w, i, lanes, upper<int32_t>);
    }
}

// ---- quotients

template <class T> INLINE T quotient(T a, T b) {
    if (b == 0) return static_cast<T>(~T{});
    if (std::is_signed<T>::value && static_cast<int64_t>(b) == -1) return static_cast<T>(0 - static_cast<uint64_t>(a));
    return static_cast<T>(a / b);
}

void divide(Warp& w, const Instruction& i, uint32_t lanes) {
    if (is_float(i)) return floats(w, i, lanes, [](auto a, auto b, auto) INLINE_LAMBDA { return a / b; });
    of_whole(kind_of(i), [&](auto zero) {
        using T = decltype(zero);
        each_number<T>(w, i, lanes, [](T a, T b, T) { return quotient(a, b); });
    });
}
void remainder(Warp& w, const Instruction& i, uint32_t lanes) {
    of_whole(kind_of(i), [&](auto zero) {
        using T = decltype(zero);
        each_number<T>(w, i, lanes, [](T a, T b, T) {
            return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(quotient(a, b)) * static_cast<uint64_t>(b));
        });
    });
}
void root(Warp& w, const Instruction& i, uint32_t lanes) {
    floats(w, i, lanes, [](auto a, auto, auto) INLINE_LAMBDA { return std::sqrt(a); });
}
// 1 / a, rounded.
void reciprocal(Warp& w, const Instruction& i, uint32_t lanes) {
    floats(w, i, lanes, [](auto a, auto, auto) INLINE_LAMBDA { return static_cast<decltype(a)>(1) / a; });
}
// Within 2 units of the last place: a times 1 / b, which is zero where b is larger than 2^126. Of what is too small to be
// normal both are scaled before.
void divide_roughly(Warp& w, const Instruction& i, uint32_t lanes) {
    floats(w, i, lanes, [](auto a, auto b, auto) INLINE_LAMBDA {
        auto x = static_cast<float>(a), y = static_cast<float>(b), scale = std::fabs(y) < 0x1p-126f ? 0x1p24f : 1.0f;
        return static_cast<decltype(a)>(x * scale * flush(1.0f / (y * scale)));
    });
}
// 2^a of numbers however small: below -126 it is the square of 2^(a / 2).
void power_of_any(Warp& w, const Instruction& i, uint32_t lanes) {
    floats(w, i, lanes, [](auto a, auto, auto) INLINE_LAMBDA {
        auto x = static_cast<float>(a);
        bool is_small = x < -126.0f;
        float power = power_of_two(is_small ? x * 0.5f : x);
        return static_cast<decltype(a)>(is_small ? power * power : power);
    });
}
// log2(a) of numbers however small: what is not normal is scaled before.
void logarithm_of_any(Warp& w, const Instruction& i, uint32_t lanes) {
    floats(w, i, lanes, [](auto a, auto, auto) {
        auto x = static_cast<float>(a);
        bool is_small = std::fabs(x) < 0x1p-126f;
        auto found = static_cast<float>(std::log2(static_cast<double>(is_small ? x * 0x1p24f : x)));
        return static_cast<decltype(a)>(is_small ? found - 24.0f : found);
    });
}
// 1 / sqrt(a) of numbers however small.
void reciprocal_root(Warp& w, const Instruction& i, uint32_t lanes) {
    floats(w, i, lanes, [](auto a, auto, auto) { return static_cast<decltype(a)>(1.0 / std::sqrt(static_cast<double>(a))); });
}

// ---- the smaller, the size, the opposite

INLINE double least(double a, double b) {
    double less = a < b || (a == b && std::signbit(a)) ? a : b;
    return a != a ? b : b != b ? a : less;
}
INLINE double greatest(double a, double b) {
    double more = a > b || (a == b && !std::signbit(a)) ? a : b;
    return a != a ? b : b != b ? a : more;
}

constexpr uint32_t PASSES_NAN = 1 << 4, WANTS_LEAST = 1 << 5;  // of the variant

void extreme(Warp& w, const Instruction& i, uint32_t lanes) {
    bool wants_least = i.variant & WANTS_LEAST, passes_nan = i.variant & PASSES_NAN;
    if (is_float(i)) {
        return floats(w, i, lanes, [&](auto a, auto b, auto) INLINE_LAMBDA {
            auto found = wants_least ? least(a, b) : greatest(a, b);
            return passes_nan && (a != a || b != b) ? a + b : found;
        });
    }
    of_whole(kind_of(i), [&](auto zero) {
        using T = decltype(zero);
        each_number<T>(w, i, lanes, [&](T a, T b, T) { return wants_least ? std::min(a, b) : std::max(a, b); });
    });
}

// Of floats only the sign changes, whatever else they are.
void size_of(Warp& w, const Instruction& i, uint32_t lanes) {
    switch (kind_of(i)) {
        case F32: return each_number<uint32_t>(w, i, lanes, [](uint32_t a, uint32_t, uint32_t) { return a & 0x7fffffffu; });
        case F64: return each_number<uint64_t>(w, i, lanes, [](uint64_t a, uint64_t, uint64_t) { return a & ~(1ull << 63); });
        default:
            return of_whole(kind_of(i), [&](auto zero) {
                using T = decltype(zero);
                each_number<T>(w, i, lanes, [](T a, T, T) { return static_cast<T>(a < 0 ? 0 - static_cast<uint64_t>(a) : a); });
            });
    }
}
void opposite(Warp& w, const Instruction& i, uint32_t lanes) {
    switch (kind_of(i)) {
        case F32: return each_number<uint32_t>(w, i, lanes, [](uint32_t a, uint32_t, uint32_t) { return a ^ 0x80000000u; });
        case F64: return each_number<uint64_t>(w, i, lanes, [](uint64_t a, uint64_t, uint64_t) { return a ^ 1ull << 63; });
        default:
            return of_bits(kind_of(i), [&](auto zero) {
                using T = decltype(zero);
                each_number<T>(w, i, lanes, [](T a, T, T) { return static_cast<T>(0 - a); });
            });
    }
}
// b with the sign of a.
void copy_sign(Warp& w, const Instruction& i, uint32_t lanes) {
    of_bits(kind_of(i) == F64 ? U64 : U32, [&](auto zero) {
        using T = decltype(zero);
        constexpr T SIGN = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
        each_number<T>(w, i, lanes, [](T a, T b, T) { return static_cast<T>((a & SIGN) | (b & static_cast<T>(~SIGN))); });
    });
}
// |a - b| + c
void difference(Warp& w, const Instruction& i, uint32_t lanes) {
    of_whole(kind_of(i), [&](auto zero) {
        using T = decltype(zero);
        each_number<T>(w, i, lanes, [](T a, T b, T c) {
            auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
            return static_cast<T>((a < b ? y - x : x - y) + static_cast<uint64_t>(c));
        });
    });
}

// ---- comparisons: variant bits 0 to 3 less, equal, greater, one is no number; bit 4 .ftz; 8 and 9 as `joined`

constexpr uint32_t FLUSHES = 1 << 4;

template <class T> uint32_t compared(Warp& w, const Instruction& i) {
    const uint32_t *a = w.row(i.a), *b = w.row(i.b), *a2 = w.row(i.a + 1u), *b2 = w.row(i.b + 1u);
    bool less = i.variant & 1, equal = i.variant & 2, greater = i.variant & 4, unordered = i.variant & 8;
    bool flushes = i.variant & FLUSHES;
    uint32_t found = 0;
    LANES {
        T x = get<T>(a, a2, k), y = get<T>(b, b2, k);
        if constexpr (std::is_same<T, float>::value) x = flushes ? flush(x) : x, y = flushes ? flush(y) : y;
        bool is = (less & (x < y)) | (equal & (x == y)) | (greater & (x > y)) | (unordered & ((x != x) | (y != y)));
        found |= (is ? 1u : 0u) << k;
    }
    return found;
}
uint32_t found_of(Warp& w, const Instruction& i) {
    uint32_t found = 0;
    if (kind_of(i) == F32) return compared<float>(w, i);
    if (kind_of(i) == F64) return compared<double>(w, i);
    of_whole(kind_of(i), [&](auto zero) { found = compared<decltype(zero)>(w, i); });
    return found;
}
void compare(Warp& w, const Instruction& i, uint32_t lanes) { join(w, i, lanes, found_of(w, i)); }
// The same, as a word: c where it is true, else zero.
void set(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t found = joined(w, i, found_of(w, i));
    one_by_one(w, i, lanes, [&](int k, uint32_t, uint32_t, uint32_t c) { return found >> k & 1 ? c : 0; });
}

// ---- whole numbers of another width: variant bits 20 to 23 the kind that is made, SATURATED: within its bounds

constexpr uint32_t MADE_SHIFT = 20;

template <class To, class From> To narrowed(From x, bool saturates) {
    if (saturates) {
        auto number = static_cast<__int128>(x);
        number = std::max<__int128>(number, std::numeric_limits<To>::min());
        return static_cast<To>(std::min<__int128>(number, std::numeric_limits<To>::max()));
    }
    return static_cast<To>(x);
}
void convert_whole(Warp& w, const Instruction& i, uint32_t lanes) {
    bool saturates = i.variant & SATURATED;
    of_whole(kind_of(i), [&](auto from) {
        of_whole(static_cast<Kind>(i.variant >> MADE_SHIFT & 15), [&](auto to) {
            using From = decltype(from);
            using To = decltype(to);
            each_of<From, From, From>(w, i, lanes, [&](From a, From, From) {
                To made = narrowed<To>(a, saturates);
                if constexpr (sizeof(To) == 8) return made;
                else return static_cast<int32_t>(made);  // a wider register gets its sign too
            });
        });
    });
}

}  // namespace

const Operation TYPED_NUMBERS[] = {
    {"typed add", add},
    {"typed subtract", subtract},
    {"typed multiply", multiply},
    {"typed multiply add", multiply_add},
    {"typed multiply add wide", multiply_add_wide},
    {"typed multiply add upper", multiply_add_upper},
    {"typed divide", divide},
    {"typed remainder", remainder},
    {"typed root", root},
    {"typed reciprocal", reciprocal},
    {"typed divide roughly", divide_roughly},
    {"typed power of two", power_of_any},
    {"typed logarithm", logarithm_of_any},
    {"typed reciprocal root", reciprocal_root},
    {"typed extreme", extreme},
    {"typed size", size_of},
    {"typed opposite", opposite},
    {"typed copy sign", copy_sign},
    {"typed difference", difference},
    {"typed compare", compare},
    {"typed set", set},
    {"typed convert", convert_whole},
    {nullptr, nullptr},
};

}  // namespace machine
