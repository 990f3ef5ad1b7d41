// Numbers of 64 bits, in two rows each: products of whole numbers, and double precision.
#include <type_traits>

#include "lanes.h"
#include "numbers.h"

namespace machine {

namespace {

// a * b + the pair c; variant bit 0: signed; 1: only the upper word stays; 2: a carry comes in; 3: -c. p tells of a carry.
void wide_multiply_add(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    bool is_signed = i.variant & 1, is_upper = i.variant & 2, negates = i.variant & 8;
    uint32_t in = i.variant & 4 ? w.predicate_of(i.s, i.s_flip) : 0;
    const uint32_t *a = w.row(i.a), *b = w.row(i.b), *c = w.row(i.c), *c2 = w.row(i.c + 1u);
    uint32_t *d = w.row(i.d), *d2 = is_upper ? nullptr : w.row(i.d + 1u);
    alignas(64) uint32_t on[WARP];
    spread(lanes, on);
    uint32_t out = 0;
    auto run = [&](auto product) INLINE_LAMBDA {
        LANES {
            uint64_t added = pair(c[k], c2[k]);
            added = (negates ? 0 - added : added) + (in >> k & 1);
            uint64_t sum = product(o.whole<0>(a[k]), o.whole<1>(b[k])) + added;
            out |= (sum < added ? 1u : 0u) << k;
            if (is_upper) {
                d[k] = chosen(on[k], high_of(sum), d[k]);
            } else {
                d[k] = chosen(on[k], low_of(sum), d[k]);
                d2[k] = chosen(on[k], high_of(sum), d2[k]);
            }
        }
    };
    if (is_signed) {
        run([](uint32_t x, uint32_t y) INLINE_LAMBDA {
            return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(x)) * static_cast<int32_t>(y));
        });
    } else {
        run([](uint32_t x, uint32_t y) INLINE_LAMBDA { return static_cast<uint64_t>(x) * y; });
    }
    set_predicate(w, i.p, lanes, out);
}

// The same of words as they are, without carries.
template <class Number> void wide_multiply_add_alone(Warp& w, const Instruction& i, uint32_t lanes) {
    each_pair(w, i, lanes, [](uint64_t a, uint64_t b, uint64_t c) INLINE_LAMBDA {
        using Wide = std::conditional_t<std::is_signed_v<Number>, int64_t, uint64_t>;
        auto product = static_cast<Wide>(static_cast<Number>(a)) * static_cast<Number>(b);
        return static_cast<uint64_t>(product) + c;
    });
}
Handler choose_wide_multiply_add(const Instruction& i) {
    if (!takes_wholes(i) || i.variant > 1 || i.p != NOBODY_READS) return wide_multiply_add;
    return i.variant ? wide_multiply_add_alone<int32_t> : wide_multiply_add_alone<uint32_t>;
}

// Of a double's two words only the upper one has a sign.
INLINE double double_of(uint64_t bits, uint32_t keep, uint32_t flip) {
    return bits_as<double>((bits & pair(ALL, keep)) ^ pair(0, flip));
}
INLINE uint64_t settled_bits(double x) { return x != x ? 0x7fffffffffffffffull : bits_as<uint64_t>(x); }

template <class F> INLINE void doubles(Warp& w, const Instruction& i, uint32_t lanes, F f) {
    Pairs a(w, i.a), b(w, i.b), c(w, i.c);
    uint32_t *d = w.row(i.d), *d2 = w.row(i.d + 1u);
    Direction direction(i.variant & ROUNDING);
    for (int k : EachLane{lanes}) {
        volatile double x = double_of(a[k], i.keep[0], i.flip[0]);
        volatile double y = double_of(b[k], i.keep[1], i.flip[1]);
        volatile double z = double_of(c[k], i.keep[2], i.flip[2]);
        uint64_t made = f(k, x, y, z);
        d[k] = low_of(made);
        d2[k] = high_of(made);
    }
}

// The lanes in which f(a, b) is true.
template <class F> INLINE uint32_t test_doubles(Warp& w, const Instruction& i, F f) {
    Pairs a(w, i.a), b(w, i.b);
    return lanes_where(ALL, [&](int k) {
        return f(double_of(a[k], i.keep[0], i.flip[0]), double_of(b[k], i.keep[1], i.flip[1]));
    });
}

template <class F> void double_arithmetic(Warp& w, const Instruction& i, uint32_t lanes) {
    doubles(w, i, lanes, [&](int, double a, double b, double c) { return settled_bits(F{}(a, b, c)); });
}
void double_extreme(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t wants_least = w.predicate_of(i.s, i.s_flip);
    doubles(w, i, lanes, [&](int k, double a, double b, double) {
        return settled_bits(wants_least >> k & 1 ? least(a, b) : greatest(a, b));
    });
}
// Whether a is the one to take of the two, the smaller where the variant is 1, else the greater; q whether both are NaNs.
void double_choose(Warp& w, const Instruction& i, uint32_t lanes) {
    bool is_least = i.variant == 1;
    uint32_t first = test_doubles(w, i, [&](double x, double y) {
        return x == y ? std::signbit(x) == is_least : (is_least ? x < y : x > y) || y != y;  // -0 is less than 0
    });
    uint32_t neither = test_doubles(w, i, [](double x, double y) { return x != x && y != y; });
    uint32_t other = w.predicate_of(i.s, i.s_flip);
    set_predicate(w, i.p, lanes, first & other);
    set_predicate(w, i.q, lanes, neither & other);
}

// As "float compare".
void double_compare(Warp& w, const Instruction& i, uint32_t lanes) { join(w, i, lanes, test_doubles(w, i, Comparison(i.variant))); }

// The upper word of 1 / a or 1 / sqrt(a), a's upper word given: a first guess of some 20 bits.
template <class F> void guess(Warp& w, const Instruction& i, uint32_t lanes) {
    auto flushed = [](double x) { return std::fabs(x) < 0x1p-1022 ? std::copysign(0.0, x) : x; };
    one_by_one(w, i, lanes, [&](int, uint32_t a, uint32_t, uint32_t) {
        double x = double_of(pair(0, a), i.keep[0], i.flip[0]);
        return high_of(settled_bits(flushed(F{}(flushed(x)))));
    });
}
struct Reciprocal { double operator()(double x) const { return 1.0 / x; } };
struct ReciprocalRoot { double operator()(double x) const { return 1.0 / std::sqrt(x); } };

}  // namespace

const Operation WIDE_OPERATIONS[] = {
    {"wide multiply add", wide_multiply_add, choose_wide_multiply_add},
    {"double add", double_arithmetic<Sum>},
    {"double multiply", double_arithmetic<Product>},
    {"double fused", double_arithmetic<Fused>},
    {"double extreme", double_extreme},
    {"double compare", double_compare},
    {"double choose", double_choose},
    {"double guess reciprocal", guess<Reciprocal>},
    {"double guess reciprocal root", guess<ReciprocalRoot>},
    {nullptr, nullptr},
};

}  // namespace machine
