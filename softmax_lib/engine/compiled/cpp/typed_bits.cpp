// What PTX does with bits of any width: logic, shifts, fields, counts, selections and moves.
#include <algorithm>

#include "typed.h"

namespace machine {

namespace {

// F{}(a, b, c) of the bits of a number.
template <class F> void bits(Warp& w, const Instruction& i, uint32_t lanes) {
    of_bits(kind_of(i), [&](auto zero) { each_number<decltype(zero)>(w, i, lanes, F{}); });
}
struct And { template <class T> INLINE T operator()(T a, T b, T) const { return a & b; } };
struct Or { template <class T> INLINE T operator()(T a, T b, T) const { return a | b; } };
struct ExclusiveOr { template <class T> INLINE T operator()(T a, T b, T) const { return a ^ b; } };

// Distances are words; one as wide as the number or wider leaves nothing but signs.
void shift_left(Warp& w, const Instruction& i, uint32_t lanes) {
    of_bits(kind_of(i), [&](auto zero) {
        using T = decltype(zero);
        static constexpr uint32_t WIDTH = 8 * sizeof(T);
        each_of<T, uint32_t, T>(w, i, lanes, [](T a, uint32_t by, T) INLINE_LAMBDA {
            return static_cast<T>(by < WIDTH ? a << (by & (WIDTH - 1)) : T{});
        });
    });
}
void shift_right(Warp& w, const Instruction& i, uint32_t lanes) {
    of_whole(kind_of(i), [&](auto zero) {
        using T = decltype(zero);
        static constexpr uint32_t WIDTH = 8 * sizeof(T);
        each_of<T, uint32_t, T>(w, i, lanes, [](T a, uint32_t by, T) INLINE_LAMBDA {
            T most = static_cast<T>(a >> (WIDTH - 1));
            most = std::is_signed<T>::value ? most : T{};
            return static_cast<T>(by < WIDTH ? a >> (by & (WIDTH - 1)) : most);
        });
    });
}
// c bits of a from bit b on, with the sign of the highest one.
void extract(Warp& w, const Instruction& i, uint32_t lanes) {
    of_whole(kind_of(i), [&](auto zero) {
        using T = decltype(zero);
        static constexpr uint32_t WIDTH = 8 * sizeof(T);
        each_of<T, uint32_t, uint32_t>(w, i, lanes, [](T a, uint32_t b, uint32_t c) INLINE_LAMBDA {
            uint32_t many = c & 255, from = std::min(b & 255, WIDTH - 1), kept = std::min(std::max(many, 1u), WIDTH - from);
            bool is_none = !many || (!std::is_signed<T>::value && (b & 255) >= WIDTH);
            T upper = static_cast<T>(static_cast<uint64_t>(a) << (WIDTH - from - kept));
            return static_cast<T>(is_none ? T{} : upper >> (WIDTH - kept));
        });
    });
}
// b with as many bits of a as variant's bits 0 to 7 say, from the bit on that c says.
// Rows: a and b are of the kind, c is a word, and the row `flip[0]` says how many bits.
void insert(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t* many = w.row(i.flip[0]);
    const uint32_t* c = w.row(i.c);
    Pairs a(w, i.a), b(w, i.b);
    uint32_t *d = w.row(i.d), *d2 = w.row(i.d + 1u);
    of_bits(kind_of(i), [&](auto zero) {
        using T = decltype(zero);
        static constexpr uint32_t WIDTH = 8 * sizeof(T);
        for (int k : EachLane{lanes}) {
            uint32_t from = c[k] & 255, length = std::min(many[k] & 255, WIDTH);
            uint64_t field = length > 63 ? ~0ull : (1ull << length) - 1;
            uint64_t x = get<T>(a, k), y = get<T>(b, k);
            uint64_t made = from < WIDTH ? (y & ~(field << from)) | (x & field) << from : y;
            put(static_cast<T>(made), ALL, d, d2, k);
        }
    });
}

INLINE int zeros_above(uint16_t x) { return x ? __builtin_clz(x) - 16 : 16; }
INLINE int zeros_above(uint32_t x) { return x ? __builtin_clz(x) : 32; }
INLINE int zeros_above(uint64_t x) { return x ? __builtin_clzll(x) : 64; }

struct CountZeros { template <class T> INLINE uint32_t operator()(T a, T, T) const { return static_cast<uint32_t>(zeros_above(a)); } };
struct CountOnes { template <class T> INLINE uint32_t operator()(T a, T, T) const { return static_cast<uint32_t>(__builtin_popcountll(a)); } };
struct Reversed {
    template <class T> T operator()(T a, T, T) const {
        uint64_t made = 0;
        constexpr uint32_t WIDTH = 8 * sizeof(T);
        for (uint32_t n = 0; n < WIDTH; n++) made |= static_cast<uint64_t>(a >> n & 1) << (WIDTH - 1 - n);
        return static_cast<T>(made);
    }
};
// The highest bit that is not the sign; variant bit 0: how far it is from the top.
void find_bit(Warp& w, const Instruction& i, uint32_t lanes) {
    of_whole(kind_of(i), [&](auto zero) {
        using T = decltype(zero);
        using Bits = typename std::make_unsigned<T>::type;
        bool from_top = i.variant & 1;
        each_number<T>(w, i, lanes, [&](T a, T, T) {
            if constexpr (sizeof(T) < 4) {
                return ALL;
            } else {
                auto x = static_cast<Bits>(a < 0 ? ~a : a);
                auto zeros = static_cast<uint32_t>(zeros_above(x));
                return !x ? ALL : from_top ? zeros : static_cast<uint32_t>(8 * sizeof(T)) - 1 - zeros;
            }
        });
    });
}

}  // namespace

const Operation TYPED_BITS[] = {
    {"typed and", bits<And>},
    {"typed or", bits<Or>},
    {"typed xor", bits<ExclusiveOr>},
    {"typed shift left", shift_left},
    {"typed shift right", shift_right},
    {"typed extract", extract},
    {"typed insert", insert},
    {"typed count zeros", bits<CountZeros>},
    {"typed count ones", bits<CountOnes>},
    {"typed find bit", find_bit},
    {"typed reverse", bits<Reversed>},
    {nullptr, nullptr},
};

}  // namespace machine
