// Whole numbers of 32 bits, and logic.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "lanes.h"

namespace machine {

namespace {

using Signed = int32_t;
INLINE Signed as_signed(uint32_t x) { return static_cast<Signed>(x); }

// F{}(a, b, c) of words as they are, and as the instruction wants them.
template <class F> void as_is(Warp& w, const Instruction& i, uint32_t lanes) { map(w, i, lanes, F{}); }
template <class F> void of_words(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    map(w, i, lanes, [&](uint32_t a, uint32_t b, uint32_t c) { return F{}(o.whole<0>(a), o.whole<1>(b), o.whole<2>(c)); });
}
struct Moved { INLINE uint32_t operator()(uint32_t a, uint32_t, uint32_t) const { return a; } };
struct SumOfThree { INLINE uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const { return a + b + c; } };
struct ProductAndSum { INLINE uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const { return a * b + c; } };

// Sums a + b + c, and, where variant is 1, two carries that come in; the carries out are predicates p and q.
template <bool AS_IS, bool TAKES_CARRIES, bool GIVES_CARRIES> void whole_add(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    const uint32_t *a = w.row(i.a), *b = w.row(i.b), *c = w.row(i.c);
    uint32_t* d = w.row(i.d);
    alignas(64) uint32_t on[WARP], first[WARP], second[WARP];
    spread(lanes, on);
    spread(TAKES_CARRIES ? w.predicate_of(i.s, i.s_flip) : 0, first);
    spread(TAKES_CARRIES ? w.predicate_of(i.t, i.t_flip) : 0, second);
    uint32_t ones = AS_IS ? 0 : o.keep[0] + o.keep[1] + o.keep[2];
    LANES {
        // -x is ~x + 1, and what the 1 carries counts
        uint32_t x = a[k], y = b[k], z = c[k];
        if constexpr (!AS_IS) x ^= o.flip[0], y ^= o.flip[1], z ^= o.flip[2];
        uint32_t two = x + y, three = two + z, sum = three + ones - first[k] - second[k];
        d[k] = chosen(on[k], sum, d[k]);
        if constexpr (GIVES_CARRIES) {
            uint32_t carries = (two < x ? 1u : 0u) + (three < two ? 1u : 0u) + (sum < three ? 1u : 0u);
            first[k] = carries > 0 ? ALL : 0;
            second[k] = carries > 1 ? ALL : 0;
        }
    }
    if constexpr (GIVES_CARRIES) {
        set_predicate(w, i.p, lanes, lanes_of(first));
        set_predicate(w, i.q, lanes, lanes_of(second));
    }
}
Handler choose_whole_add(const Instruction& i) {
    bool takes = i.variant & 1, gives = i.p != NOBODY_READS || i.q != NOBODY_READS;
    if (!takes_wholes(i)) return takes ? whole_add<false, true, true> : whole_add<false, false, true>;
    if (!takes) return gives ? whole_add<true, false, true> : as_is<SumOfThree>;
    return gives ? whole_add<true, true, true> : whole_add<true, true, false>;
}

void whole_multiply_add(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    if (!(i.variant & 1)) return of_words<ProductAndSum>(w, i, lanes);
    uint32_t in = w.predicate_of(i.s, i.s_flip);
    one_by_one(w, i, lanes, [&](int k, uint32_t a, uint32_t b, uint32_t c) {
        return o.whole<0>(a) * o.whole<1>(b) + o.whole<2>(c) + (in >> k & 1);
    });
}
Handler choose_multiply_add(const Instruction& i) {
    return takes_wholes(i) && !i.variant ? as_is<ProductAndSum> : whole_multiply_add;
}

// (a << n) + b, n in the variant; variant bit 8: of the pair c:a, its upper word; bit 9: c is a's sign; bit 10: a carry comes in.
// -a is the opposite of what was shifted, so that a carry goes out where that is nothing.
template <bool AS_IS> void whole_shift_add(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    if constexpr (AS_IS) o = Operands();
    uint32_t by = i.variant & 31;
    bool is_upper = i.variant & 256, extends = i.variant & 512;
    uint32_t ones = o.keep[1] + (is_upper ? 0 : o.keep[0]);
    const uint32_t *a = w.row(i.a), *b = w.row(i.b), *c = w.row(i.c);
    uint32_t* d = w.row(i.d);
    alignas(64) uint32_t on[WARP], carried[WARP], shifted[WARP];
    spread(lanes, on);
    spread(i.variant & 1024 ? w.predicate_of(i.s, i.s_flip) : 0, carried);
    if (is_upper) {
        LANES {
            uint32_t low = o.whole<0>(a[k]), high = extends ? static_cast<uint32_t>(as_signed(low) >> 31) : c[k];
            shifted[k] = high << by | low >> 1 >> (31 - by);
        }
    } else {
        LANES shifted[k] = (a[k] << by) ^ o.flip[0];
    }
    LANES {
        uint32_t two = shifted[k] + (b[k] ^ o.flip[1]), sum = two + ones - carried[k];
        carried[k] = (two < shifted[k]) | (sum < two) ? ALL : 0;
        d[k] = chosen(on[k], sum, d[k]);
    }
    set_predicate(w, i.p, lanes, lanes_of(carried));
}
void whole_shift_add_alone(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t by = i.variant & 31;
    map(w, i, lanes, [&](uint32_t a, uint32_t b, uint32_t) INLINE_LAMBDA { return (a << by) + b; });
}
Handler choose_shift_add(const Instruction& i) {
    bool is_alone = takes_wholes(i) && i.variant < 32 && i.p == NOBODY_READS;
    return is_alone ? whole_shift_add_alone : takes_wholes(i) ? whole_shift_add<true> : whole_shift_add<false>;
}

// Any function of three bits: variant is its table. A predicate tells whether the result is not zero.
void whole_logic(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    uint32_t table = i.variant & 255;
    auto run = [&](auto f) INLINE_LAMBDA {
        map(w, i, lanes, [&](uint32_t a, uint32_t b, uint32_t c) { return f(o.whole<0>(a), o.whole<1>(b), o.whole<2>(c)); });
    };
    switch (table) {
        case 0xc0: run([](uint32_t a, uint32_t b, uint32_t) { return a & b; }); break;
        case 0xfc: run([](uint32_t a, uint32_t b, uint32_t) { return a | b; }); break;
        case 0x3c: run([](uint32_t a, uint32_t b, uint32_t) { return a ^ b; }); break;
        default: {
            uint32_t term[8];
            for (int n = 0; n < 8; n++) term[n] = 0u - (table >> n & 1);
            run([&](uint32_t a, uint32_t b, uint32_t c) {
                uint32_t with_b = (b & ((c & term[7]) | (~c & term[6]))) | (~b & ((c & term[5]) | (~c & term[4])));
                uint32_t without = (b & ((c & term[3]) | (~c & term[2]))) | (~b & ((c & term[1]) | (~c & term[0])));
                return (a & with_b) | (~a & without);
            });
        }
    }
    if (i.p != NOBODY_READS) {
        const uint32_t* d = w.row(i.d);
        uint32_t found = 0, other = w.predicate_of(i.s, i.s_flip);
        LANES found |= (d[k] ? 1u : 0u) << k;
        set_predicate(w, i.p, lanes, i.variant & 256 ? found & other : found | other);
    }
}

// Any two functions of three predicates: s, t and the one whose number is in d, opposite where c is 1.
void predicate_logic(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t x = w.predicate_of(i.s, i.s_flip), y = w.predicate_of(i.t, i.t_flip), z = w.predicate_of(i.d, i.c);
    auto of_table = [&](uint32_t table) {
        uint32_t found = 0;
        for (uint32_t n = 0; n < 8; n++) {
            if (table >> n & 1) found |= (n & 4 ? x : ~x) & (n & 2 ? y : ~y) & (n & 1 ? z : ~z);
        }
        return found;
    };
    uint32_t first = of_table(i.variant & 255), second = of_table(i.variant >> 8 & 255);
    set_predicate(w, i.p, lanes, first);
    set_predicate(w, i.q, lanes, second);
}

// Bits of the predicates P0 to P6 that variant names, in place of those of b; bit 8: of the uniform ones.
void predicates_to_row(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t mask = i.variant & 255, first = i.variant & 256 ? 8 : 0;
    one_by_one(w, i, lanes, [&](int k, uint32_t, uint32_t b, uint32_t) {
        uint32_t bits = 0;
        for (int n = 0; n < 7; n++) bits |= (w.predicate[first + static_cast<uint32_t>(n)] >> k & 1) << n;
        return (b & ~mask) | (bits & mask);
    });
}
void row_to_predicates(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t* a = w.row(i.a);
    for (unsigned n = 0; n < 7; n++) {
        uint32_t bits = 0;
        for (int k = 0; k < WARP; k++) bits |= (a[k] >> n & 1) << k;
        if (i.variant >> n & 1) set_predicate(w, n, lanes, bits);
    }
}

// Comparison of whole numbers: variant bit 0 less, 1 equal, 2 greater, 3 unsigned, 4: words below were compared before,
// predicate t tells how; 8 and 9 how it joins predicate s.
void whole_compare(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    bool less = i.variant & 1, equal = i.variant & 2, greater = i.variant & 4;
    uint32_t bias = i.variant & 8 ? 0 : 0x80000000u;
    uint32_t below = test(w, i, [&](uint32_t a, uint32_t b, uint32_t) { return (o.whole<0>(a) ^ bias) < (o.whole<1>(b) ^ bias); });
    uint32_t same = test(w, i, [&](uint32_t a, uint32_t b, uint32_t) { return o.whole<0>(a) == o.whole<1>(b); });
    uint32_t above = ~(below | same), found;
    if (i.variant & 16) {
        uint32_t before = w.predicate_of(i.t, i.t_flip);
        bool is_unequal = less && greater;
        found = is_unequal ? ~same | before : (less ? below : 0) | (greater ? above : 0) | (same & before);
    } else {
        found = (less ? below : 0) | (equal ? same : 0) | (greater ? above : 0);
    }
    join(w, i, lanes, found);
}

// The same of words as they are, of which no words below were compared: HOW is the variant's bits 0 to 3.
template <int HOW> void whole_compare_alone(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t found = test(w, i, [](uint32_t a, uint32_t b, uint32_t) INLINE_LAMBDA {
        using Number = std::conditional_t<(HOW & 8) != 0, uint32_t, Signed>;
        auto x = static_cast<Number>(a), y = static_cast<Number>(b);
        return ((HOW & 1) && x < y) || ((HOW & 2) && x == y) || ((HOW & 4) && x > y);
    });
    join(w, i, lanes, found);
}
template <int... HOW> Handler compare_alone(uint32_t how, std::integer_sequence<int, HOW...>) {
    constexpr Handler all[] = {whole_compare_alone<HOW>...};
    return all[how];
}
Handler choose_whole_compare(const Instruction& i) {
    if (!takes_wholes(i) || i.variant & 16) return whole_compare;
    return compare_alone(i.variant & 15, std::make_integer_sequence<int, 16>());
}

void whole_select(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    select(w, i, lanes, [&](uint32_t x) INLINE_LAMBDA { return o.whole<0>(x); }, [&](uint32_t x) INLINE_LAMBDA { return o.whole<1>(x); });
}

// Of a (+ b, variant bit 1) and the other operands, COUNT in all, the least where predicate s is true, else the greatest;
// bit 0: unsigned; 2: not less than 0.
template <int COUNT> void whole_extreme(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    uint32_t wants_least = w.predicate_of(i.s, i.s_flip), bias = i.variant & 1 ? 0 : 0x80000000u;
    bool adds = i.variant & 2, bounds = i.variant & 4;
    one_by_one(w, i, lanes, [&](int k, uint32_t a, uint32_t b, uint32_t c) {
        uint32_t x = o.whole<0>(a), y = o.whole<1>(b), z = o.whole<2>(c);
        if (adds) x += y, y = z;
        if (COUNT < 3) z = y;
        x ^= bias, y ^= bias, z ^= bias;
        uint32_t found = bias ^ (wants_least >> k & 1 ? std::min({x, y, z}) : std::max({x, y, z}));
        return bounds && as_signed(found) < 0 ? 0 : found;
    });
}

// A funnel: the pair c:a shifted by b. Variant bit 0: to the right; 1: the upper word; 2: bits of the number count
// as 64, not 32; 3: signed; 4: the distance wraps.
void whole_shift(Warp& w, const Instruction& i, uint32_t lanes) {
    bool is_right = i.variant & 1, is_upper = i.variant & 2, is_long = i.variant & 4, is_signed = i.variant & 8, wraps = i.variant & 16;
    uint32_t most = is_long ? 64 : 32;
    map(w, i, lanes, [&](uint32_t a, uint32_t b, uint32_t c) {
        uint32_t by = wraps ? b & (most - 1) : b < most ? b : most;
        uint64_t both = pair(a, c), moved = by > 63 ? 0 : is_right ? both >> by : both << by;
        if (is_right && is_signed) moved = static_cast<uint64_t>(static_cast<int64_t>(both) >> (by > 63 ? 63 : by));
        return is_upper ? high_of(moved) : low_of(moved);
    });
}
INLINE uint32_t to_left(uint32_t x, uint32_t by) { return by > 31 ? 0 : x << by; }
INLINE uint32_t to_right(uint32_t x, uint32_t by) { return by > 31 ? 0 : x >> by; }
// Where the result needs only one of the two words, or a distance below 64.
struct WordLeft { INLINE uint32_t operator()(uint32_t a, uint32_t b, uint32_t) const { return to_left(a, b); } };
struct WordRight { INLINE uint32_t operator()(uint32_t, uint32_t b, uint32_t c) const { return to_right(c, b); } };
struct WordRightSigned {
    INLINE uint32_t operator()(uint32_t, uint32_t b, uint32_t c) const { return static_cast<uint32_t>(as_signed(c) >> (b > 31 ? 31 : b)); }
};
struct PairLeft {
    INLINE uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const { return to_left(c, b) | to_right(a, 32 - b) | to_left(a, b - 32); }
};
Handler choose_shift(const Instruction& i) {
    switch (i.variant) {
        case 0: return as_is<WordLeft>;
        case 1 | 2: return as_is<WordRight>;
        case 1 | 2 | 8: return as_is<WordRightSigned>;
        case 2 | 4: return as_is<PairLeft>;
        default: return whole_shift;
    }
}

// Two rows at once.
void whole_move_pair(Warp& w, const Instruction& i, uint32_t lanes) {
    each_pair(w, i, lanes, [](uint64_t a, uint64_t, uint64_t) { return a; });
}
struct Size { INLINE uint32_t operator()(uint32_t x, uint32_t, uint32_t) const { return as_signed(x) < 0 ? 0u - x : x; } };
struct CountBits { INLINE uint32_t operator()(uint32_t x, uint32_t, uint32_t) const { return static_cast<uint32_t>(__builtin_popcount(x)); } };
struct ReverseBits {
    INLINE uint32_t operator()(uint32_t x, uint32_t, uint32_t) const {
        x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
        x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
        x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
        return __builtin_bswap32(x);
    }
};
// The number of the highest bit; variant bit 0: of a signed number the highest that is not its sign; 1: how far it is from bit 31.
void whole_find_bit(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    one_by_one(w, i, lanes, [&](int, uint32_t a, uint32_t, uint32_t) {
        uint32_t x = o.whole<0>(a);
        if (i.variant & 1 && as_signed(x) < 0) x = ~x;
        if (!x) return ALL;
        auto zeros = static_cast<uint32_t>(__builtin_clz(x));
        return i.variant & 2 ? zeros : 31 - zeros;
    });
}
// Bytes of the pair c:a by the selectors in b; bit 3 of one repeats its sign. Variant: another way to choose them.
enum Permutation : uint32_t { BY_SELECTOR, FORWARD, BACKWARD, ONE_BYTE, FROM_LEFT, FROM_RIGHT, ONE_HALF };
void whole_permute(Warp& w, const Instruction& i, uint32_t lanes) {
    one_by_one(w, i, lanes, [&](int, uint32_t a, uint32_t b, uint32_t c) {
        uint64_t both = pair(a, c);
        uint32_t made = 0, n = b & 3;
        for (uint32_t byte = 0; byte < 4; byte++) {
            uint32_t from = 0;
            switch (i.variant) {
                case BY_SELECTOR: from = b >> 4 * byte & 15; break;
                case FORWARD: from = n + byte; break;
                case BACKWARD: from = (n + 8 - byte) & 7; break;
                case ONE_BYTE: from = n; break;
                case FROM_LEFT: from = std::max(byte, n); break;
                case FROM_RIGHT: from = std::min(byte, n); break;
                default: from = (n & 1) * 2 + (byte & 1); break;
            }
            auto found = static_cast<uint32_t>(both >> 8 * (from & 7)) & 255;
            if (i.variant == BY_SELECTOR && from & 8) found = found & 128 ? 255 : 0;
            made |= found << 8 * byte;
        }
        return made;
    });
}
// The lowest b bits of a; variant bit 0: signed; bit 1: b counts modulo 32.
void whole_extend(Warp& w, const Instruction& i, uint32_t lanes) {
    map(w, i, lanes, [&](uint32_t a, uint32_t b, uint32_t) {
        uint32_t bits = i.variant & 2 ? b & 31 : b;
        if (bits > 31) return a;
        if (bits == 0) return 0u;
        uint32_t away = 32 - bits;
        return i.variant & 1 ? static_cast<uint32_t>(as_signed(a << away) >> away) : a << away >> away;
    });
}
// b ones from bit a on; variant 1: both count modulo 32.
void whole_mask(Warp& w, const Instruction& i, uint32_t lanes) {
    map(w, i, lanes, [&](uint32_t a, uint32_t b, uint32_t) {
        uint32_t from = i.variant & 1 ? a & 31 : a, many = i.variant & 1 ? b & 31 : b;
        if (from > 31) return 0u;
        uint32_t ones = many > 31 ? ALL : (1u << many) - 1;
        return ones << from;
    });
}
// |a - b| + c; variant 1: unsigned.
void whole_difference(Warp& w, const Instruction& i, uint32_t lanes) {
    Operands o(i);
    map(w, i, lanes, [&](uint32_t a, uint32_t b, uint32_t c) {
        uint32_t x = o.whole<0>(a), y = o.whole<1>(b);
        bool is_less = i.variant & 1 ? x < y : as_signed(x) < as_signed(y);
        return (is_less ? y - x : x - y) + o.whole<2>(c);
    });
}
// ---- several small numbers a word: variant bits 0 to 4 how many bits each has, 5 signed

// The one from bit `at` on, of so many bits.
INLINE Signed part_of(uint32_t x, uint32_t at, uint32_t bits, bool is_signed) {
    uint32_t mask = (1u << bits) - 1, there = x >> at & mask;
    return as_signed(is_signed && there >> (bits - 1) ? there | ~mask : there);
}
// f(lane, a, b, c) of the parts or, where `adds`, of a + b, c and c.
template <class F> INLINE void each_part(Warp& w, const Instruction& i, uint32_t lanes, F f, bool adds = false) {
    uint32_t bits = i.variant & 31, mask = (1u << bits) - 1;
    auto part = [&](uint32_t x, uint32_t at) { return part_of(x, at, bits, i.variant & 32); };
    auto signed_as = [&](int n, Signed x) { return i.flip[n] ? -x : x; };  // each part has its own sign
    one_by_one(w, i, lanes, [&](int k, uint32_t a, uint32_t b, uint32_t c) {
        uint32_t made = 0;
        for (uint32_t at = 0; at < 32; at += bits) {
            Signed x = signed_as(0, part(a, at)), y = signed_as(1, part(b, at)), z = signed_as(2, part(c, at));
            if (adds) x = part(static_cast<uint32_t>(x + y), 0), y = z;
            made |= (static_cast<uint32_t>(f(k, x, y, z)) & mask) << at;
        }
        return made;
    });
}
void parts_add(Warp& w, const Instruction& i, uint32_t lanes) {
    each_part(w, i, lanes, [](int, Signed a, Signed b, Signed) { return a + b; });
}
// Of COUNT of them the least where predicate s is true, else the greatest.
template <int COUNT, bool ADDS> void parts_extreme(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t wants_least = w.predicate_of(i.s, i.s_flip);
    each_part(w, i, lanes, [&](int k, Signed a, Signed b, Signed c) {
        if (COUNT < 3) c = b;
        return wants_least >> k & 1 ? std::min({a, b, c}) : std::max({a, b, c});
    }, ADDS);
}
void parts_difference(Warp& w, const Instruction& i, uint32_t lanes) {
    each_part(w, i, lanes, [](int, Signed a, Signed b, Signed) { return a < b ? b - a : a - b; });
}
// The sum of the differences, and c.
void parts_differences(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t bits = i.variant & 31, mask = (1u << bits) - 1;
    Row sums;
    std::copy_n(w.row(i.c), WARP, sums.lane);  // it may be the row that is written
    parts_difference(w, i, lanes);
    uint32_t* d = w.row(i.d);
    for (int k : EachLane{lanes}) {
        uint32_t sum = sums.lane[k];
        for (uint32_t at = 0; at < 32; at += bits) sum += d[k] >> at & mask;
        d[k] = sum;
    }
}

// Products of the four bytes (variant bit 2: two halves by two bytes; 3: the upper two) of a and b and their sum with c;
// bits 0 and 1: a's and b's are signed.
void whole_dot(Warp& w, const Instruction& i, uint32_t lanes) {
    one_by_one(w, i, lanes, [&](int, uint32_t a, uint32_t b, uint32_t c) {
        uint32_t bits = i.variant & 4 ? 16 : 8, first = i.variant & 8 ? 2 : 0;
        for (uint32_t n = 0; n < 32 / bits; n++) {
            c += static_cast<uint32_t>(part_of(a, bits * n, bits, i.variant & 1) * part_of(b, 8 * (n + first), 8, i.variant & 2));
        }
        return c;
    });
}

}  // namespace

const Operation WHOLE_OPERATIONS[] = {
    {"whole add", nullptr, choose_whole_add},
    {"whole multiply add", whole_multiply_add, choose_multiply_add},
    {"whole shift add", whole_shift_add<false>, choose_shift_add},
    {"whole logic", whole_logic},
    {"predicate logic", predicate_logic},
    {"predicates to row", predicates_to_row},
    {"row to predicates", row_to_predicates},
    {"whole compare", whole_compare, choose_whole_compare},
    {"whole select", whole_select},
    {"whole extreme", whole_extreme<2>},
    {"whole extreme of three", whole_extreme<3>},
    {"whole shift", whole_shift, choose_shift},
    {"whole move", as_is<Moved>},
    {"whole move pair", whole_move_pair},
    {"whole size", of_words<Size>},
    {"whole count bits", of_words<CountBits>},
    {"whole find bit", whole_find_bit},
    {"whole reverse bits", of_words<ReverseBits>},
    {"whole permute", whole_permute},
    {"whole extend", whole_extend},
    {"whole mask", whole_mask},
    {"whole difference", whole_difference},
    {"parts add", parts_add},
    {"parts extreme", parts_extreme<2, false>},
    {"parts extreme of three", parts_extreme<3, false>},
    {"parts add extreme", parts_extreme<2, true>},
    {"parts difference", parts_difference},
    {"parts differences", parts_differences},
    {"whole dot", whole_dot},
    {nullptr, nullptr},
};

}  // namespace machine
