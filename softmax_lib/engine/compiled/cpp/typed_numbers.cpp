// What PTX does with numbers of any type: arithmetic, comparison, and from one width to another.
#include <algorithm>
#include <limits>

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

// F{}(a, b, c) of floats, of whole numbers with their signs, and of those of which it is the same signed or not, and wraps.
template <class F> void of_floats(Warp& w, const Instruction& i, uint32_t lanes) { floats(w, i, lanes, F{}); }
template <class F> void of_wholes(Warp& w, const Instruction& i, uint32_t lanes) {
    of_whole(kind_of(i), [&](auto zero) { each_number<decltype(zero)>(w, i, lanes, F{}); });
}
template <class F> void of_any(Warp& w, const Instruction& i, uint32_t lanes) {
    of_bits(kind_of(i), [&](auto zero) { each_number<decltype(zero)>(w, i, lanes, F{}); });
}

// ---- products

// The lower half of a * b + c.
struct MultiplyAdd {
    template <class T> INLINE T operator()(T a, T b, T c) const { return static_cast<T>(uint64_t{a} * b + c); }
};

// Of a product nothing is lost.
template <class T> using Wide = std::conditional_t<
    sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

// The upper half of the product, and c.
struct UpperHalf {
    template <class T> INLINE T operator()(T a, T b, T c) const {
        auto product = static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b);
        return static_cast<T>(static_cast<uint64_t>(product >> 8 * sizeof(T)) + static_cast<uint64_t>(c));
    }
};
// The whole product and c, which is twice as wide.
template <class T, class Made> void multiply_add_to(Warp& w, const Instruction& i, uint32_t lanes) {
    each_of<T, T, Made>(w, i, lanes, [](T a, T b, Made c) INLINE_LAMBDA {
        return static_cast<Made>(static_cast<Made>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) + c);
    });
}
void multiply_add_wide(Warp& w, const Instruction& i, uint32_t lanes) {
    switch (kind_of(i)) {
        case U16: return multiply_add_to<uint16_t, uint32_t>(w, i, lanes);
        case S16: return multiply_add_to<int16_t, uint32_t>(w, i, lanes);
        case U32: return multiply_add_to<uint32_t, uint64_t>(w, i, lanes);
        default: return multiply_add_to<int32_t, uint64_t>(w, i, lanes);
    }
}

// ---- quotients

struct Ratio { template <class T> INLINE T operator()(T a, T b, T) const { return a / b; } };
struct Quotient {
    template <class T> T operator()(T a, T b, T) const {
        if (b == 0) return static_cast<T>(~T{});
        if (std::is_signed_v<T> && static_cast<int64_t>(b) == -1) return static_cast<T>(0 - static_cast<uint64_t>(a));
        return static_cast<T>(a / b);
    }
};
void divide(Warp& w, const Instruction& i, uint32_t lanes) {
    return is_float(i) ? of_floats<Ratio>(w, i, lanes) : of_wholes<Quotient>(w, i, lanes);
}
struct Remainder {
    template <class T> T operator()(T a, T b, T) const {
        return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(Quotient{}(a, b, b)) * static_cast<uint64_t>(b));
    }
};

// ---- functions of floats; 2^a, log2(a) and 1 / sqrt(a) of numbers however small

struct Root { template <class T> INLINE T operator()(T a, T, T) const { return std::sqrt(a); } };
struct Reciprocal { template <class T> INLINE T operator()(T a, T, T) const { return T{1} / a; } };
// Within 2 units of the last place: a times 1 / b, which is zero where b is larger than 2^126. Of what is too small to be
// normal both are scaled before.
struct RoughRatio {
    template <class T> INLINE T operator()(T a, T b, T) const {
        auto x = static_cast<float>(a), y = static_cast<float>(b), scale = std::fabs(y) < 0x1p-126f ? 0x1p24f : 1.0f;
        return static_cast<T>(x * scale * flush(1.0f / (y * scale)));
    }
};
// Below -126 it is the square of 2^(a / 2).
struct PowerOfTwo {
    template <class T> INLINE T operator()(T a, T, T) const {
        auto x = static_cast<float>(a);
        bool is_small = x < -126.0f;
        float power = power_of_two(is_small ? x * 0.5f : x);
        return static_cast<T>(is_small ? power * power : power);
    }
};
// What is not normal is scaled before.
struct Logarithm {
    template <class T> T operator()(T a, T, T) const {
        auto x = static_cast<float>(a);
        bool is_small = std::fabs(x) < 0x1p-126f;
        auto found = static_cast<float>(std::log2(static_cast<double>(is_small ? x * 0x1p24f : x)));
        return static_cast<T>(is_small ? found - 24.0f : found);
    }
};
struct ReciprocalRoot { template <class T> T operator()(T a, T, T) const { return static_cast<T>(1.0 / std::sqrt(static_cast<double>(a))); } };

// ---- the smaller, the size, the sign

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

struct Size { template <class T> INLINE T operator()(T a, T, T) const { return static_cast<T>(a < 0 ? 0 - static_cast<uint64_t>(a) : a); } };
// |a - b| + c
struct Distance {
    template <class T> INLINE T operator()(T a, T b, T c) const {
        auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
        return static_cast<T>((a < b ? y - x : x - y) + static_cast<uint64_t>(c));
    }
};
// b with the sign of a, which are floats.
void copy_sign(Warp& w, const Instruction& i, uint32_t lanes) {
    of_bits(kind_of(i) == F64 ? U64 : U32, [&](auto zero) {
        using T = decltype(zero);
        constexpr T SIGN = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
        each_number<T>(w, i, lanes, [](T a, T b, T) { return static_cast<T>((a & SIGN) | (b & static_cast<T>(~SIGN))); });
    });
}

// Variant bits 0 to 2: less, equal, greater; 8 and 9 as `joined`.
void compare(Warp& w, const Instruction& i, uint32_t lanes) {
    Pairs a(w, i.a), b(w, i.b);
    Comparison holds(i.variant);
    uint32_t found = 0;
    of_whole(kind_of(i), [&](auto zero) {
        using T = decltype(zero);
        LANES found |= (holds(get<T>(a, k), get<T>(b, k)) ? 1u : 0u) << k;
    });
    join(w, i, lanes, found);
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
    {"typed add", of_any<Sum>},
    {"typed subtract", of_any<Difference>},
    {"typed multiply add", of_any<MultiplyAdd>},
    {"typed multiply add wide", multiply_add_wide},
    {"typed multiply add upper", of_wholes<UpperHalf>},
    {"typed divide", divide},
    {"typed remainder", of_wholes<Remainder>},
    {"typed root", of_floats<Root>},
    {"typed reciprocal", of_floats<Reciprocal>},
    {"typed divide roughly", of_floats<RoughRatio>},
    {"typed power of two", of_floats<PowerOfTwo>},
    {"typed logarithm", of_floats<Logarithm>},
    {"typed reciprocal root", of_floats<ReciprocalRoot>},
    {"typed extreme", extreme},
    {"typed size", of_wholes<Size>},
    {"typed copy sign", copy_sign},
    {"typed difference", of_wholes<Distance>},
    {"typed compare", compare},
    {"typed convert", convert_whole},
    {nullptr, nullptr},
};

}  // namespace machine
