// CUDA's functions of bits and of products wider than a word.
#pragma once

EMULATOR_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
EMULATOR_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
EMULATOR_INLINE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
EMULATOR_INLINE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
EMULATOR_INLINE int __ffs(int x) { return __builtin_ffs(x); }
EMULATOR_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
EMULATOR_INLINE unsigned long long __brevll(unsigned long long x) {
    x = (x >> 1 & 0x5555555555555555) | (x & 0x5555555555555555) << 1;
    x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0f) | (x & 0x0f0f0f0f0f0f0f0f) << 4;
    return __builtin_bswap64(x);
}
EMULATOR_INLINE unsigned __brev(unsigned x) { return (unsigned)(__brevll(x) >> 32); }

// The place of the offset-th set bit at or above `base`; a negative offset looks below; -1 if none.
EMULATOR_INLINE unsigned __fns(unsigned mask, unsigned base, int offset) {
    int step = offset < 0 ? -1 : 1, left = offset < 0 ? -offset : offset;
    if (offset == 0) return base < 32 && mask >> base & 1 ? base : 0xffffffffu;
    for (int place = (int)base; place >= 0 && place < 32; place += step) {
        if (mask >> place & 1 && --left == 0) return (unsigned)place;
    }
    return 0xffffffffu;
}

// Each of the low four digits of `selector` picks one of the eight bytes of y and x.
EMULATOR_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned which = selector >> 4 * i & 7;
        result |= (unsigned)(bytes >> 8 * which & 0xff) << 8 * i;
    }
    return result;
}

// Words `high` and `low` side by side, moved by `shift`: modulo 32, or (c) at most by 32.
EMULATOR_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}
EMULATOR_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
EMULATOR_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
EMULATOR_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

EMULATOR_INLINE int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
EMULATOR_INLINE int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
EMULATOR_INLINE unsigned __uhadd(unsigned a, unsigned b) {
    return (unsigned)(((unsigned long long)a + b) >> 1);
}
EMULATOR_INLINE unsigned __urhadd(unsigned a, unsigned b) {
    return (unsigned)(((unsigned long long)a + b + 1) >> 1);
}
EMULATOR_INLINE int __mul24(int a, int b) {
    return (int)((unsigned)((int)((unsigned)a << 8) >> 8) * (unsigned)((int)((unsigned)b << 8) >> 8));
}
EMULATOR_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
EMULATOR_INLINE int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
EMULATOR_INLINE unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
EMULATOR_INLINE long long __mul64hi(long long a, long long b) {
    return (long long)((__int128)a * b >> 64);
}
EMULATOR_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
EMULATOR_INLINE unsigned __usad(unsigned a, unsigned b, unsigned sum) {
    return (a > b ? a - b : b - a) + sum;
}
EMULATOR_INLINE unsigned __sad(int a, int b, unsigned sum) {
    return (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a) + sum;
}

EMULATOR_INLINE unsigned short __nv_bswap16(unsigned short x) { return __builtin_bswap16(x); }
EMULATOR_INLINE unsigned __nv_bswap32(unsigned x) { return __builtin_bswap32(x); }
EMULATOR_INLINE unsigned long long __nv_bswap64(unsigned long long x) { return __builtin_bswap64(x); }

// ---- sums of products of small integers, in words or in the vector types of the same bits

namespace emulator {

// Numbers of type A, each with the next one of type B from the first_b-th on.
template <class A, class B, class Sum, class WordA, class WordB>
EMULATOR_INLINE Sum dot(WordA a, WordB b, Sum sum, int first_b = 0) {
    A of_a[4 / sizeof(A)];
    B of_b[4 / sizeof(B)];
    __builtin_memcpy(of_a, &a, 4);
    __builtin_memcpy(of_b, &b, 4);
    for (unsigned i = 0; i < 4 / sizeof(A); i++) sum += (Sum)of_a[i] * (Sum)of_b[first_b + i];
    return sum;
}

}  // namespace emulator

#define EMULATOR_DOT(T, B, A2, B4, A, Word)                                                            \
    EMULATOR_INLINE T __dp4a(Word a, Word b, T sum) { return emulator::dot<B, B>(a, b, sum); }         \
    EMULATOR_INLINE T __dp4a(B4 a, B4 b, T sum) { return emulator::dot<B, B>(a, b, sum); }             \
    EMULATOR_INLINE T __dp2a_lo(Word a, Word b, T sum) { return emulator::dot<A, B>(a, b, sum); }      \
    EMULATOR_INLINE T __dp2a_lo(A2 a, B4 b, T sum) { return emulator::dot<A, B>(a, b, sum); }          \
    EMULATOR_INLINE T __dp2a_hi(Word a, Word b, T sum) { return emulator::dot<A, B>(a, b, sum, 2); }   \
    EMULATOR_INLINE T __dp2a_hi(A2 a, B4 b, T sum) { return emulator::dot<A, B>(a, b, sum, 2); }
EMULATOR_DOT(int, signed char, short2, char4, short, int)
EMULATOR_DOT(unsigned, unsigned char, ushort2, uchar4, unsigned short, unsigned)
