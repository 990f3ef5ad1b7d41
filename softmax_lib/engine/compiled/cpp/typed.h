// Operations that PTX has of every type: one function, for each kind of number that a variant names.
#pragma once
#include <type_traits>

#include "lanes.h"
#include "numbers.h"

namespace machine {

// Of a variant: bits 0 to 3 rounding, .ftz, .sat (FloatFlags) or how two numbers compare; from KIND_SHIFT on the kind.
constexpr uint32_t KIND_SHIFT = 16;

INLINE Kind kind_of(const Instruction& i) { return static_cast<Kind>(i.variant >> KIND_SHIFT & 15); }

// A number of type T in a row, or in two. Of one of 16 bits the upper half of its row means nothing.
template <class T> INLINE T get(const Pairs& rows, int k) {
    if constexpr (sizeof(T) == 8) return bits_as<T>(rows[k]);
    else if constexpr (sizeof(T) == 4) return bits_as<T>(rows.low[k]);
    else return static_cast<T>(rows.low[k]);
}
template <class T> INLINE void put(T number, uint32_t on, uint32_t* low, uint32_t* high, int k) {
    if constexpr (sizeof(T) == 8) {
        auto bits = bits_as<uint64_t>(number);
        low[k] = chosen(on, low_of(bits), low[k]);
        high[k] = chosen(on, high_of(bits), high[k]);
    } else if constexpr (sizeof(T) == 4) {
        low[k] = chosen(on, bits_as<uint32_t>(number), low[k]);
    } else {
        low[k] = chosen(on, static_cast<uint32_t>(number), low[k]);
    }
}

// d = f(a, b, c) in each of `lanes`, of numbers of these types.
template <class A, class B, class C, class F> INLINE void each_of(Warp& w, const Instruction& i, uint32_t lanes, F f) {
    Pairs a(w, i.a), b(w, i.b), c(w, i.c);
    uint32_t *d = w.row(i.d), *d2 = w.row(i.d + 1u);
    alignas(64) uint32_t on[WARP];
    spread(lanes, on);
    LANES put(f(get<A>(a, k), get<B>(b, k), get<C>(c, k)), on[k], d, d2, k);
}
template <class T, class F> INLINE void each_number(Warp& w, const Instruction& i, uint32_t lanes, F f) {
    each_of<T, T, T>(w, i, lanes, f);
}

// f(T{}) with the type of the kind.
template <class F> INLINE void of_whole(Kind kind, F f) {
    switch (kind) {
        case U8: return f(uint8_t{});
        case S8: return f(int8_t{});
        case U16: return f(uint16_t{});
        case S16: return f(int16_t{});
        case U32: return f(uint32_t{});
        case S32: return f(int32_t{});
        case U64: return f(uint64_t{});
        default: return f(int64_t{});
    }
}
// The same where only the size matters.
template <class F> INLINE void of_bits(Kind kind, F f) {
    switch (kind) {
        case U8: case S8: case U16: case S16: case F16: case BF16: return f(uint16_t{});
        case U32: case S32: case F32: return f(uint32_t{});
        default: return f(uint64_t{});
    }
}

}  // namespace machine
