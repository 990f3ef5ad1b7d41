// Single precision.
#include "lanes.h"
#include "numbers.h"

namespace machine {

namespace {

// F{}(a, b, c) of floats, as the flags want it,
template <class F> void arithmetic(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    bool flushes = i.variant & FLUSHED, saturates = i.variant & SATURATED;
    Directed<F> directed(i.variant & ROUNDING);
    auto settle = [&](float x) INLINE_LAMBDA { return flushes ? flush(x) : x; };
    map(w, i, lanes, [&](uint32_t a, uint32_t b, uint32_t c) {
        float made = settle(directed(settle(o.number<0>(a)), settle(o.number<1>(b)), settle(o.number<2>(c))));
        return word(saturates ? saturate(made) : settled(made));
    });
}
// of floats as they are,
template <class F> void arithmetic_as_is(Warp& w, const Instruction& i, uint32_t lanes) {
    map(w, i, lanes, [](uint32_t a, uint32_t b, uint32_t c) INLINE_LAMBDA { return word(settled(F{}(real(a), real(b), real(c)))); });
}
template <class F> void arithmetic_directed(Warp& w, const Instruction& i, uint32_t lanes) {
    Directed<F> directed(i.variant);
    map(w, i, lanes, [&](uint32_t a, uint32_t b, uint32_t c) INLINE_LAMBDA { return word(settled(directed(real(a), real(b), real(c)))); });
}
template <class F> void arithmetic_saturated(Warp& w, const Instruction& i, uint32_t lanes) {
    map(w, i, lanes, [](uint32_t a, uint32_t b, uint32_t c) INLINE_LAMBDA { return word(saturate(F{}(real(a), real(b), real(c)))); });
}
// and of floats without flags.
template <class F> void arithmetic_signed(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    map(w, i, lanes, [&](uint32_t a, uint32_t b, uint32_t c) {
        return word(settled(F{}(o.number<0>(a), o.number<1>(b), o.number<2>(c))));
    });
}
template <class F> Handler choose_arithmetic(const Instruction& i) {
    if (!takes_floats(i)) return i.variant ? arithmetic<F> : arithmetic_signed<F>;
    if (i.variant == SATURATED) return arithmetic_saturated<F>;
    if (i.variant & ~ROUNDING) return arithmetic<F>;
    return i.variant ? arithmetic_directed<F> : arithmetic_as_is<F>;
}

// The smaller one where the predicate is true, else the greater; variant 1: subnormals are zeros; 2: a NaN is passed on.
void float_extreme(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    uint32_t wants_least = w.predicate_of(i.s, i.s_flip);
    bool flushes = i.variant & 1, passes_nan = i.variant & 2;
    auto pick = [&](float a, float b, bool is_least) INLINE_LAMBDA {
        if (flushes) a = flush(a), b = flush(b);
        float found = is_least ? least(a, b) : greatest(a, b);
        return word(passes_nan && (a != a || b != b) ? real(NAN_BITS) : settled(found));
    };
    if (wants_least == ALL && !i.variant) {
        map(w, i, lanes, [&](uint32_t a, uint32_t b, uint32_t) { return word(settled(least(o.number<0>(a), o.number<1>(b)))); });
    } else if (wants_least == 0 && !i.variant) {
        map(w, i, lanes, [&](uint32_t a, uint32_t b, uint32_t) { return word(settled(greatest(o.number<0>(a), o.number<1>(b)))); });
    } else {
        one_by_one(w, i, lanes, [&](int k, uint32_t a, uint32_t b, uint32_t) {
            return pick(o.number<0>(a), o.number<1>(b), wants_least >> k & 1);
        });
    }
}

void float_select(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    select(w, i, lanes, [&](uint32_t x) INLINE_LAMBDA { return word(o.number<0>(x)); }, [&](uint32_t x) INLINE_LAMBDA { return word(o.number<1>(x)); });
}

// Variant bits 0 to 3: the comparison; 4: subnormals are zeros.
uint32_t compare(Warp& w, const Instruction& i) {
    Operands o(i);
    bool flushes = i.variant & 16;
    Comparison holds(i.variant);
    return test(w, i, [&](uint32_t a, uint32_t b, uint32_t) {
        float x = o.number<0>(a), y = o.number<1>(b);
        x = flushes ? flush(x) : x;
        y = flushes ? flush(y) : y;
        return holds(x, y);
    });
}
void float_compare(Warp& w, const Instruction& i, uint32_t lanes) { join(w, i, lanes, compare(w, i)); }

// The same, as a word: c where it is true, else zero.
void float_set(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t found = joined(w, i, compare(w, i));
    one_by_one(w, i, lanes, [&](int k, uint32_t, uint32_t, uint32_t c) { return found >> k & 1 ? c : 0; });
}

void float_check_division(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    uint32_t found = test(w, i, [&](uint32_t a, uint32_t b, uint32_t) {
        return needs_long_division(o.number<0>(a), o.number<1>(b));
    });
    set_predicate(w, i.p, lanes, found);
}

// ---- the special function unit: within the error that CUDA's guide gives; small numbers count as zeros

template <class F> void special(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    one_by_one(w, i, lanes, [&](int, uint32_t a, uint32_t, uint32_t) { return word(settled(F{}(flush(o.number<0>(a))))); });
}
void special_power(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    map(w, i, lanes, [&](uint32_t a, uint32_t, uint32_t) { return word(power_of_two(o.number<0>(a))); });
}
void special_reciprocal(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    map(w, i, lanes, [&](uint32_t a, uint32_t, uint32_t) { return word(settled(flush(1.0f / flush(o.number<0>(a))))); });
}
constexpr double TURN = 6.283185307179586476925;  // angles come as parts of one
struct Logarithm { float operator()(double x) const { return static_cast<float>(std::log2(x)); } };
struct ReciprocalRoot { float operator()(double x) const { return static_cast<float>(1.0 / std::sqrt(x)); } };
struct Root { float operator()(float x) const { return std::sqrt(x); } };
struct Sine { float operator()(double x) const { return static_cast<float>(std::sin(x * TURN)); } };
struct Cosine { float operator()(double x) const { return static_cast<float>(std::cos(x * TURN)); } };
struct Tangent { float operator()(double x) const { return static_cast<float>(std::tanh(x)); } };

}  // namespace

const Operation FLOAT_OPERATIONS[] = {
    {"float add", arithmetic<Sum>, choose_arithmetic<Sum>},
    {"float multiply", arithmetic<Product>, choose_arithmetic<Product>},
    {"float fused", arithmetic<Fused>, choose_arithmetic<Fused>},
    {"float extreme", float_extreme},
    {"float select", float_select},
    {"float compare", float_compare},
    {"float set", float_set},
    {"float check division", float_check_division},
    {"special power", special_power},
    {"special logarithm", special<Logarithm>},
    {"special reciprocal", special_reciprocal},
    {"special reciprocal root", special<ReciprocalRoot>},
    {"special root", special<Root>},
    {"special sine", special<Sine>},
    {"special cosine", special<Cosine>},
    {"special tangent", special<Tangent>},
    {nullptr, nullptr},
};

}  // namespace machine
