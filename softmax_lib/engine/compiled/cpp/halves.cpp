// Two numbers of 16 bits a word: half precision and bfloat16.
#include "lanes.h"
#include "numbers.h"

namespace machine {

namespace {

// Of the variant: bits 0 to 5 which half of a, b and c goes to the lower and the upper result (2 bits each: 0 both,
// 1 the lower one twice, 2 the upper one twice, 3 a float, cut to 16 bits); then what the numbers are and how they end.
enum Flags : uint32_t {
    IS_BFLOAT = 64, TO_FLOAT = 128, FLUSHES = 256, SATURATES = 512, RELU = 1024, PASSES_NAN = 2048,
    COMPARE_SHIFT = 16,    // bits 16 to 19: as "float compare"
    JOIN_SHIFT = 20,       // and two bits how it joins
    MERGES = 1u << 22,
    FLAG_BITS = 1u << 23,  // results of a comparison are bit masks, not 1.0
};

struct Halves {
    const Instruction& i;

    bool is_bfloat() const { return i.variant & IS_BFLOAT; }
    float number(uint16_t bits) const { return from_half(bits, is_bfloat()); }
    // A float that comes in is rounded towards zero: sm_75 converts so by HADD2 with a zero (and to nearest by F2F).
    float cut(float x) const { return number(to_half(x, is_bfloat(), TO_ZERO)); }
    // The n-th operand's half that goes to the lower (part 0) or upper result.
    float part(int n, uint32_t x, int part) const {
        uint32_t which = i.variant >> 2 * n & 3;
        bool is_upper = which == 0 ? part : which == 2;
        float found = which == 3 ? cut(real(x)) : number(static_cast<uint16_t>(is_upper ? x >> 16 : x));
        found = i.keep[n] == ALL ? found : std::fabs(found);
        return i.flip[n] >> (part ? 31 : 15) & 1 ? -found : found;
    }
    uint16_t narrowed(double x) const {
        if (i.variant & SATURATES) x = x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0;
        if (i.variant & RELU && !(x > 0.0) && x == x) x = 0.0;
        uint16_t bits = to_half(x, is_bfloat()), least_normal = is_bfloat() ? 0x0080 : 0x0400;
        return i.variant & FLUSHES && (bits & 0x7fff) < least_normal ? bits & 0x8000 : bits;
    }
    // A result in one float (.F32): what 16 bits hold, bounded as that is.
    float rounded(double x) const { return number(narrowed(x)); }
};

// F{}(a, b, c) of numbers, exactly or rounded to odd, once for each half.
template <class F> void arithmetic(Warp& w, const Instruction& i, uint32_t lanes) {
    Halves h{i};
    one_by_one(w, i, lanes, [&](int, uint32_t a, uint32_t b, uint32_t c) {
        double low = F{}(h.part(0, a, 0), h.part(1, b, 0), h.part(2, c, 0));
        if (i.variant & TO_FLOAT) return word(settled(h.rounded(low)));
        double high = F{}(h.part(0, a, 1), h.part(1, b, 1), h.part(2, c, 1));
        return static_cast<uint32_t>(h.narrowed(high)) << 16 | h.narrowed(low);
    });
}
struct ExactSum { double operator()(double a, double b, double) const { return add_to_odd(a, b); } };
struct ExactProduct { double operator()(double a, double b, double) const { return a * b; } };
struct ExactFused { double operator()(double a, double b, double c) const { return add_to_odd(a * b, c); } };

// Of COUNT operands the smallest where predicate s is true, else the greatest.
template <int COUNT> void extreme(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t wants_least = w.predicate_of(i.s, i.s_flip);
    Halves h{i};
    one_by_one(w, i, lanes, [&](int k, uint32_t a, uint32_t b, uint32_t c) {
        uint32_t made = 0;
        auto pick = [&](float x, float y) {
            float found = wants_least >> k & 1 ? least(x, y) : greatest(x, y);
            return i.variant & PASSES_NAN && (x != x || y != y) ? real(NAN_BITS) : found;
        };
        for (int part = 0; part < 2; part++) {
            float found = pick(h.part(0, a, part), h.part(1, b, part));
            if (COUNT > 2) found = pick(found, h.part(2, c, part));
            made |= static_cast<uint32_t>(h.narrowed(found)) << 16 * part;
        }
        return made;
    });
}

// The lanes in which a comparison of their lower (part 0) or upper halves holds.
uint32_t compared(Warp& w, const Instruction& i, int part) {
    Halves h{i};
    Comparison holds(i.variant >> COMPARE_SHIFT);
    uint32_t found = test(w, i, [&](uint32_t a, uint32_t b, uint32_t) { return holds(h.part(0, a, part), h.part(1, b, part)); });
    return joined(w, i, found, JOIN_SHIFT);
}
// Two predicates, one for each half.
void half_compare(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t low = compared(w, i, 0), high = compared(w, i, 1);
    set_predicate(w, i.p, lanes, low);
    set_predicate(w, i.q, lanes, high);
}
void half_set(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t one = i.variant & FLAG_BITS ? 0xffffu : i.variant & IS_BFLOAT ? 0x3f80u : 0x3c00u;
    uint32_t low = compared(w, i, 0), high = compared(w, i, 1);
    one_by_one(w, i, lanes, [&](int k, uint32_t, uint32_t, uint32_t) {
        return (low >> k & 1) * one | (high >> k & 1) * one << 16;
    });
}
// Floats a and b packed as the upper and the lower half. Variant bits 0 and 1: rounding. A row c that is told of
// (bit 22) has the upper half instead, where it was the lower one.
void half_pack(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    bool is_bfloat = i.variant & IS_BFLOAT;
    uint32_t rounding = i.variant & ROUNDING;
    bool merges = i.variant & MERGES;
    auto pack = [&](float x) -> uint32_t {
        if (i.variant & RELU && !(x > 0.0f) && x == x) x = 0.0f;
        return to_half(x, is_bfloat, rounding);
    };
    one_by_one(w, i, lanes, [&](int, uint32_t a, uint32_t b, uint32_t c) {
        if (merges) return c << 16 | pack(o.number<0>(a));
        return pack(o.number<0>(a)) << 16 | pack(o.number<1>(b));
    });
}

}  // namespace

const Operation HALF_OPERATIONS[] = {
    {"half add", arithmetic<ExactSum>},
    {"half multiply", arithmetic<ExactProduct>},
    {"half fused", arithmetic<ExactFused>},
    {"half extreme", extreme<2>},
    {"half extreme of three", extreme<3>},
    {"half compare", half_compare},
    {"half set", half_set},
    {"half pack", half_pack},
    {nullptr, nullptr},
};

}  // namespace machine
