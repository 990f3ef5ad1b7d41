// What a warp's lanes do together: one operation on rows of 32 words, written as a loop that vectorises.
#pragma once
#include <cmath>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "conversions.h"
#include "warp.h"

#define INLINE inline __attribute__((always_inline))
#define INLINE_LAMBDA __attribute__((always_inline))
#if defined(__clang__)
#define LANES _Pragma("clang loop vectorize(assume_safety)") for (int k = 0; k < WARP; k++)
#else
#define LANES _Pragma("GCC ivdep") for (int k = 0; k < WARP; k++)
#endif

namespace machine {

using emulator::bits_as;

INLINE float real(uint32_t word) { return bits_as<float>(word); }
INLINE uint32_t word(float number) { return bits_as<uint32_t>(number); }
INLINE uint64_t pair(uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; }
INLINE uint32_t low_of(uint64_t both) { return static_cast<uint32_t>(both); }
INLINE uint32_t high_of(uint64_t both) { return static_cast<uint32_t>(both >> 32); }

// The lanes whose word in a row is all ones, where the others are zero.
INLINE uint32_t lanes_of(const uint32_t* on) {
    uint32_t found = 0;
#if defined(__AVX2__)
    for (int k = 0; k < WARP; k += 8) {
        __m256i eight = _mm256_load_si256(reinterpret_cast<const __m256i*>(on + k));
        found |= static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(eight))) << k;
    }
#else
    for (int k = 0; k < WARP; k++) found |= on[k] & 1u << k;
#endif
    return found;
}

// The lanes that have a word in a row.
template <class T> INLINE uint32_t lanes_with(const T* row, T word) {
    alignas(64) uint32_t found[WARP];
    LANES found[k] = row[k] == word ? ALL : 0;
    return lanes_of(found);
}

// A row of all ones for each lane that takes part.
INLINE void spread(uint32_t lanes, uint32_t* on) { LANES on[k] = 0u - (lanes >> k & 1); }

INLINE uint32_t chosen(uint32_t on, uint32_t yes, uint32_t no) { return (yes & on) | (no & ~on); }

// A word for each lane that takes part.
template <class T> INLINE void put_word(T* row, uint32_t lanes, T word) {
    alignas(64) uint32_t on[WARP];
    spread(lanes, on);
    LANES row[k] = on[k] ? word : row[k];
}

// How an instruction wants its operands: -x of a float is a bit turned, of a whole number ~x + 1.
struct Operands {
    uint32_t keep[3] = {}, flip[3] = {};
    INLINE Operands() = default;
    INLINE explicit Operands(const Instruction& i) {
        for (int n = 0; n < 3; n++) keep[n] = i.keep[n], flip[n] = i.flip[n];
    }
    template <int N> INLINE uint32_t whole(uint32_t x) const { return (x ^ flip[N]) + keep[N]; }
    template <int N> INLINE float number(uint32_t x) const { return real((x & keep[N]) ^ flip[N]); }
};

// Whether an instruction takes its operands as they are: whole numbers, and floats.
INLINE bool takes_wholes(const Instruction& i) { return !(i.keep[0] | i.keep[1] | i.keep[2] | i.flip[0] | i.flip[1] | i.flip[2]); }
INLINE bool takes_floats(const Instruction& i) {
    return (i.keep[0] & i.keep[1] & i.keep[2]) == ALL && !(i.flip[0] | i.flip[1] | i.flip[2]);
}

// d = f(a, b, c) in each of `lanes`, which mostly are all.
template <class F> INLINE void map(Warp& w, const Instruction& i, uint32_t lanes, F f) {
    const uint32_t *a = w.row(i.a), *b = w.row(i.b), *c = w.row(i.c);
    uint32_t* d = w.row(i.d);
    if (lanes == ALL) {
        LANES d[k] = f(a[k], b[k], c[k]);
    } else {
        alignas(64) uint32_t on[WARP];
        spread(lanes, on);
        LANES d[k] = chosen(on[k], f(a[k], b[k], c[k]), d[k]);
    }
}

// The same, one lane after the other, for what does not vectorise; f(lane, a, b, c).
template <class F> INLINE void one_by_one(Warp& w, const Instruction& i, uint32_t lanes, F f) {
    const uint32_t *a = w.row(i.a), *b = w.row(i.b), *c = w.row(i.c);
    uint32_t* d = w.row(i.d);
    for (int k : EachLane{lanes}) {
        d[k] = f(k, a[k], b[k], c[k]);
    }
}

// Numbers of 64 bits in a row and the one behind it.
struct Pairs {
    const uint32_t *low, *high;
    INLINE Pairs(Warp& w, unsigned row) : low(w.row(row)), high(w.row(row + 1u)) {}
    INLINE uint64_t operator[](int k) const { return pair(low[k], high[k]); }
};

// The same of these: f(a, b, c).
template <class F> INLINE void each_pair(Warp& w, const Instruction& i, uint32_t lanes, F f) {
    Pairs a(w, i.a), b(w, i.b), c(w, i.c);
    uint32_t *d = w.row(i.d), *d2 = w.row(i.d + 1u);
    alignas(64) uint32_t on[WARP];
    spread(lanes, on);
    LANES {
        uint64_t made = f(a[k], b[k], c[k]);
        d[k] = chosen(on[k], low_of(made), d[k]);
        d2[k] = chosen(on[k], high_of(made), d2[k]);
    }
}

// d = first(a) where predicate s is true, else second(b).
template <class F, class G> INLINE void select(Warp& w, const Instruction& i, uint32_t lanes, F first, G second) {
    const uint32_t *a = w.row(i.a), *b = w.row(i.b);
    uint32_t* d = w.row(i.d);
    alignas(64) uint32_t is_first[WARP], on[WARP];
    spread(w.predicate_of(i.s, i.s_flip), is_first);
    spread(lanes, on);
    LANES d[k] = chosen(on[k], chosen(is_first[k], first(a[k]), second(b[k])), d[k]);
}

// The lanes in which f(a, b, c) is true.
template <class F> INLINE uint32_t test(Warp& w, const Instruction& i, F f) {
    const uint32_t *a = w.row(i.a), *b = w.row(i.b), *c = w.row(i.c);
    alignas(64) uint32_t found[WARP];
    LANES found[k] = f(a[k], b[k], c[k]) ? ALL : 0;
    return lanes_of(found);
}

INLINE void set_predicate(Warp& w, unsigned number, uint32_t lanes, uint32_t value) {
    w.predicate[number] = chosen(lanes, value, w.predicate[number]);
}

// What a comparison found, joined with predicate s as two bits of the variant say: 0 and, 1 or, 2 exclusive or.
INLINE uint32_t joined(const Warp& w, const Instruction& i, uint32_t found, uint32_t shift = 8) {
    uint32_t other = w.predicate_of(i.s, i.s_flip), how = i.variant >> shift & 3;
    return how == 0 ? found & other : how == 1 ? found | other : found ^ other;
}
// Predicate p gets that, and q the same of the opposite.
INLINE void join(Warp& w, const Instruction& i, uint32_t lanes, uint32_t found) {
    uint32_t first = joined(w, i, found), second = joined(w, i, ~found);
    set_predicate(w, i.p, lanes, first);
    set_predicate(w, i.q, lanes, second);
}

}  // namespace machine
